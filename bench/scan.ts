/**
 * Measures how long it takes to find what a push changes in a monorepo, next to a plain `git fetch` and `git diff` of the
 * same push in a bare partial clone: `tsx bench/scan.ts`. The repository is served by another process.
 */
import { execFile } from "node:child_process";
import { subscribe } from "node:diagnostics_channel";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type * as Snapshots from "../src/core/detect/inputs/snapshot.js";
import type * as Affected from "../src/core/detect/scan/affected.js";
import type * as Manifests from "../src/core/detect/scan/manifests.js";
import type { Application } from "../src/core/model/application.js";
import { applicationName, repositoryName, revision } from "../src/core/model/brand.js";
import type { ChangeRequest } from "../src/core/model/change-request.js";
import type * as Mirror from "../src/git/mirror.js";
import type * as Workers from "../src/workers/worker-pool.js";
import { sampleSettings } from "../test/core/sample-settings.js";
import { recordingLog } from "../test/recording-log.js";
import { builtModule } from "./built-module.js";
import type { Order, Served } from "./monorepo-process.js";
import { SERVICES } from "./monorepo.js";
import { startOtherProcess } from "./other-process.js";

const { detect, scanSides } = await builtModule<typeof Affected>("core/detect/scan/affected.js");
const { createManifestScanner } = await builtModule<typeof Manifests>("core/detect/scan/manifests.js");
const { createDetectionCaches, openSnapshot } = await builtModule<typeof Snapshots>("core/detect/inputs/snapshot.js");
const { createWorkerPool } = await builtModule<typeof Workers>("workers/worker-pool.js");
const { createGitMirror } = await builtModule<typeof Mirror>("git/mirror.js");

const RUNS = 25;
const run = promisify(execFile);

interface Measured {
  readonly ms: number;
  readonly calls: number;
  readonly bytes: number;
}

let started = 0;
subscribe("child_process", () => (started += 1));

const server = startOtherProcess<Order>(new URL("monorepo-process.ts", import.meta.url));
const { origin, url, base: tip } = (await server.ask({ name: "start" })) as Served;
const base = revision(tip);
const work = await mkdtemp(join(tmpdir(), "bench-scan-"));

async function measured(task: () => Promise<unknown>): Promise<Measured> {
  const sent = async (): Promise<number> => (await server.ask({ name: "sent" })) as number;
  const [calls, bytes, begin] = [started, await sent(), performance.now()];
  await task();
  const ms = performance.now() - begin;
  return { ms, calls: started - calls, bytes: (await sent()) - bytes };
}

async function push(round: number): Promise<ChangeRequest> {
  const head = revision((await server.ask({ name: "push", round })) as string);
  return {
    host: "hosta",
    repository: repositoryName("acme/monorepo"),
    number: 1,
    title: "Change",
    webUrl: `${origin}/acme/monorepo/pull/1`,
    author: undefined,
    state: "open",
    draft: false,
    fork: false,
    headBranch: "change",
    baseBranch: "main",
    defaultBranch: "main",
    headRevision: head,
    baseRevision: base,
    mergeBase: base,
    mergeability: "mergeable",
    repositoryUrls: [url],
  };
}

const mirror = createGitMirror({ dataDir: join(work, "mirror"), log: recordingLog() });
const workers = createWorkerPool();
const reading = { compute: workers, owner: "bench", signal: new AbortController().signal };
const scanner = createManifestScanner(workers);
const caches = createDetectionCaches();
const source = { url, authorization: undefined, headRef: "refs/pull/1/head" };
const nameOf = (_namespace: string | undefined, name: string) => applicationName(name);
let live: readonly Application[] = [];

/** The part of a plan before rendering. Returns the number of affected applications. */
async function scan(change: ChangeRequest): Promise<number> {
  const snapshot = openSnapshot(await mirror.open(change, source), caches, reading);
  const order = { change, settings: sampleSettings(), snapshot, nameOf, scanner, signal: reading.signal };
  const found = await detect({ ...order, sides: await scanSides(order), live, liveSets: [] });
  return found.applications.length;
}

const clone = join(work, "clone.git");
await run("git", ["clone", "--quiet", "--bare", "--filter=blob:none", url, clone]);

let known = base;
/** Fetches and compares the same push with the git program. */
async function plainGit(head: string): Promise<void> {
  const commands = `git fetch --quiet origin refs/pull/1/head && git diff --name-only ${known} ${head}`;
  const { stdout } = await run("sh", ["-c", commands], { cwd: clone });
  if (stdout.trim() === "") throw new Error("git saw no difference");
}

const first = await push(1);
const cold = await measured(() => scan(first));
const snapshot = await mirror.open(first, source);
const resources = await scanner.scan({
  snapshot,
  revision: base,
  crPaths: [],
  nameOf,
  owner: "bench",
  trusted: true,
  signal: reading.signal,
});
live = resources.applications.map(({ application }) => application);
if (live.length !== SERVICES) throw new Error(`${live.length} applications were found instead of ${SERVICES}`);
await scan(first);

const warm: Measured[] = [];
const plain: Measured[] = [];
for (let round = 2; round < 2 + RUNS; round += 1) {
  const change = await push(round);
  plain.push(await measured(() => plainGit(change.headRevision)));
  let affected = 0;
  warm.push(await measured(async () => (affected = await scan(change))));
  if (affected !== round) throw new Error(`${affected} applications are affected instead of ${round}`);
  known = change.headRevision;
}
await mirror.close();
await server.stop();
await rm(work, { recursive: true });

function median(rows: readonly Measured[]): Measured {
  return rows.toSorted((left, right) => left.ms - right.ms)[Math.floor(rows.length / 2)] ?? cold;
}

function row(name: string, { ms, calls, bytes }: Measured): string {
  return `| ${name} | ${ms.toFixed(0)} ms | ${calls} | ${bytes.toLocaleString("en")} |`;
}

const [ours, git] = [median(warm), median(plain)];
process.stdout.write(
  [
    `A monorepo of 20,000 files, 5,000 of them manifests, ${SERVICES} applications; median of ${RUNS} pushes of one file.`,
    "",
    "| | Time | Programs started | Bytes fetched |",
    "| --- | ---: | ---: | ---: |",
    row("first scan of the repository", cold),
    row("scan after a push", ours),
    row("`git fetch` and `git diff --name-only`", git),
    "",
    `A scan after a push takes ${(ours.ms / git.ms).toFixed(2)} times as long as the two git commands.`,
    "",
  ].join("\n"),
);
