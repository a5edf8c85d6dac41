import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { createGitMirror } from "../../src/git/mirror.js";
import { recordingLog } from "../recording-log.js";
import { GitHost } from "./git-host.js";
import { startGitElsewhere } from "./git-launcher.js";
import { chain, writeHistory, type PlannedCommit } from "./history.js";

const FILE = ".svc.yaml";

let host: GitHost;
let dataDir: string;
let mirror: ReturnType<typeof createGitMirror>;

beforeEach(async () => {
  host = await GitHost.start({ "README.md": "hello\n" });
  dataDir = await mkdtemp(join(tmpdir(), "svc-past-"));
  mirror = createGitMirror({ dataDir, log: recordingLog(), startGit: startGitElsewhere });
});

afterEach(async () => {
  await mirror.close();
  await host.stop();
  await rm(dataDir, { recursive: true, force: true });
});

type History = Readonly<Record<string, PlannedCommit>>;

const writes = (parent: string | undefined, content: string | null): PlannedCommit => ({
  parents: parent === undefined ? [] : [parent],
  contents: { [FILE]: content },
});

/** The texts that the file was before a commit, as the snapshot of a change request on it reads them. */
async function pastTexts(history: History, tip: string): Promise<readonly (string | undefined)[]> {
  const idOf = await writeHistory(host.directory, history);
  await host.setRef("refs/pull/1/head", idOf(tip));
  const snapshot = await mirror.open(host.facts(1, idOf(tip), idOf(tip), idOf(tip)), host.source(1));
  const texts: (string | undefined)[] = [];
  for await (const text of snapshot.pastTexts(idOf(tip), FILE)) texts.push(text);
  return texts;
}

test.each<[string, History, string, readonly (string | undefined)[]]>([
  ["none", chain("m", 3), "m3", []],
  ["that of the first commit", { one: writes(undefined, "1"), two: { parents: ["one"] } }, "two", ["1"]],
  [
    "newest first, each once, also those that were deleted since",
    {
      a: writes(undefined, "1"),
      b: writes("a", "2"),
      c: { parents: ["b"] },
      d: writes("c", "1"),
      e: writes("d", null),
      f: writes("e", "3"),
    },
    "f",
    ["3", "1", "2"],
  ],
  [
    "of first parents alone",
    {
      a: writes(undefined, "1"),
      side: writes("a", "of the side"),
      later: writes("side", "merged"),
      b: { parents: ["a"] },
      merge: { parents: ["b", "later"], contents: { [FILE]: "merged" } },
    },
    "merge",
    ["merged", "1"],
  ],
  ["not of its name in a folder", { a: { contents: { [`x/${FILE}`]: "1" } }, b: writes("a", "2") }, "b", ["2"]],
  ["undefined for what is no text", { a: writes(undefined, "1"), b: writes("a", "\0") }, "b", [undefined, "1"]],
])("%s", async (_what, history, tip, expected) => {
  expect(await pastTexts(history, tip)).toEqual(expected);
});

test("up to 200 commits back, whatever is in between", async () => {
  const reached = { old: writes(undefined, "far"), first: writes("old", "reached"), ...chain("m", 199, "first") };
  expect(await pastTexts({ ...reached, tip: writes("m199", "new") }, "tip")).toEqual(["new", "reached"]);
  const far = { old: writes(undefined, "far"), first: writes("old", "x"), ...chain("m", 200, "first") };
  expect(await pastTexts({ ...far, tip: writes("m200", "new") }, "tip")).toEqual(["new", "x"]);
});

test("many versions", async () => {
  const names = Array.from({ length: 35 }, (_, index) => `v${index}`);
  const history = Object.fromEntries(
    names.map((name, index) => [name, writes(index === 0 ? undefined : `v${index - 1}`, name)]),
  );
  expect(await pastTexts(history, "v34")).toEqual(names.toReversed());
});
