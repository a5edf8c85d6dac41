import fc from "fast-check";

/** A word that stands in hostile text and nowhere else: where it is, text from outside is. */
export const CANARY = "zqcanary";

/** Pieces that mean something to Markdown, HTML, the hosts' own syntax, logs, shells or terminals. */
const PIECES = [
  ...["`", "``", "```", "````", "~~~", "\n", "\n\n", "\r", "\r\n", "\t", " ", "    ", "\u2028", "\u2029", "\u0085"],
  ...[
    "/merge",
    "\n/merge",
    "\n/approve",
    "/label ~bug",
    "\n/close\n",
    "@team",
    "@acme/all",
    "#1",
    "!1",
    "acme/deploy#1",
  ],
  ...["GH-1", "closes #1", "</details>", "<details>", "<summary>", "<!--", "-->", "--!>", "<img src=x onerror=x>"],
  ...[
    "<script>",
    "&lt;",
    "&#64;team",
    "&commat;team",
    "[x](http://e.test)",
    "![x](http://e.test/p.png)",
    "[x]: http://e.test",
  ],
  ...[
    "https://e.test",
    "www.e.test",
    "<http://e.test>",
    "|",
    "| a |\n|---|",
    "# h",
    "\n# h",
    "\n- x",
    "\n1. x",
    "\n> q",
    "---",
  ],
  ...[
    "\n---\n",
    "\n===\n",
    "*",
    "**",
    "_",
    "~~",
    "\\",
    "\\`",
    "$",
    "$`x`$",
    "```mermaid",
    "\u202e",
    "\u2066",
    "\u200b",
  ],
  ...[
    "\u200d",
    "\ufeff",
    "\u0000",
    "\u001b[31m",
    "🚀",
    "\ud83d",
    "e\u0301",
    "svc sync",
    "\nsvc sync\n",
    "<!-- svc:plan head=x -->",
  ],
  ...[
    "@@ -1 +1 @@",
    "--- a",
    "+++ b",
    "+",
    "-",
    "x",
    "web",
    CANARY,
    "%0A",
    "${HOME}",
    "{{ x }}",
    ":tada:",
    "constructor",
  ],
];

/** Any character but halves of pairs. fast-check's own list of them takes seconds to make. */
const anyCharacter = fc
  .oneof(fc.integer({ min: 0, max: 0xd7ff }), fc.integer({ min: 0xe000, max: 0x10ffff }))
  .map((codePoint) => String.fromCodePoint(codePoint));
const anyText = fc.string({ unit: anyCharacter, maxLength: 20 });

/** Text as somebody would write it who wants to break out of a comment; now and then a long one. */
export function hostileText(pieces = 12): fc.Arbitrary<string> {
  const joined = fc.array(fc.constantFrom(...PIECES), { maxLength: pieces }).map((list) => list.join(""));
  return fc.oneof(
    { weight: 60, arbitrary: joined },
    { weight: 10, arbitrary: anyText },
    {
      weight: 1,
      arbitrary: fc.tuple(joined, fc.integer({ min: 2, max: 300 })).map(([text, times]) => text.repeat(times)),
    },
  );
}

/** The same on one line, as names of objects and files are. */
export function hostileName(): fc.Arbitrary<string> {
  return hostileText(5).map((text) => `x${text.replace(/[\r\n]+/g, " ")}`.slice(0, 400));
}
