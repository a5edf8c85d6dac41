import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "@jest/globals";
import fc from "fast-check";
import { GitStore } from "../../sandbox/git/git-store.js";
import { Stopped } from "../../src/core/ports/event-queue.js";
import { GitFailure } from "../../src/git/git-process.js";
import { ObjectReader, ObjectStream, type QuestionLimits } from "../../src/git/object-reader.js";

const run = promisify(execFile);
const NAME = "acme/objects";
const MISSING = "0123456789".repeat(4);
let store: GitStore;
let reader: ObjectReader;
let readme: string;

beforeAll(async () => {
  store = await GitStore.create();
  await store.createRepository(NAME, { "README.md": "hello\n" });
  readme = (await run("git", ["--git-dir", directory(), "rev-parse", "main:README.md"])).stdout.trim();
});
beforeEach(() => {
  reader = new ObjectReader(directory(), 30_000);
});
afterEach(() => reader.close());
afterAll(() => store.remove());

function directory(): string {
  return store.directory(NAME);
}

function limits(more: Partial<QuestionLimits> = {}): QuestionLimits {
  return { timeoutMs: 20_000, maxOutput: 2 ** 20, signal: new AbortController().signal, ...more };
}

/** Reader processes started by this process. */
async function processes(): Promise<number> {
  const { stdout } = await run("ps", ["-eo", "ppid,args"]);
  return stdout.split("\n").filter((line) => line.trim().startsWith(`${process.pid} git cat-file --batch-command`))
    .length;
}

test("one process answers for ids and sizes, contents, refs and missing objects", async () => {
  const size = { id: readme, type: "blob", size: 6, content: Buffer.alloc(0) };
  expect(await reader.ask("info", [readme, MISSING, readme], limits())).toEqual([size, undefined, size]);
  const [object, lost] = await reader.ask("contents", [readme, MISSING], limits());
  expect([object?.content.toString(), lost]).toEqual(["hello\n", undefined]);
  const [tip] = await reader.ask("info", ["refs/heads/main"], limits());
  expect(tip).toMatchObject({ id: await store.resolve(NAME, "main"), type: "commit" });
  expect(await reader.ask("info", [], limits())).toEqual([]);
  expect(await processes()).toBe(1);
});

test("the running process sees objects written later, even if it was asked for them before", async () => {
  await reader.ask("info", [readme], limits());
  const other = await GitStore.create();
  await other.createRepository("acme/other", { "new.txt": "new\n" });
  const commit = (await other.resolve("acme/other", "main")) ?? "";
  expect(await reader.ask("info", [commit], limits())).toEqual([undefined]);
  await run("git", ["--git-dir", directory(), "fetch", "--quiet", "--keep", other.directory("acme/other"), "main"]);
  expect(await reader.ask("info", [commit], limits())).toMatchObject([{ type: "commit" }]);
  expect(await processes()).toBe(1);
  await other.remove();
});

test.each([
  ["aborted", { signal: AbortSignal.abort(new Stopped("pushed")) }, Stopped],
  ["out of time", { timeoutMs: 0 }, GitFailure],
  ["too long", { maxOutput: 3 }, GitFailure],
] as const)("a question that is %s leaves no process behind, and the next one is answered", async (_, more, error) => {
  await reader.ask("info", [readme], limits());
  await expect(reader.ask("contents", Array<string>(1000).fill(readme), limits(more))).rejects.toThrow(error);
  if (error === GitFailure) expect(await processes()).toBe(0);
  expect(await reader.ask("info", [readme], limits())).toHaveLength(1);
});

test("an abort during a question ends it with the signal's reason", async () => {
  const controller = new AbortController();
  const asked = reader.ask("contents", Array<string>(20_000).fill(readme), limits({ signal: controller.signal }));
  controller.abort(new Stopped("closed"));
  await expect(asked).rejects.toEqual(new Stopped("closed"));
  expect(await processes()).toBe(0);
});

test("a folder that is not a repository is reported in git's own words", async () => {
  const lost = new ObjectReader(`${directory()}/refs`, 30_000);
  const error: unknown = await lost.ask("info", [readme], limits()).catch((cause: unknown) => cause);
  expect(error).toMatchObject({ kind: "exit", stderr: expect.stringContaining("not a git repository") as unknown });
});

test("the process ends by itself after a time without questions", async () => {
  const idle = new ObjectReader(directory(), 20);
  await idle.ask("info", [readme], limits());
  while ((await processes()) > 0) await new Promise((resolve) => setTimeout(resolve, 5));
  expect(await idle.ask("info", [readme], limits())).toHaveLength(1);
  await idle.close();
  expect(await processes()).toBe(0);
});

test("an answer is the same however it is split into chunks", () => {
  const contents = ["", "\n", "blob 5\n", "a\0b", "x".repeat(200)];
  const parts = contents.map((text, index) => Buffer.from(`${"abcdef"[index] ?? ""} blob ${text.length}\n${text}\n`));
  const output = Buffer.concat([...parts, Buffer.from("f missing\n")]);
  fc.assert(
    fc.property(fc.array(fc.nat(output.length), { maxLength: 12 }), (places) => {
      const cuts = [...new Set([0, ...places.sort((left, right) => left - right), output.length])];
      const stream = new ObjectStream(true, contents.length + 1);
      const done = cuts.slice(1).map((end, index) => stream.push(output.subarray(cuts[index], end)));
      expect(done.at(-1)).toBe(true);
      expect(stream.objects.map((object) => object?.content.toString())).toEqual([...contents, undefined]);
    }),
  );
});

test.each(["a blob x\n", "A blob 3\n", "a blob 3 4\n", "a ambiguous\n", "a blob 1\nxy", "a blob 0\n\nrest", "\n"])(
  "an answer like %j is refused",
  (output) => {
    expect(() => new ObjectStream(true, 1).push(Buffer.from(output))).toThrow(GitFailure);
  },
);
