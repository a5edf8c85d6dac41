import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { keepLog } from "../secrets-in-logs/kept-logs.js";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** What tsx compiled for one start serves the next. */
let cache: string;
let folder: string;
let child: ChildProcess | undefined;

beforeAll(async () => {
  cache = await mkdtemp(join(tmpdir(), "demo-program-tsx-"));
});

afterAll(() => rm(cache, { recursive: true, force: true }));

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "demo-program-"));
  await symlink(cache, join(folder, `tsx-${process.geteuid?.() ?? ""}`));
});

afterEach(async () => {
  if (child?.exitCode === null) child.kill("SIGKILL");
  await rm(folder, { recursive: true, force: true });
});

/** The program as `npm run demo` starts it, with a folder of its own for temporary files. */
function start(environment: NodeJS.ProcessEnv = {}): { readonly started: ChildProcess; readonly output: () => string } {
  const program = join(ROOT, "demo/main.ts");
  const started = spawn(process.execPath, ["--import", "tsx", program], {
    cwd: ROOT,
    env: { ...process.env, NODE_OPTIONS: "", TMPDIR: folder, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let text = "";
  const keep = (chunk: Buffer) => {
    text += chunk.toString();
    keepLog(chunk.toString());
  };
  started.stdout.on("data", keep);
  started.stderr.on("data", keep);
  child = started;
  return { started, output: () => text };
}

/** Folders that the demo made; tsx keeps its cache and a pipe there. */
async function left(): Promise<readonly string[]> {
  return (await readdir(folder)).filter((name) => !name.startsWith("tsx-"));
}

async function until(fits: () => boolean, started: ChildProcess): Promise<void> {
  while (!fits()) {
    if (started.exitCode !== null || started.stdout === null) throw new Error("the program ended");
    await once(started.stdout, "data");
  }
}

test.each(["SIGINT", "SIGTERM"] as const)("says what to open, and ends cleanly on %s", async (signal) => {
  const { started, output } = start();
  await until(() => output().includes("Ctrl-C ends the demo"), started);
  const [, url = ""] = /Open {2}(http:\/\/127\.0\.0\.1:\d+)/.exec(output()) ?? [];
  expect((await fetch(url)).status).toBe(200);
  expect(await left()).not.toEqual([]);
  started.kill(signal);
  const [code] = (await once(started, "exit")) as [number | null];
  expect(code).toBe(0);
  expect(await left()).toEqual([]);
  expect(output()).toContain("Stopping the demo");
});

test("ends cleanly when it is stopped while it still starts", async () => {
  const { started, output } = start();
  await until(() => output().includes("Starting a GitHub"), started);
  started.kill("SIGINT");
  const [code] = (await once(started, "exit")) as [number | null];
  expect(code).toBe(0);
  expect(await left()).toEqual([]);
});

test("says how to install git when there is none", async () => {
  const { started, output } = start({ PATH: folder });
  const [code] = (await once(started, "exit")) as [number | null];
  expect(code).toBe(1);
  expect(output()).toContain("needs git");
  expect(output()).toContain("apt-get install -y git");
});
