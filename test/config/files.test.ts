import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { loadServerFiles } from "../../src/config/files.js";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-config-"));
  await writeFile(join(folder, "a.yaml"), "a: 1");
  await writeFile(join(folder, "b.yaml"), "b: 2");
});
afterAll(async () => rm(folder, { recursive: true }));

const read = (path: string) => readFile(join(folder, path), "utf8");

test("files are read in their order", async () => {
  expect(await loadServerFiles(["b.yaml", "a.yaml"], read)).toEqual({
    kind: "read",
    files: [
      { name: "b.yaml", text: "b: 2" },
      { name: "a.yaml", text: "a: 1" },
    ],
  });
});

test("every file that cannot be read is named with the reason", async () => {
  expect(await loadServerFiles(["a.yaml", "missing.yaml", "."], read)).toEqual({
    kind: "unreadable",
    messages: [
      "missing.yaml: the file cannot be read: there is no such file; name one with -c FILE",
      ".: the file cannot be read: it is a folder",
    ],
  });
});

test.each([
  ["EACCES", "access denied"],
  ["EIO", "EIO"],
  [undefined, "unknown reason"],
])("the code %p reads: %s", async (code, reason) => {
  const result = await loadServerFiles(["a"], () => Promise.reject(Object.assign(new Error("x"), { code })));
  expect(result).toEqual({ kind: "unreadable", messages: [`a: the file cannot be read: ${reason}`] });
});
