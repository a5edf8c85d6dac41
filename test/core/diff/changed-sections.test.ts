import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { stringify } from "yaml";
import { changedSections, objectComparer } from "../../../src/core/diff/changed-sections.js";
import { jsonEqual, type Json, type JsonObject } from "../../../src/core/model/json.js";
import { shareOf } from "../../share-of.js";

const version = (name: string, properties: JsonObject) => ({ name, schema: { properties } });
const numbered = (count: number, text: string) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, `${text}${at}`]));

test.each<[string, JsonObject, JsonObject, readonly string[]]>([
  ["a value", { a: 1, b: { c: "x" } }, { a: 1, b: { c: "y" } }, ["#   b.c: 1 line removed, 1 line added"]],
  ["what comes and goes", { a: { x: 1, y: [1, 2] } }, { b: 1 }, ["#   a: 3 lines removed", "#   b: 1 line added"]],
  ["lines of a text", { a: "1\n2\n3" }, { a: "1\n3\n4\n5" }, ["#   a: 1 line removed, 2 lines added"]],
  ["lines that move", { a: "1\n2\n3" }, { a: "2\n1\n3" }, ["#   a: 2 lines removed, 2 lines added"]],
  [
    "an empty value",
    { a: {}, b: null },
    { a: [], b: "" },
    ["#   a: 1 line removed, 1 line added", "#   b: 1 line removed, 1 line added"],
  ],
  [
    "elements by their names",
    { versions: [version("v1", { a: 1 }), version("v2", { b: 1 })] },
    { versions: [version("v2", { b: 1, c: { d: 1, e: 2 } }), version("v1", { a: 1 })] },
    ["#   versions[v2].schema.properties.c: 2 lines added"],
  ],
  [
    "elements that only move",
    { l: [{ name: "a" }, { name: "b" }] },
    { l: [{ name: "b" }, { name: "a" }] },
    ["#   l: 2 lines removed, 2 lines added"],
  ],
  [
    "elements by their places",
    { l: [1, { a: 1 }] },
    { l: [1, { a: 2 }] },
    ["#   l[1].a: 1 line removed, 1 line added"],
  ],
  ["a longer list", { l: [1, 2] }, { l: [0, 1, 2] }, ["#   l: 1 line added"]],
  [
    "odd keys",
    { "a b": 1, "x\n# y": 1, ["k".repeat(80)]: 1 },
    {},
    ['#   ["a b"]: 1 line removed', '#   ["x\\n# y"]: 1 line removed', `#   ${"k".repeat(60)}…: 1 line removed`],
  ],
  ["nothing", { a: [1, { b: null }] }, { a: [1, { b: null }] }, []],
])("%s", (_, base, head, sections) => {
  expect(changedSections(base, head)).toEqual(sections);
});

test("the largest sections are taken apart, and the others told as a whole, so that the list stays short", () => {
  const base = { spec: { many: numbered(900, "a"), few: { x: 1, y: { z: 1 } } }, data: numbered(30, "a") };
  const head = { spec: { many: numbered(900, "b"), few: { x: 2, y: { z: 2 } } }, data: numbered(30, "b") };
  const sections = changedSections(base, head);
  expect(sections).toContain("#   spec.many: 900 lines removed, 900 lines added");
  expect(sections).toContain("#   spec.few.y.z: 1 line removed, 1 line added");
  expect(sections).toContain("#   data.k7: 1 line removed, 1 line added");
  expect(sections).toHaveLength(33);
});

const json: fc.Arbitrary<JsonObject> = fc.dictionary(
  fc.string({ maxLength: 3 }),
  fc.letrec<{ value: Json }>((tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      fc.constantFrom<Json>(null, 0, 1, "a", "a\nb", "b\na"),
      fc.array(tie("value"), { maxLength: 3 }),
      fc.array(fc.record({ name: fc.constantFrom("a", "b"), v: tie("value") }), { maxLength: 3 }),
      fc.dictionary(fc.string({ maxLength: 2 }), tie("value"), { maxKeys: 3 }),
    ),
  })).value,
  { maxKeys: 4 },
);

test("two objects have no changed section if and only if they are equal, and each section counts lines on one line", () => {
  fc.assert(
    fc.property(json, json, (base, head) => {
      const sections = changedSections(base, head);
      expect(sections.length === 0).toBe(jsonEqual(base, head));
      for (const section of sections) {
        expect(section).toMatch(/^# {3}[^\n]+: [1-9]\d* lines? (?:removed|added)(?:, [1-9]\d* lines? added)?$/);
      }
    }),
  );
});

describe("an object is written as `yaml` writes it", () => {
  /** What a new object looks like, without the signs in front of its lines. */
  function written(object: JsonObject): string {
    const [, ...lines] = objectComparer()(undefined, object).text.split("\n");
    return lines.map((line) => line.slice(1)).join("\n");
  }

  function byYaml(object: JsonObject): string {
    return stringify(object, { lineWidth: 0, aliasDuplicateObjects: false }).trimEnd();
  }

  const pieces = fc.constantFrom(
    ...[
      "a",
      "Z",
      "_",
      "0",
      "7",
      " ",
      "  ",
      "\n",
      "\t",
      ":",
      ": ",
      "-",
      "--",
      "- ",
      "...",
      "#",
      " #",
      "/",
      ".",
      ",",
      "'",
      '"',
    ],
    ...[
      "{",
      "}",
      "[",
      "]",
      "&",
      "*",
      "!",
      "|",
      ">",
      "%",
      "@",
      "`",
      "~",
      "<<",
      "=",
      "?",
      "$",
      "\\",
      "é",
      "\u0085",
      "🚀",
      "\r",
    ],
  );
  const word = fc.oneof(
    { arbitrary: fc.array(pieces, { maxLength: 6 }).map((some) => some.join("")), weight: 4 },
    {
      arbitrary: fc.constantFrom(
        "null",
        "Null",
        "True",
        "FALSE",
        "yes",
        "on",
        ".inf",
        "0x1f",
        "1e3",
        "12:30",
        "256Mi",
        "0o17",
        "0b1",
        "ab-",
      ),
      weight: 1,
    },
    {
      arbitrary: fc.constantFrom(
        "--a=1",
        "-f",
        "image:1.2",
        "a b c",
        "http://x/y",
        "k".repeat(2000),
        "a\n\n b\n",
        "x: y\nz\n\n",
      ),
      weight: 1,
    },
  );
  const { object } = fc.letrec<{ value: Json; object: JsonObject }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 5, withCrossShrink: true },
      word,
      fc.constantFrom(null, true, false, 0, -0, -7, 1.5, 1e21, 2 ** 60, 1e-7),
      fc.array(tie("value"), { maxLength: 3 }),
      tie("object"),
    ),
    object: fc.dictionary(word, tie("value"), { maxKeys: 4, noNullPrototype: true }),
  }));

  test("whatever it holds", () => {
    fc.assert(
      fc.property(object, (one) => {
        expect(written(one)).toBe(byYaml(one));
      }),
      { numRuns: shareOf(4000) },
    );
  });

  test("without members that are not there", () => {
    const one = { a: { b: undefined }, c: undefined, d: [{ e: undefined, f: 1 }] };
    expect(written(one)).toBe("a: {}\nd:\n  - f: 1");
    expect(written({ a: undefined })).toBe("{}");
  });
});
