import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { ByteSearch, WINDOW } from "./byte-search.js";
import { encodingsOf } from "./encodings.js";
import { keepLog, LOG_FOLDER, registerSecret } from "./kept-logs.js";
import { searchLogs } from "./search-logs.js";
import { registerSecretFields, registerSecretObjects } from "./secrets-of.js";

const outer = process.env[LOG_FOLDER];
let folder = "";

/** The tests plant secrets: in a folder of their own, not in that of the whole run. */
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "secrets-in-logs-"));
  process.env[LOG_FOLDER] = folder;
});

afterEach(() => {
  if (outer === undefined) Reflect.deleteProperty(process.env, LOG_FOLDER);
  else process.env[LOG_FOLDER] = outer;
  rmSync(folder, { recursive: true, force: true });
});

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}

let secrets = 0;

/** A new one each time: a secret is written down once in a process. */
function newSecret(): string {
  return `gl/pat+ n€w=${(secrets += 1)}-0123456789`;
}

describe("a planted secret is found", () => {
  test.each<[string, (secret: string) => string]>([
    ["plain", (secret) => secret],
    ["as JSON in JSON", (secret) => JSON.stringify(JSON.stringify({ secret }))],
    ["in base64", base64],
    ["in base64 behind one character", (secret) => base64(`x${secret}`)],
    ["in base64 behind a user name, as git sends it", (secret) => base64(`oauth2:${secret}`)],
    ["in base64 in front of others", (secret) => base64(`${secret} and more`)],
    ["in base64 for URLs", (secret) => Buffer.from(`to:${secret}`).toString("base64url")],
    ["URL-encoded", encodeURIComponent],
    ["URL-encoded as a form does it", (secret) => new URLSearchParams({ secret }).toString()],
    [
      "URL-encoded in small letters",
      (secret) => encodeURIComponent(secret).replace(/%../g, (one) => one.toLowerCase()),
    ],
  ])("%s", (_, write) => {
    const secret = newSecret();
    registerSecret("token of the test", secret);
    keepLog('{"msg":"fine"}\n');
    expect(searchLogs(folder)).toMatchObject({ logs: 1, secrets: 1, found: [] });
    keepLog(`{"msg":"request failed","to":"${write(secret)}"}\n{"msg":"fine"}\n`);
    const { found } = searchLogs(folder);
    expect(found.length).toBeGreaterThan(0);
    expect(found[0]).toMatch(/^token of the test in \d+\.log: \{"msg":"request failed",.*«secret»/);
    expect(found.join("\n")).not.toContain(secret);
  });

  test("a line of a key, whichever process wrote the log", () => {
    const lines = ["-----BEGIN PRIVATE KEY-----", "q".repeat(64), "z".repeat(40), "-----END PRIVATE KEY-----"];
    registerSecret("private key", lines.join("\n"));
    writeFileSync(join(folder, "another.log"), `{"err":"bad key ${"z".repeat(40)}"}`);
    expect(searchLogs(folder)).toMatchObject({ secrets: 2, found: [expect.stringMatching(/^private key in another/)] });
  });
});

test("secrets are known by where they stand in a configuration and in manifests", () => {
  registerSecretFields({
    hostb: { token: "glpat-of-settings", url: "https://gitlab.example.com", webhook_secret: "hook-of-settings" },
    kvstore: { sentinel: { password: "pass-of-settings" } },
    notifications: [{ url: "http://127.0.0.1:4000" }, { url: "http://127.0.0.1:4000/hook-of-the-chat" }],
  });
  registerSecretObjects({
    "secret.yaml": `kind: Secret\nstringData: { a: plain-value }\ndata: { b: ${base64("decoded-value")}, c: 1 }\n`,
    "map.yaml": "kind: ConfigMap\ndata: { a: no-secret-here }\n",
    "broken.yaml": "kind: Secret\n\t[",
    "gone.yaml": null,
  });
  const [file = ""] = readdirSync(folder);
  expect(
    readFileSync(join(folder, file), "utf8")
      .trim()
      .split("\n")
      .map((line): unknown => JSON.parse(line)),
  ).toEqual([
    { name: "hostb.token", value: "glpat-of-settings" },
    { name: "hostb.webhook_secret", value: "hook-of-settings" },
    { name: "kvstore.sentinel.password", value: "pass-of-settings" },
    { name: "notifications.1.url", value: "http://127.0.0.1:4000/hook-of-the-chat" },
    { name: "value of a Secret", value: "plain-value" },
    { name: "value of a Secret", value: "decoded-value" },
  ]);
});

test("whatever is looked for is found where it is, and nowhere else", () => {
  const letters = fc.string({ unit: fc.constantFrom("a", "b", "é"), minLength: WINDOW, maxLength: 12 });
  fc.assert(
    fc.property(fc.array(letters, { minLength: 1, maxLength: 5 }), letters, letters, (texts, before, after) => {
      const haystack = Buffer.from(`${before}${texts[0] ?? ""}${after}`);
      const expected = texts.flatMap((text, index) => {
        const places: { index: number; at: number }[] = [];
        for (let at = haystack.indexOf(text); at >= 0; at = haystack.indexOf(text, at + 1)) places.push({ index, at });
        return places;
      });
      const found = new ByteSearch(texts).find(haystack);
      expect(found).toHaveLength(expected.length);
      expect(found).toEqual(expect.arrayContaining(expected));
    }),
  );
});

test("no form of a secret is too short to be looked for", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom("a", "/", "+", " ", "%", "é", "€", "🚀", '"'), minLength: WINDOW }),
      (secret) => {
        const lengths = encodingsOf(secret).map((form) => Buffer.byteLength(form));
        expect(Math.min(...lengths)).toBeGreaterThanOrEqual(WINDOW);
      },
    ),
  );
});
