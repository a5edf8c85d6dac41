import { expect, test } from "@jest/globals";
import fc from "fast-check";
import {
  canonicalJson,
  isNestedDeeper,
  type Json,
  jsonEqual,
  jsonText,
  readJsonText,
  withLongIntegers,
  withoutLongIntegers,
} from "../../../src/core/model/json.js";

const json = fc.jsonValue({ maxDepth: 4 }).map((value) => value as Json);

test("two values are equal if and only if their canonical texts are", () => {
  fc.assert(
    fc.property(json, json, (left, right) => {
      expect(jsonEqual(left, right)).toBe(canonicalJson(left) === canonicalJson(right));
      expect(jsonEqual(left, readJsonText(jsonText(left)))).toBe(true);
    }),
  );
});

test.each<[Json | undefined, Json | undefined, boolean]>([
  [{ a: 1, b: undefined }, { a: 1 }, true],
  [{ a: 1 }, { a: 1, b: undefined }, true],
  [{ a: 1, b: 2 }, { b: 2, a: 1 }, true],
  [{ a: 1 }, { a: 1, b: null }, false],
  [{}, JSON.parse('{"__proto__": {}}') as Json, false],
  [JSON.parse('{"constructor": 1}') as Json, {}, false],
  [[], {}, false],
  [null, undefined, false],
])("%j and %j are equal: %s", (left, right, equal) => {
  expect(jsonEqual(left, right)).toBe(equal);
  expect(jsonEqual(right, left)).toBe(equal);
});

test("the depth of a value is measured without falling into it", () => {
  const nested = (levels: number): unknown => JSON.parse("[".repeat(levels) + "]".repeat(levels));
  expect(isNestedDeeper(200, nested(200))).toBe(false);
  expect(isNestedDeeper(200, nested(201))).toBe(true);
  expect(isNestedDeeper(200, nested(500_000))).toBe(true);
  expect(isNestedDeeper(0, "text")).toBe(false);
});

test.each<[string, unknown]>([
  ["9007199254740993", "9007199254740993 (a number)"],
  ['{"a":-9223372036854775807}', { a: "-9223372036854775807 (a number)" }],
  ["[1, 18446744073709551615 ]", [1, "18446744073709551615 (a number)"]],
  ["[9007199254740992]", [9007199254740992]],
  [
    "[100000000000000000000, 0.12345678901234566, 1.2345678901234568e+21]",
    [1e20, 0.12345678901234566, 1.2345678901234568e21],
  ],
  ['{"a\\":9007199254740993,":"[9007199254740993,]"}', undefined],
  ['["9007199254740993 (a number)"]', ["9007199254740993 (a number) as text"]],
  ['["9007199254740993 (a number) as text"]', ["9007199254740993 (a number) as text as text"]],
  [
    '{"9007199254740993 (a number)":"\\"9007199254740993 (a number)"}',
    { "9007199254740993 (a number) as text": '"9007199254740993 (a number)' },
  ],
])("integers that no number holds are told apart: %s", (text, expected) => {
  const within = `{"x":${text}}`;
  if (expected !== undefined) expect(JSON.parse(withLongIntegers(within))).toEqual({ x: expected });
  else expect(withLongIntegers(text)).toBe(text);
  const read = JSON.stringify(JSON.parse(withLongIntegers(within)));
  expect(withoutLongIntegers(read).replaceAll(" ", "")).toBe(within.replaceAll(" ", ""));
});

test("a long text with many escapes beside such an integer is read as well", () => {
  const text = JSON.stringify({ text: '"'.repeat(7_000_000) }).replace("}", ',"id":9007199254740993}');
  expect(JSON.parse(withLongIntegers(text))).toMatchObject({ id: "9007199254740993 (a number)" });
});
