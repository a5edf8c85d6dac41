import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { EmbeddedTexts, hideInMessage } from "../../../src/core/secrets/hide-in-text.js";

describe("a message shows no data of an object that it quotes", () => {
  test.each<[string, string]>([
    ['x: "map[data:map[a:hunter2] metadata:map[name:x]]": cannot convert', 'x: "map[data:(hidden)'],
    ["bad: map[data:map[a:hun}ter2", "bad: map[data:(hidden)"],
    ["map[data:map[a:hun]ter2 b:c]]: cannot convert", "map[data:(hidden)"],
    ["map[data:map[a:hunter2 b:c", "map[data:(hidden)"],
    ['{"data":{"a":"hunter2"}} is wrong', '{"data":(hidden)'],
    ['"{\\"stringData\\":{\\"a\\":\\"hunter2\\"}}" is wrong', '"{\\"stringData\\":(hidden)'],
    ["{\\u0022data\\u0022:{\\u0022a\\u0022:\\u0022hunter2\\u0022}} is wrong", '{"data":(hidden)'],
    ["Data:map[string][]byte{a: [104 117], b: hunter2} x", "Data:(hidden)"],
    ['Data:(map[string][]uint8) (len=1) {"a": hunter2} x', "Data:(hidden)"],
    ["a\ndata:\n  b: hunter2\n  c: |\n    hunter2\n\n    hunter2\nkind: Secret", "a\ndata: (hidden)\nkind: Secret"],
    ["data: # x\n  b: hunter2\nc: d", "data: (hidden)\nc: d"],
    ["stringData: |\n  hunter2\nb", "stringData: (hidden)\nb"],
    ["1 | data:\n2 |   a: hunter2", "1 | data: (hidden)"],
    ['x data[a]: Invalid value: "hunter2": too long', "x data[a]: Invalid value: (hidden): too long"],
    ["Secret.data: Invalid value: hunter2", "Secret.data: Invalid value: (hidden)"],
    [
      '[{"op":"add","path":"/data","value":{"a":"b","c":"hunter2"}}]: x',
      '[{"op":"add","path":"/data","value":(hidden)',
    ],
    ['[{"path":"/data/a","value":"b"},{"path":"/data/b","value":"hunter2', '[{"path":"/data/a","value":(hidden)'],
  ])("%j", (message, expected) => {
    expect(hideInMessage(message)).toBe(expected);
  });

  test.each([
    [
      "`helm template . --set db.password=hunter2 --set image.tag=1.2` failed",
      "--set db.password=(hidden) --set image.tag=1.2",
    ],
    [
      '`helm template . --set "db.password=cor \\"rect hunter2" --set image.tag=1.2` failed',
      "--set image.tag=1.2` failed",
    ],
    ['helm template . --set "db.password=cor rect hunter2', '--set "db.password=(hidden)'],
    [`helm template . --set db.password=a"b'hunter2 --set image.tag=1.2`, "--set image.tag=1.2"],
    [
      "helm template . --set env[0].name=DB_PASSWORD --set env[0].value=hunter2 --set env[1].value=a",
      "--set env[0].value=(hidden) --set env[1].value=a",
    ],
    [
      "helm template . --set env[0].key=DB_PASSWORD --set env[0].value=hunter2 --set env[1].value=a",
      "--set env[0].value=(hidden) --set env[1].value=a",
    ],
    ["helm --set-string 'a.token=hun ter2' x", "--set-string 'a.token=(hidden) x"],
    ["Authorization: Bearer hunter2", "Authorization: Bearer (hidden)"],
    ["postgres://web:hunter2@db/x", "postgres://db/x"],
  ])("nor other secrets: %s", (message, expected) => {
    expect(hideInMessage(message)).toContain(expected);
    expect(hideInMessage(message)).not.toMatch(/hunter2|ter2/);
  });

  test.each([
    "illegal base64 data at input byte 4",
    "the data: nothing",
    "Secret.data: map[] is empty",
    'one or more objects failed to apply, reason: Deployment.apps "web" is invalid: spec.selector: Invalid value: field is immutable',
    "https://example.com:8443/a@b",
  ])("others stay as they are: %s", (message) => {
    expect(hideInMessage(message)).toBe(message);
  });

  test("of any value in any print, also if it is cut", () => {
    const value = fc.string({ minLength: 1, maxLength: 30 }).map((text) => `S3CR3T${text.replaceAll("\n", " ")}S3CR3T`);
    const print = fc.constantFrom<(value: string) => string>(
      (one) => `bad: map[apiVersion:v1 data:map[a:${one} b:c] kind:Secret]: no`,
      (one) => `bad: ${JSON.stringify({ kind: "Secret", stringData: { a: one } })}: no`,
      (one) => `bad: ${JSON.stringify(JSON.stringify({ kind: "Secret", data: { a: one } }))}: no`,
    );
    fc.assert(
      fc.property(value, print, fc.nat(200), (secret, printed, cut) => {
        const message = printed(secret);
        expect(hideInMessage(message)).not.toContain("S3CR3T");
        expect(hideInMessage(message.slice(0, cut))).not.toContain("S3CR3T");
      }),
    );
  });

  test.each([
    "data:",
    "://",
    "a://:",
    "https://x?",
    "data[",
    "?a_token=",
    '"value":/data/',
    "\\",
    "data:map[",
    "data:\n x\n",
    "--set a",
    "authorization: ",
  ])("16,000 characters of %j take no time", (piece) => {
    const text = piece.repeat(16_000 / piece.length);
    const before = process.cpuUsage();
    hideInMessage(text);
    hideInMessage(`https://${text}`);
    expect(process.cpuUsage(before).user / 1e6).toBeLessThan(2); // seconds of our own, however busy the machine is
  });
});

test.each([
  ["\\", ""],
  [" ", "!"],
])("a text of 100,000 %j takes no time", (piece, end) => {
  const before = process.cpuUsage();
  new EmbeddedTexts().read(`a${piece.repeat(100_000)}${end}`);
  expect(process.cpuUsage(before).user / 1e6).toBeLessThan(2); // seconds of our own, however busy the machine is
});
