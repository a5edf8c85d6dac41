import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, jest, test } from "@jest/globals";
import { revision } from "../../src/core/model/brand.js";
import { createGitMirror } from "../../src/git/mirror.js";
import { recordingLog } from "../recording-log.js";
import { GitHost } from "./git-host.js";
import { startGitElsewhere } from "./git-launcher.js";
import { writeHistory, type PlannedCommit } from "./history.js";

/** A plain run does one short round; `SVC_FETCH_ROUNDS` asks for so many long ones, each with another history. */
const ROUNDS = Number(process.env.SVC_FETCH_ROUNDS ?? 0);
const FETCHES = ROUNDS === 0 ? 16 : 77;
const FILES = 12;

let host: GitHost;
let dataDir: string;

jest.setTimeout(60_000 + ROUNDS * 60_000);

beforeEach(async () => {
  host = await GitHost.start({ "README.md": "hello\n" });
  dataDir = await mkdtemp(join(tmpdir(), "svc-fetches-"));
});

afterEach(async () => {
  await host.stop();
  await rm(dataDir, { recursive: true, force: true });
});

test(`${Math.max(ROUNDS, 1)} × ${FETCHES} fetches of files sent as differences to files that the mirror lacks: none is cloned again`, async () => {
  let requests = 0;
  for (let round = 1; round <= Math.max(ROUNDS, 1); round += 1) {
    const idOf = await writeHistory(host.directory, pushes(round));
    const log = recordingLog();
    const mirror = createGitMirror({ dataDir: join(dataDir, String(round)), log, startGit: startGitElsewhere });
    const before = host.requests.length;
    for (let number = 1; number <= FETCHES; number += 1) {
      const [head, base] = [idOf(`push${number}`), idOf(`push${number - 1}`)];
      await host.setRef(`refs/pull/${number}/head`, head);
      const snapshot = await mirror.open(host.facts(number, head, base, base), host.source(number));
      expect(await snapshot.changedPaths(base, head)).toEqual(Object.keys(changesOf(round, number)).sort());
    }
    const last = revision(idOf(`push${FETCHES}`));
    const snapshot = await mirror.open(host.facts(FETCHES, last, last, last), host.source(FETCHES));
    expect(Object.fromEntries(await snapshot.read(last, paths()))).toEqual(contentsAfter(round, FETCHES));
    await mirror.close();
    expect(log.lines.filter(({ level }) => level === "warn" || level === "error")).toEqual([]);
    requests += host.requests.length - before;
  }
  // Capabilities, refs and objects, and for the missing files capabilities and objects; at most two more to read.
  expect(requests).toBeLessThanOrEqual(Math.max(ROUNDS, 1) * (FETCHES * 5 + 2));
});

/** Every push edits some lines of a few files: one right after the first fetch, which brought no contents at all. */
function pushes(round: number): Readonly<Record<string, PlannedCommit>> {
  const commits: Record<string, PlannedCommit> = {
    push0: { contents: Object.fromEntries(paths().map((path, file) => [path, fileAt(round, file, 0)])), alone: true },
  };
  for (let number = 1; number <= FETCHES; number += 1) {
    commits[`push${number}`] = { parents: [`push${number - 1}`], contents: changesOf(round, number) };
  }
  return commits;
}

function paths(): readonly string[] {
  return Array.from({ length: FILES }, (_, file) => `apps/app-${file}/values.yaml`);
}

function changesOf(round: number, number: number): Readonly<Record<string, string>> {
  const changed = paths().map((path, file): [string, string] => [path, fileAt(round, file, number)]);
  return Object.fromEntries(changed.filter((_, file) => isChanged(round, file, number)));
}

function contentsAfter(round: number, number: number): Readonly<Record<string, string>> {
  const lastChange = (file: number) => {
    for (let push = number; push > 0; push -= 1) if (isChanged(round, file, push)) return push;
    return 0;
  };
  return Object.fromEntries(paths().map((path, file) => [path, fileAt(round, file, lastChange(file))]));
}

function isChanged(round: number, file: number, number: number): boolean {
  return file === number % FILES || noise(round, file, number) % 9 === 0;
}

/** A file of up to 400 lines, of which a push rewrites one. Files differ from each other, and so do rounds. */
function fileAt(round: number, file: number, number: number): string {
  const lines = 5 + (noise(round, file, 0) % 400);
  const edited = noise(round, file, number) % lines;
  return Array.from({ length: lines }, (_, line) => {
    return line === edited ? `tag: v1.${number}.0\n` : `key-${line}: ${noise(round, file, line + 1)}\n`;
  }).join("");
}

/** The same number below 2^32 for the same three, without a visible order (Knuth's multiplicative hash). */
function noise(round: number, file: number, index: number): number {
  let mixed = round;
  for (const part of [file, index, 7]) mixed = (Math.imul(mixed ^ (mixed >>> 15), 2_654_435_761) + part) >>> 0;
  return mixed;
}
