import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { createLogger } from "../src/observe/log.js";
import { startDemo, type Demo } from "./demo.js";

const PORT = 4242;

const run = promisify(execFile);

/** The sandbox merges with `git merge-tree --write-tree`, which git 2.38 introduced. */
const OLDEST: readonly [number, number] = [2, 38];

const INSTALL = [
  "Install it, then run npm run demo again:",
  "  Debian, Ubuntu   sudo apt-get update && sudo apt-get install -y git",
  "  macOS            xcode-select --install   (or: brew install git)",
  "  others           https://git-scm.com/downloads",
];

async function main(): Promise<void> {
  const problem = await gitProblem();
  if (problem !== undefined) {
    for (const line of problem) console.error(line);
    process.exitCode = 1;
    return;
  }
  const log = await createLogger("info", { terminal: process.stdout.isTTY });
  const starting = startDemo({ port: PORT, log });
  stopOnSignals(starting);
  console.log("Starting a GitHub, a GitLab, an Argo CD and svc in this process …");
  greet(await starting);
}

function greet({ url, gotPort }: Demo): void {
  if (!gotPort) console.log(`\nPort ${PORT} is in use, so the page uses another one.`);
  console.log(`\n  Open  ${url}\n`);
  console.log("It shows a pull request on GitHub and a merge request on GitLab, each with a plan by svc.");
  console.log("Nothing leaves this machine. Ctrl-C ends the demo. The log of svc follows.\n");
}

/** Stops the demo on a signal, even while it is still starting. */
function stopOnSignals(starting: Promise<Demo>): void {
  let stopping = false;
  const stop = () => {
    if (stopping) return;
    stopping = true;
    console.log("\nStopping the demo …");
    starting
      .then((demo) => demo.stop())
      .then(
        () => process.exit(0),
        (error: unknown) => {
          console.error("Stopping the demo failed:", error);
          process.exit(1);
        },
      );
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, stop);
}

/** Lines that explain what is wrong with this machine's git and how to fix it; undefined if git is usable. */
async function gitProblem(): Promise<readonly string[] | undefined> {
  let answer: string;
  try {
    answer = (await run("git", ["--version"], { timeout: 10_000 })).stdout;
  } catch {
    return ["The demo needs git, which is not on the PATH.", ...INSTALL];
  }
  const [, major = "0", minor = "0"] = /(\d+)\.(\d+)/.exec(answer) ?? [];
  const isOld = Number(major) < OLDEST[0] || (Number(major) === OLDEST[0] && Number(minor) < OLDEST[1]);
  return isOld
    ? [`The demo needs git ${OLDEST.join(".")} or newer; this machine has: ${answer.trim()}`, ...INSTALL]
    : undefined;
}

await main().catch((error: unknown) => {
  console.error("The demo could not start:", error instanceof Error ? error.message : error);
  console.error("Everything was stopped again. The log above shows what svc was doing.");
  process.exit(1);
});
