import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "@jest/globals";
import { runTool } from "./deploy-tool.js";

const FOLDER = fileURLToPath(new URL("../../.github/workflows/", import.meta.url));

test("actionlint has nothing to say about the workflows", () => {
  const files = readdirSync(FOLDER).map((name) => `${FOLDER}${name}`);
  expect(files.length).toBeGreaterThan(2);
  expect(runTool("actionlint", ["-no-color", ...files])).toEqual({ ok: true, stdout: "", stderr: "" });
});

test("actionlint finds what is wrong", () => {
  const text =
    "on: push\njobs:\n  a:\n    runs-on: ubuntu-24.04\n    steps:\n      - run: echo ${{ github.event.head_commit.message }}\n";
  expect(runTool("actionlint", ["-no-color", "-"], text)).toMatchObject({
    ok: false,
    stdout: expect.stringContaining("untrusted"),
  });
});
