/**
 * Runs git for the sandbox: `node git-runner.js <socket>`. To fork a process that is as large as a test run takes longer
 * than most git commands; to fork this one does not.
 *
 * A connection is one run. It begins with a line of JSON (`args`, `cwd`, `env`, `streams`), and everything after that is
 * git's input. The answer is git's output as it comes if `streams`, or else JSON once git has ended.
 */
import { spawn } from "node:child_process";
import { createServer } from "node:net";

/** Long enough for a slow machine, and shorter than a test's timeout, so that the error names the command. */
const TIME_LIMIT_MS = 15_000;
const NEWLINE = 10;

const [, , path] = process.argv;

/** @param {import("node:net").Socket} socket */
function serve(socket) {
  socket.on("error", () => socket.destroy());
  let head = Buffer.alloc(0);
  socket.on("data", function readHead(chunk) {
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf(NEWLINE);
    if (end < 0) return;
    socket.off("data", readHead).pause();
    const rest = head.subarray(end + 1);
    if (rest.length > 0) socket.unshift(rest);
    run(JSON.parse(head.toString("utf8", 0, end)), socket);
  });
}

/**
 * @param {{ args: string[], cwd: string, env: NodeJS.ProcessEnv, streams: boolean }} request
 * @param {import("node:net").Socket} socket
 */
function run({ args, cwd, env, streams }, socket) {
  const child = spawn("git", args, { cwd, env, timeout: TIME_LIMIT_MS });
  socket.once("close", () => child.kill());
  // git may end before it has read all its input.
  child.stdin.on("error", () => undefined);
  socket.pipe(child.stdin);
  if (streams) {
    child.once("error", () => socket.destroy());
    child.stderr.resume();
    child.stdout.pipe(socket);
    return;
  }
  /** @type {Buffer[]} */
  const stdout = [];
  /** @type {Buffer[]} */
  const stderr = [];
  child.stdout.on("data", (chunk) => stdout.push(chunk));
  child.stderr.on("data", (chunk) => stderr.push(chunk));
  child.once("error", (error) => stderr.push(Buffer.from(error.message)));
  child.once("close", (code) => {
    const texts = { stdout: Buffer.concat(stdout).toString(), stderr: Buffer.concat(stderr).toString() };
    socket.end(JSON.stringify({ status: code ?? -1, ...texts }));
  });
}

// The parent holds the other end, whichever way it goes.
process.stdin.once("end", () => process.exit()).resume();
createServer({ allowHalfOpen: true }, serve).listen(path, () => process.stdout.write("ready\n"));
