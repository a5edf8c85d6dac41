import * as fc from "fast-check";

const WORDS = [
  ...["y", "n", "yes", "No", "on", "OFF", "true", "False", "~", "null", "", "nULL", "<<", "=", "a", "b", "x1", "a b"],
  ...["0", "-0", "017", "08", "0o17", "0b11", "0b-1", "0x1F", "1_000", "1_", "_1", "1:30", "1e3", "1e400", "1.", ".5"],
  ...[
    ".5_0",
    "-.5",
    "1.10",
    ".inf",
    "-.INF",
    ".nan",
    "2001-01-01",
    "2001-12-14t21:59:43.10-05:00",
    "é",
    "😀",
    "\u2713",
  ],
  ...["9223372036854775807", "9223372036854775808", "-9223372036854775809", "18446744073709551616", "123456789012345"],
  ...[
    "'it''s'",
    '"x\\ty"',
    '"\\u00e9\\x41"',
    '"\\/"',
    '"\\N\\L"',
    '"a\\\n b"',
    "'a\n\n  b'",
    "http://x",
    "a#b",
    "a #b",
  ],
  ...["-a", "?a", ":a", "a:", "@a", "`a", "%a", "|", ">", "- a", "? a", ": a", "a: b", "*a", "*b", "&a x", "[]", "{}"],
];
const TAGS = ["str", "int", "float", "bool", "null", "binary", "timestamp", "merge", "set", "map", "%73tr", "nosuch"];
const TOKENS = [
  ..."-?:,[]{}#&*!|>'\"%@`~=<.+0a b_".split(""),
  ...[
    "\n",
    "\n",
    "\n  ",
    "\n ",
    "\n- ",
    "\n  - ",
    " ",
    "  ",
    "\t",
    "\r",
    "\r\n",
    "\u0085",
    "\u2028",
    "\u00a0",
    "\ufeff",
  ],
  ...[
    "a: ",
    "b: ",
    "- ",
    "? ",
    ": ",
    "<<: ",
    "*a ",
    "&a ",
    "*b",
    "&b",
    "---",
    "...",
    "\n---\n",
    "\n...\n",
    " #c\n",
    ", ",
  ],
  ...["!!str ", "!!binary ", "!x ", "!<tag:yaml.org,2002:int> ", "! ", "!a!b ", "%YAML 1.1\n", "%TAG ! tag:x,2000:\n"],
  ...[
    "|\n",
    "|2-\n",
    ">+\n",
    "|-\n  x\n",
    "'a'",
    '"b"',
    "[a, b]",
    "{a: 1}",
    '\\n"',
    "\\x4",
    "\\\n",
    "''",
    "yes",
    "017",
  ],
];

const number = fc
  .array(fc.constantFrom(..."0123456789_+-.eExXoObBaF:".split("")), { minLength: 1, maxLength: 9 })
  .map((characters) => characters.join(""));
const date = fc
  .tuple(fc.nat(2100), fc.nat(13), fc.nat(32), fc.constantFrom("", " 1:2:3", "T25:00:00Z", "t1:2:3.5+24:60", "T1:2:3"))
  .map(([year, month, day, time]) => `${String(year).padStart(4, "0")}-${month}-${day}${time}`);
const word = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...WORDS) },
  { weight: 2, arbitrary: number },
  { weight: 1, arbitrary: date },
);
const scalar = fc.oneof(
  { weight: 8, arbitrary: word },
  { weight: 1, arbitrary: fc.tuple(fc.constantFrom(...TAGS), word).map(([tag, text]) => `!!${tag} ${text}`) },
  { weight: 1, arbitrary: word.map((text) => JSON.stringify(text)) },
  { weight: 1, arbitrary: word.map((text) => `&a ${text}`) },
);

type Shape = string | readonly Shape[] | { readonly pairs: readonly (readonly [string, Shape])[] };
const shape = fc.letrec<{ shape: Shape }>((tie) => ({
  shape: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    scalar,
    fc.array(tie("shape"), { maxLength: 3 }),
    fc.record({ pairs: fc.array(fc.tuple(scalar, tie("shape")), { maxLength: 3 }) }),
  ),
})).shape;

function inFlow(value: Shape): string {
  if (typeof value === "string") return value;
  if ("pairs" in value) return `{${value.pairs.map(([key, member]) => `${key}: ${inFlow(member)}`).join(", ")}}`;
  return `[${value.map(inFlow).join(", ")}]`;
}

function inBlock(value: Shape, indent: string): string {
  if (typeof value === "string") return ` ${value}\n`;
  if ("pairs" in value) {
    const pairs = value.pairs.map(([key, member]) => `${indent}${key}:${inBlock(member, `${indent}  `)}`);
    return pairs.length === 0 ? " {}\n" : `\n${pairs.join("")}`;
  }
  return value.length === 0
    ? " []\n"
    : `\n${value.map((item) => `${indent}-${inBlock(item, `${indent}  `)}`).join("")}`;
}

/** A text with a few of its characters replaced, or more put in. */
function damaged(text: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const damage = fc.tuple(fc.nat(200), fc.nat(2), fc.constantFrom(...TOKENS, ...WORDS));
  return fc.tuple(text, fc.array(damage, { minLength: 1, maxLength: 3 })).map(([start, all]) =>
    all.reduce((before, [place, length, put]) => {
      const at = place % (before.length + 1);
      return before.slice(0, at) + put + before.slice(at + length);
    }, start),
  );
}

/** Texts that parsers of YAML disagree about. `rows` are some to begin with. */
export function hostileYaml(rows: readonly string[]): fc.Arbitrary<string> {
  const block = shape.map((value) => inBlock(value, "").replace(/^\n/, ""));
  const flow = fc.tuple(shape, shape).map(([one, other]) => `a: ${inFlow(one)}\nb: ${inFlow(other)}\n`);
  const soup = fc.array(fc.constantFrom(...TOKENS), { minLength: 1, maxLength: 14 }).map((tokens) => tokens.join(""));
  const known = fc.array(fc.constantFrom(...rows), { minLength: 1, maxLength: 3 }).map((texts) => texts.join(""));
  return fc
    .oneof(block, flow, soup, known, damaged(block), damaged(flow), damaged(known), scalar)
    .map((text) => text.replace(/\p{Surrogate}/gu, ""));
}
