import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { createManifestScanner } from "../../../../src/core/detect/scan/manifests.js";
import { mayHoldResource } from "../../../../src/core/detect/scan/resources.js";
import { inlineCompute, TRUSTED_SCAN } from "../../../in-memory/inline-compute.js";
import { type Files, HEAD, memorySnapshot, nameOf } from "../memory-snapshot.js";

async function found(files: Files): Promise<readonly string[]> {
  const request = { ...TRUSTED_SCAN, snapshot: memorySnapshot(files), revision: HEAD, crPaths: [], nameOf };
  const { applications, applicationSets } = await createManifestScanner(inlineCompute).scan(request);
  const sets = applicationSets.map(({ set: { name } }) => `ApplicationSet ${name}`);
  return [...applications.map(({ application: { name } }) => `Application ${name}`), ...sets];
}

const hex = (letter: string, digits: number) => letter.charCodeAt(0).toString(16).padStart(digits, "0");
const base64 = (text: string) => Buffer.from(text).toString("base64");

/** One letter of a double-quoted text, as YAML lets it be written. `indent` begins the next line. */
const letterWays: readonly ((letter: string) => string)[] = [
  (letter) => letter,
  (letter) => letter,
  (letter) => `\\x${hex(letter, 2)}`,
  (letter) => `\\u${hex(letter, 4).toUpperCase()}`,
  (letter) => `\\U${hex(letter, 8)}`,
  (letter) => `\\\u2028        ${letter}`,
  (letter) => `\\\n        ${letter}`,
  (letter) => `\\\r\n        \t ${letter}`,
  (letter) => `\\\n        \\\n        ${letter}`,
];

function quoted(text: string): fc.Arbitrary<string> {
  const ways = fc.array(fc.constantFrom(...letterWays), { minLength: text.length, maxLength: text.length });
  return ways.map(
    (each) =>
      `"${Array.from(text)
        .map((letter, at) => each[at]?.(letter) ?? letter)
        .join("")}"`,
  );
}

/** A text as a value of a block map. */
function value(text: string): fc.Arbitrary<string> {
  return fc.oneof(
    quoted(text),
    fc.constantFrom(
      ...[text, `'${text}'`, `!!str ${text}`, `! ${text}`, `!own ${text}`, `&v ${text}`, `${text} # {{ x }}`],
      ...[`>-\n        ${text}`, `|-\n        ${text}`, `>2-\n        ${text}`, `\n        ${text}`],
      ...[`!!binary ${base64(text)}`, `!!%62inary "${base64(text)}"`, `!<tag:yaml.org,2002:%62inary> ${base64(text)}`],
    ),
  );
}

function key(text: string): fc.Arbitrary<string> {
  const plain = [
    text,
    `'${text}'`,
    `"${text}"`,
    `"\\x${hex(text, 2)}${text.slice(1)}"`,
    `!!str ${text}`,
    `? ${text}\n      `,
  ];
  return fc.constantFrom(...plain, `!!binary ${base64(text)}`);
}

/** A map with members in any order, each at this indentation. */
function block(members: readonly fc.Arbitrary<string>[]): fc.Arbitrary<string> {
  return fc.tuple(fc.tuple(...members), fc.array(fc.nat(9), { minLength: 3, maxLength: 3 })).map(([each, order]) =>
    each
      .map((member, index) => ({ member, at: order[index] ?? 0 }))
      .sort((one, other) => one.at - other.at)
      .map(({ member }) => `      ${member}\n`)
      .join(""),
  );
}

const member = (name: string, text: string) => fc.tuple(key(name), value(text)).map((pair) => pair.join(": "));

function inBlocks(kind: string): fc.Arbitrary<string> {
  const kindWays = fc.oneof(
    member("kind", kind),
    value(kind).map((text) => `<<: {kind: "${kind.replace("A", "\\x41")}"}\n      x: ${text}`),
    quoted(kind).map((text) => `"x": &k ${text}\n      kind: *k`),
  );
  const metadata = key("metadata").map((name) => `${name}: {name: web}`);
  return block([member("apiVersion", "argoproj.io/v1alpha1"), kindWays, metadata]);
}

