import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "@jest/globals";
import { rsaKey } from "./rsa-key.js";
import { configOf, problemsOf, withKey } from "./server-file.js";

const KEY = rsaKey();
const folder = mkdtempSync(join(tmpdir(), "svc-keys-"));
const keyFile = join(folder, "app.pem");
writeFileSync(keyFile, KEY);
afterAll(() => rmSync(folder, { recursive: true }));

const json = (value: unknown) => JSON.stringify(value);

test.each([
  ["kvstore.address", "redis.example.org:6379", { host: "redis.example.org", port: 6379 }],
  ["kvstore.address", "[::1]:6379", { host: "::1", port: 6379 }],
])("%s: %s", (path, value, expected) => {
  expect(configOf([withKey(path, json(value))]).kvstore.address).toEqual(expected);
});

test.each(["redis", "redis:", "redis:0", "redis:70000", "redis://h:1", "a b:1", ":1", "u:p@h:1", "::1:6379"])(
  "kvstore.address refuses %s",
  (value) => {
    expect(problemsOf(withKey("kvstore.address", json(value))).join()).toContain("kvstore.address: expected host:port");
  },
);

describe("hosta.private_key", () => {
  const hosta = (value: string) => withKey("hosta.private_key", value);
  test.each([
    ["PEM text", json(KEY)],
    ["PEM text on one line", json(KEY.replaceAll("\n", "\\n"))],
    ["a variable", '"${KEY}"'],
    ["a file's path", json(keyFile)],
  ])("is taken as %s", (_, value) => {
    const config = configOf([hosta(value)], { KEY });
    expect(config.hosta?.privateKey.trim()).toBe(KEY.trim());
  });
  test.each([
    ["a file that does not exist", json("/nonexistent/app.pem"), "the file cannot be read (ENOENT)"],
    ["a folder", json(folder), "the file cannot be read (EISDIR)"],
    [
      "a broken key",
      json("-----BEGIN RSA PRIVATE KEY-----\nhunter2\n-----END RSA PRIVATE KEY-----"),
      "not a readable RSA private key",
    ],
    ["nothing", '""', "expected a private key as PEM text"],
    ["a number", "12345", "expected a private key as PEM text"],
  ])("refuses %s", (_, value, message) => {
    const problems = problemsOf(hosta(value)).join();
    expect(problems).toContain(message);
    expect(problems).not.toContain("hunter2");
  });
  test("is required with the section", () => {
    expect(problemsOf(withKey("hosta.aliases", "[]")).join()).toContain("hosta.private_key: is required");
  });
});

test.each(["0", "-1", "1.5", "Iv1.abc", '"12"', "null"])("hosta.app_id refuses %s", (value) => {
  expect(problemsOf(withKey("hosta.app_id", value)).join()).toContain(
    "hosta.app_id: expected a whole number from 1 upwards",
  );
});

test.each(["abc", "whsec_", "whsec_!!", '""'])("hostb.signing_token refuses %s", (value) => {
  expect(problemsOf(withKey("hostb.signing_token", value)).join()).toContain("hostb.signing_token: expected GitLab's");
});

test.each([
  ["a file that does not exist", json("/nonexistent/ca.pem"), "cannot be read (ENOENT)"],
  ["a key", json(keyFile), "no readable PEM certificate"],
  ["nothing", '""', "expected the path of a file"],
])("kvstore.ca_file refuses %s", (_, value, message) => {
  expect(problemsOf(withKey("kvstore.ca_file", value)).join()).toContain(message);
});
