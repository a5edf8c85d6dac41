import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "@jest/globals";
import { logMessages } from "./log-messages.js";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const MESSAGES = logMessages(`${ROOT}src`);

/** The messages in the first column of the tables under the two headings. */
const documented = (
  readFileSync(`${ROOT}docs/operations.md`, "utf8").match(/^## Messages [^]*?(?=^## (?!Messages)|(?![^]))/gm) ?? []
)
  .join("\n")
  .split("\n")
  .flatMap((line) => /^\| `(.+?)` \|/.exec(line)?.[1] ?? []);

/** `main.ts` repeats the warnings that the check of the configuration gives. */
const REPEATED = { text: "…", file: "main.ts" };

test("docs/operations.md names every warning and error that the service logs, each once, and no other", () => {
  const said = new Set(MESSAGES.filter(({ text }) => text !== REPEATED.text).map(({ text }) => text));
  expect(said.size).toBeGreaterThan(40);
  expect([...documented].sort()).toEqual([...said].sort());
});

test("what a message says stands in the code, so that it can be searched for", () => {
  expect(MESSAGES.filter(({ text }) => text === REPEATED.text)).toEqual([REPEATED]);
});
