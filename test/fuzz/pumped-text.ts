import fc from "fast-check";

/** Parts of a language that a parser may take longer for the more of them there are. */
export interface Grammar {
  readonly pieces: readonly string[];
  /** What opens something, and what closes it. */
  readonly pairs: readonly (readonly [string, string])[];
}

export const YAML: Grammar = {
  pieces: [
    ...[
      "? ",
      "? a\n",
      "- ",
      "- a\n",
      "a: ",
      "a: b\n",
      "a:\n",
      "\n",
      " ",
      "  ",
      "\t",
      "\n ",
      "---\n",
      "...\n",
      "# x\n",
      "#",
    ],
    ...[
      "&a ",
      "*a ",
      "*a: ",
      "&a a: *a\n",
      "<<: *a\n",
      "!!str ",
      "!<x> ",
      "!a!b ",
      "%TAG ! a\n",
      "| \n",
      ">-\n",
      ">9\n",
      ",",
      ":",
    ],
    ...[
      "'",
      '"',
      '"\\x41"',
      "\\u0041",
      "\\\n",
      "''",
      "{}",
      "[]",
      "~",
      "1e9",
      "0x",
      "2026-03-02",
      "\ufeff",
      "\u2028",
      "😀",
      "{{ a }}",
    ],
  ],
  pairs: [
    ["{? ", "}"],
    ["[", "]"],
    ["{a: ", "}"],
    ["{", ": a}"],
    ["[? ", "]"],
    ["'", "'"],
    ['"', '"'],
    ["- - ", "\n"],
    ["? - ", "\n"],
    ["&a [", "]"],
  ],
};

export const JSON_TEXT: Grammar = {
  pieces: [
    '"',
    '"a"',
    ":",
    ",",
    '"a":1,',
    "1,",
    "null",
    "1e",
    "9",
    "-",
    "\\",
    "\\u0041",
    " ",
    "\n",
    '"__proto__":',
    "😀",
  ],
  pairs: [
    ["[", "]"],
    ['{"a":', "}"],
    ['[{"a":', "}]"],
  ],
};

export const MARKDOWN: Grammar = {
  pieces: [
    ...[
      "\n",
      "\r",
      "\r\n",
      " ",
      "\t",
      "    ",
      "> ",
      ">",
      "- ",
      "1. ",
      "# ",
      "---",
      "===",
      "```",
      "~~~",
      "`",
      "``",
      "*",
      "**",
      "_",
      "a",
    ],
    ...[
      "<",
      "<!--",
      "-->",
      "<!",
      "<a ",
      "&",
      "&amp;",
      "&#",
      "|",
      "| a |\n|---|\n",
      "\\",
      "![",
      "](",
      "[^a]: ",
      "http://",
      "www.",
      "@a",
      "#1",
    ],
    ...["svc sync", "svc ", "svc sync -a web\n", "-a ", "\u200b", "\u202e", "\u0000", "😀", "<!-- svc:plan head=x -->"],
  ],
  pairs: [
    ["[", "]"],
    ["[", "](a)"],
    ["![", "](<a>)"],
    ["*", "*"],
    ["<b>", "</b>"],
    ["<details>", "</details>"],
    ["`", "`"],
    ["(", ")"],
  ],
};

export const GLOB: Grammar = {
  pieces: [
    "*",
    "**",
    "**/",
    "*/",
    "?",
    "/",
    "a",
    "b",
    ".",
    "..",
    ",",
    "!",
    "@(",
    "+(",
    "|",
    "\\",
    "[!a]",
    "[a-z]",
    "-",
    "{}",
    "{1..9}",
  ],
  pairs: [
    ["{", "}"],
    ["{a,", "}"],
    ["[", "]"],
    ["(", ")"],
    ["*(", ")"],
    ["{*,", "/*}"],
  ],
};

export const URL_TEXT: Grammar = {
  pieces: [
    "https://",
    "ssh://",
    "git@",
    "@",
    ":",
    "/",
    "//",
    "?",
    "#",
    ".",
    "..",
    "%2F",
    "%",
    "%25",
    "a",
    "A",
    "xn--",
    "[",
    "]",
    "\\",
    "\t",
    ".git",
  ],
  pairs: [
    ["[", "]"],
    ["a@", ":22"],
  ],
};

export const GIT_NAME: Grammar = {
  pieces: [
    "/",
    "//",
    "..",
    "../",
    "./",
    ".",
    "a",
    "a/",
    ".git",
    "refs/heads/",
    "~",
    "^",
    ":",
    "@{",
    "\\",
    "\u0000",
    "\n",
    "-",
    " ",
    "é",
    "😀",
  ],
  pairs: [
    ["a/", "/.."],
    ["@{", "}"],
  ],
};

const LEAST_TIMES = 10;
const MOST_TIMES = 10_000;

/** Texts of which a part stands there many times, one after the other or one within the other. */
export function pumped({ pieces, pairs }: Grammar, longest: number): fc.Arbitrary<string> {
  const piece = fc.constantFrom(...pieces);
  const some = fc.array(piece, { maxLength: 3 }).map((list) => list.join(""));
  // As many short ones as long ones.
  const times = fc
    .double({ min: Math.log(LEAST_TIMES), max: Math.log(MOST_TIMES), noNaN: true })
    .map((exponent) => Math.round(Math.exp(exponent)));
  const repeated = fc
    .tuple(fc.array(piece, { minLength: 1, maxLength: 4 }), times)
    .map(([unit, count]) => repeat(unit.join(""), count, longest));
  const nested = fc
    .tuple(fc.constantFrom(...pairs), some, times, fc.boolean())
    .map(([[open, close], inside, count, closes]) => {
      const levels = Math.min(count, Math.floor(longest / (open.length + close.length)));
      return open.repeat(levels) + inside + (closes ? close.repeat(levels) : "");
    });
  return fc
    .tuple(some, fc.oneof(repeated, nested), some, fc.oneof({ weight: 3, arbitrary: fc.constant("") }, repeated))
    .map((parts) => parts.join("").slice(0, longest));
}

function repeat(unit: string, count: number, longest: number): string {
  return unit.repeat(Math.min(count, Math.ceil(longest / unit.length)));
}