function inFlow(kind: string): fc.Arbitrary<string> {
  const parts = fc.tuple(
    quoted(kind),
    quoted("argoproj.io/v1alpha1"),
    fc.constantFrom(", ", ",\n        ", "\n        , "),
  );
  return parts.map(
    ([name, version, comma]) => `      {kind: ${name}${comma}apiVersion: ${version}${comma}metadata: {name: web},}\n`,
  );
}

const jsonLetters = fc.constantFrom<(letter: string) => string>(
  (letter) => letter,
  (letter) => `\\u${hex(letter, 4)}`,
  (letter) => (letter === "/" ? "\\/" : letter),
);

function asJson(kind: string): fc.Arbitrary<string> {
  const resource = { apiVersion: "argoproj.io/v1alpha1", kind, metadata: { name: "web" } };
  const whole = fc.constantFrom<object>(
    resource,
    { apiVersion: "v1", kind: "List", items: [resource] },
    { apiVersion: "argoproj.io/v1alpha1", kind: `${kind}List`, items: [resource] },
    { apiVersion: "v1", kind: "ConfigMap", items: [{ items: [{ items: [resource] }] }] },
  );
  const spaces = fc.constantFrom(undefined, 2, "\t");
  return fc.tuple(whole, spaces, fc.array(jsonLetters, { minLength: 7, maxLength: 7 })).map(([object, space, ways]) => {
    let at = 0;
    return JSON.stringify(object, undefined, space).replace(
      /[\w./]/g,
      (letter) => ways[(at += 1) % 7]?.(letter) ?? letter,
    );
  });
}

/** A whole file, and where it stands. */
const file = fc.constantFrom("Application", "ApplicationSet").chain((kind) => {
  const yaml = fc.oneof(inBlocks(kind), inFlow(kind));
  const listed = yaml.map((text) => `apiVersion: v1\nkind: List\nitems:\n  -\n${text}`);
  const documents = fc.oneof(yaml, listed, asJson(kind));
  const before = fc.constantFrom(
    "",
    "---\n",
    "a: b\n--- # next\n",
    "a: |\n  b\n---\u00a0\n",
    "# {{ x }}\n",
    "kind: ConfigMap\n---\n",
  );
  const inYaml = fc.tuple(
    before,
    documents,
    fc.constantFrom("\n", "\r\n"),
    fc.constantFrom("a.yaml", "a.yml", "a.YAML"),
  );
  return fc.oneof(
    // Kubernetes refuses `\/` in YAML.
    inYaml.map(([start, text, end, path]) => ({
      kind,
      path,
      text: (start + text).replace(/\r?\n/g, end).replaceAll("\\/", "/"),
    })),
    asJson(kind).map((text) => ({ kind, path: "a.json", text })),
  );
});

describe("the search for words before a file is parsed", () => {
  test("any document whose parsed kind is Application or ApplicationSet is found however it is written", async () => {
    await fc.assert(
      fc.asyncProperty(file, async ({ kind, path, text }) => {
        expect(await found({ [path]: text })).toEqual([`${kind} web`]);
      }),
      { numRuns: 1500 },
    );
  });

  test.each([
    ["a script whose lines go on", `kind: ConfigMap\ndata: {x: "${"a \\\n  b ".repeat(20)}"}\n`],
    ["escapes of other words", 'a: "\\x41\\u0042\\/"\n'],
    ["one word alone", "apiVersion: argoproj.io/v1alpha1\nkind: AppProject\n"],
    ["a mark behind a word", "a: important! binary\n"],
    ["a style", "a { color: red !important; width: 100% }"],
  ])("passes over %s", (_, text) => {
    expect(mayHoldResource(text)).toBe(false);
  });
});
