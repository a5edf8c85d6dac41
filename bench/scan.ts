/**
 * How long it takes to find out what a push changes in a monorepo, beside a plain `git fetch` and `git diff` of the
 * same push in a bare partial clone: `tsx bench/scan.ts`.
 */
import { execFile, type ChildProcess } from "node:child_process";
import { subscribe } from "node:diagnostics_channel";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import express, { type NextFunction, type Request, type Response } from "express";
import { GitStore } from "../sandbox/git/git-store.js";
import { smartHttp } from "../sandbox/git/smart-http.js";
import { listenOnLoopback } from "../sandbox/loopback.js";
import type { Application } from "../src/core/application.js";
import { applicationName, repositoryName, revision } from "../src/core/brand.js";
import type { ChangeRequest } from "../src/core/change-request.js";
import { detect } from "../src/core/detect/affected.js";
import { createManifestScanner } from "../src/core/detect/manifests.js";
import { createGitMirror } from "../src/git/mirror.js";
import { sampleSettings } from "../test/core/sample-settings.js";
import { recordingLog } from "../test/recording-log.js";
import { monorepo, serviceFolder, SERVICES } from "./monorepo.js";

const RUNS = 9;
const NAME = "acme/monorepo";
const run = promisify(execFile);

interface Measured {
  readonly ms: number;
  readonly calls: number;
  readonly bytes: number;
}

const started: ChildProcess[] = [];
subscribe("child_process", (message) => {
  if (typeof message === "object" && message !== null && "process" in message) {
    started.push(message.process as ChildProcess);
  }
});

/** Programs that were started as a client: the server's own, which runs in this process too, is left out. */
function clientCalls(): number {
  return started.filter(
    ({ spawnargs }) => !spawnargs.some((arg) => /^(?:http-backend|upload-pack)$/.test(arg)),
  ).length;
}

let sent = 0;
function countBytes(_request: Request, response: Response, next: NextFunction): void {
  const { socket } = response;
  const before = socket?.bytesWritten ?? 0;
  response.once("close", () => (sent += (socket?.bytesWritten ?? 0) - before));
  next();
}

async function measured(work: () => Promise<unknown>): Promise<Measured> {
  const [calls, bytes, begin] = [clientCalls(), sent, performance.now()];
  await work();
  const ms = performance.now() - begin;
  return { ms, calls: clientCalls() - calls, bytes: sent - bytes };
}

const store = await GitStore.create();
const work = await mkdtemp(join(tmpdir(), "bench-scan-"));
const authorize = () => true;
const server = await listenOnLoopback(
  express().use(
    countBytes,
    smartHttp(store, authorize, (path) => path.slice(1).replace(/\.git$/, "")),
  ),
);
const url = `${server.url}/${NAME}.git`;
await store.createRepository(NAME, monorepo(url));
const base = revision((await store.resolve(NAME, "main")) ?? "");

/** Changes one file of one service, and offers it as the head of change request 1. */
async function push(round: number): Promise<ChangeRequest> {
  const path = `${serviceFolder((round * 37) % SERVICES)}/deployment-0.yaml`;
  const from = (await store.resolve(NAME, "change")) ?? base;
  const text = `apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: round-${round}\nspec:\n  replicas: ${round}\n`;
  const head = revision(await store.commit(NAME, "change", { [path]: text }, { from }));
  await store.setRef(NAME, "refs/pull/1/head", head);
  return {
    host: "hosta",
    repository: repositoryName(NAME),
    number: 1,
    title: "Change",
    webUrl: `${server.url}/${NAME}/pull/1`,
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
    repositoryUrls: [url],
  };
}

const mirror = createGitMirror({ dataDir: join(work, "mirror"), log: recordingLog() });
const scanner = createManifestScanner();
const source = { url, authorization: undefined, headRef: "refs/pull/1/head" };
const nameOf = (_namespace: string | undefined, name: string) => applicationName(name);
let live: readonly Application[] = [];

/** What a plan does before anything is rendered; returns how many applications are affected. */
async function scan(change: ChangeRequest): Promise<number> {
  const snapshot = await mirror.open(change, source);
  const found = await detect({ change, settings: sampleSettings(), snapshot, live, nameOf, scanner });
  return found.applications.length;
}

const clone = join(work, "clone.git");
await run("git", ["clone", "--quiet", "--bare", "--filter=blob:none", url, clone]);

let known = base;
/** The same push with the git program, as one would by hand. */
async function plainGit(head: string): Promise<void> {
  const commands = `git fetch --quiet origin refs/pull/1/head && git diff --name-only ${known} ${head}`;
  const { stdout } = await run("sh", ["-c", commands], { cwd: clone });
  if (stdout.trim() === "") throw new Error("git saw no difference");
}

const first = await push(1);
const cold = await measured(() => scan(first));
const snapshot = await mirror.open(first, source);
const resources = await scanner.scan({ snapshot, revision: base, crPaths: [], nameOf });
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
await store.remove();
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
