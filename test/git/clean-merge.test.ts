import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { createGitMirror } from "../../src/git/mirror.js";
import { recordingLog } from "../recording-log.js";
import { GitHost } from "./git-host.js";
import { startGitElsewhere } from "./git-launcher.js";
import { chain, writeHistory, type PlannedCommit } from "./history.js";

let host: GitHost;
let dataDir: string;
let mirror: ReturnType<typeof createGitMirror>;

beforeEach(async () => {
  host = await GitHost.start({ "README.md": "hello\n" });
  dataDir = await mkdtemp(join(tmpdir(), "svc-merges-"));
  mirror = createGitMirror({ dataDir, log: recordingLog(), startGit: startGitElsewhere });
});

afterEach(async () => {
  await mirror.close();
  await host.stop();
  await rm(dataDir, { recursive: true, force: true });
});

const LINES = Array.from({ length: 12 }, (_, at) => `line ${at}`);
const file = (changes: Readonly<Record<number, string>> = {}) =>
  `${LINES.map((line, at) => changes[at] ?? line).join("\n")}\n`;

/** `ours` and `theirs` leave `base`; `m` merges them. */
function history(merged: PlannedCommit, theirs: PlannedCommit = {}): Readonly<Record<string, PlannedCommit>> {
  return {
    base: { contents: { values: file(), old: file({ 0: "other" }) } },
    theirs: { parents: ["base"], contents: { values: file({ 1: "theirs" }) }, ...theirs },
    ours: { parents: ["base"], contents: { values: file({ 10: "ours" }) } },
    m: { parents: ["ours", "theirs"], ...merged },
  };
}

async function isClean(commits: Readonly<Record<string, PlannedCommit>>, base = "theirs"): Promise<boolean> {
  const idOf = await writeHistory(host.directory, commits);
  await host.setRef("refs/pull/1/head", idOf("m"));
  const change = host.facts(1, idOf("m"), idOf(base), idOf(base));
  const snapshot = await mirror.open(change, host.source(1));
  return snapshot.isCleanMerge(idOf("m"));
}

const BOTH = { values: file({ 1: "theirs", 10: "ours" }) };

test.each<[string, Readonly<Record<string, PlannedCommit>>, boolean]>([
  ["what git merges line by line", history({ contents: BOTH }), true],
  ["with another line changed", history({ contents: { values: file({ 1: "theirs", 5: "evil", 10: "ours" }) } }), false],
  ["with a further file", history({ contents: { ...BOTH, evil: "x" } }), false],
  ["that takes one side alone", history({ contents: { values: file({ 10: "ours" }) } }), false],
  [
    "a conflict that a person resolved",
    history({ contents: { values: file({ 10: "both" }) } }, { contents: { values: file({ 10: "theirs" }) } }),
    false,
  ],
  [
    "of a file that one side renamed and the other changed",
    {
      ...history({ contents: { values: null, moved: file({ 1: "theirs", 10: "ours" }) } }),
      theirs: { parents: ["base"], contents: { values: null, moved: file({ 1: "theirs" }) } },
    },
    true,
  ],
  [
    "of three parents",
    { ...history({ contents: BOTH }), m: { parents: ["ours", "theirs", "base"], contents: BOTH } },
    false,
  ],
  ["that is no merge", { ...history({}), m: { parents: ["theirs"], contents: BOTH } }, false],
  [
    "of histories without a common commit",
    { ...history({ contents: BOTH }), theirs: { contents: { values: file({ 1: "theirs" }) } } },
    false,
  ],
])("a merge %s", async (_, commits, clean) => {
  expect(await isClean(commits)).toBe(clean);
});

test("history is fetched as far back as the two sides left each other", async () => {
  const commits = {
    start: { contents: { values: file() } },
    ours: { parents: ["start"], contents: { values: file({ 10: "ours" }) } },
    ...chain("b", 300, "start"),
    m: { parents: ["ours", "b300"], contents: {} },
  };
  expect(await isClean({ ...commits, m: { ...commits.m, contents: onlyOurs(300) } }, "b300")).toBe(true);
});

/** What fast-import has to write for the files of a chain, since a merge starts with the first parent's files. */
function onlyOurs(length: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length }, (_, at) => [`b${at + 1}`, `b${at + 1}\n`]));
}
