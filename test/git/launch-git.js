/**
 * Starts git for tests: the program of `git-launcher.ts`. It passes output on, and ends together with the process that
 * runs the tests.
 */
import { spawn } from "node:child_process";

/** @type {Map<number, import("node:child_process").ChildProcessWithoutNullStreams>} */
const runs = new Map();

process.on("message", (/** @type {import("./git-launcher.js").Ask} */ ask) => {
  switch (ask.kind) {
    case "start":
      return start(ask);
    case "write":
      return runs.get(ask.run)?.stdin.write(ask.text);
    case "end":
      return runs.get(ask.run)?.stdin.end();
    case "signal":
      return signalGroup(runs.get(ask.run), ask.signal);
  }
});

process.once("disconnect", () => {
  for (const child of runs.values()) signalGroup(child, "SIGKILL");
  process.exit();
});

/** @param {Extract<import("./git-launcher.js").Ask, { kind: "start" }>} ask */
function start({ run, args, environment }) {
  const child = spawn("git", args, { env: environment, detached: true });
  runs.set(run, child);
  for (const kind of ["stdout", "stderr"]) {
    const stream = child[kind];
    stream.on("data", (chunk) => {
      // One chunk at a time, so that output does not pile up here.
      stream.pause();
      process.send({ kind, run, chunk }, undefined, undefined, () => stream.resume());
    });
  }
  child.stdin.on("error", () => undefined);
  child.once("error", ({ message }) => process.send({ kind: "failed", run, message }));
  child.once("close", (status) => {
    runs.delete(run);
    process.send({ kind: "closed", run, status });
  });
}

function signalGroup(child, signal) {
  if (child?.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // The group has ended already.
  }
}
