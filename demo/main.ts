import { createLogger } from "../src/observe/log.js";
import { startDemo, type Demo } from "./demo.js";
import { gitProblem } from "./find-git.js";

const PORT = 4242;

async function main(): Promise<void> {
  const problem = await gitProblem();
  if (problem !== undefined) {
    for (const line of problem) console.error(line);
    process.exitCode = 1;
    return;
  }
  const log = createLogger("info", { terminal: process.stdout.isTTY });
  const starting = startDemo({ port: PORT, log });
  stopOnSignals(starting);
  console.log("Starting a GitHub, a GitLab and an Argo CD in miniature, and svc beside them …");
  greet(await starting);
}

function greet({ url, gotPort }: Demo): void {
  if (!gotPort) console.log(`\nPort ${PORT} is in use, so the page is on another one.`);
  console.log(`\n  Open  ${url}\n`);
  console.log("A pull request on GitHub and a merge request on GitLab wait there, each with svc's plan.");
  console.log("Nothing leaves this machine. Ctrl-C ends the demo. Below is svc's own log.\n");
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

await main().catch((error: unknown) => {
  console.error("The demo could not start:", error instanceof Error ? error.message : error);
  console.error("Nothing was left behind. If it happens again, the lines above say what svc was doing.");
  process.exit(1);
});
