import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, test } from "@jest/globals";
import type { CheckOutcome } from "../../src/core/model/check.js";
import type { CheckOrder } from "../../src/core/ports/check-runner.js";
import { createCheckRunner, type ClosableCheckRunner } from "../../src/workers/check-runner.js";
import { ManualClock } from "../manual-clock.js";
import { recordingLog } from "../recording-log.js";

const limits = { owner: "tests", signal: new AbortController().signal };
const clock = new ManualClock();
const runners: ClosableCheckRunner[] = [];
const folder = mkdtempSync(join(tmpdir(), "svc-test-checks-"));

afterEach(() => {
  for (const runner of runners.splice(0)) runner.close();
  expect(readdirSync(folder)).toEqual([]);
});

afterAll(() => {
  rmSync(folder, { recursive: true });
});

function startRunner() {
  const ends: string[] = [];
  const log = recordingLog();
  const runner = createCheckRunner({ folder, clock, log, onEnd: (check, how) => ends.push(`${check} ${how}`) });
  runners.push(runner);
  return { runner, ends };
}

/** A check whose program is a text for node. */
function order(script: string, more: Partial<CheckOrder> = {}, check: Partial<CheckOrder["check"]> = {}): CheckOrder {
  return {
    check: {
      name: "policy",
      command: [process.execPath, "-e", script],
      applications: "*",
      required: true,
      timeout: 60_000,
      env: [],
      overridableBy: [],
      ...check,
    },
    application: "web",
    namespace: "shop",
    repository: "acme/deploy",
    number: 7,
    head: "---\nkind: ConfigMap\n",
    base: "---\nkind: Old\n",
    reuse: true,
    ...more,
  };
}

function run(script: string, more?: Partial<CheckOrder>, check?: Partial<CheckOrder["check"]>): Promise<CheckOutcome> {
  return startRunner().runner.run(order(script, more, check), limits);
}

/** Prints what a program finds around it, and fails so that the output is kept. */
const LOOK = `
  const fs = require("node:fs");
  const base = process.env.SVC_BASE_FILE;
  console.log(JSON.stringify({
    env: { ...process.env, SVC_BASE_FILE: undefined },
    files: fs.readdirSync("."),
    input: fs.readFileSync(0, "utf8"),
    base: fs.readFileSync(base, "utf8"),
    apart: require("node:path").dirname(base) !== process.cwd(),
  }));
  fs.writeFileSync("left-behind", "x");
  process.exit(3);
`;

test("gets the manifests, its own variables and the named ones, in an empty folder, and nothing else", async () => {
  process.env.SVC_TEST_SECRET_OF_THE_SERVER = "hunter22";
  const outcome = await run(LOOK, {}, { env: [{ name: "TOKEN", value: "t" }] });
  delete process.env.SVC_TEST_SECRET_OF_THE_SERVER;
  expect(outcome).toMatchObject({ kind: "failed", reason: "exit code 3" });
  expect(JSON.parse(outcome.kind === "passed" ? "" : outcome.output)).toEqual({
    env: { TOKEN: "t", SVC_APPLICATION: "web", SVC_REPOSITORY: "acme/deploy", SVC_NUMBER: "7", SVC_NAMESPACE: "shop" },
    files: [],
    input: "---\nkind: ConfigMap\n",
    base: "---\nkind: Old\n",
    apart: true,
  });
});

const START_ANOTHER = `
  const child = require("node:child_process").spawn("sleep", ["600"], { stdio: "inherit" });
  console.log(child.pid);
`;

describe("a program", () => {
  test("that exits with 0 passes, also if it never reads its input", async () => {
    expect(await run("process.exit(0)", { head: "x".repeat(4 * 1024 * 1024) })).toEqual({ kind: "passed" });
  });

  test("that hangs is ended", async () => {
    const outcome = await run("setInterval(() => undefined, 1000)", {}, { timeout: 200 });
    expect(outcome).toMatchObject({ kind: "broken", reason: "it was stopped after 0.2 s" });
  });

  test("that reaches a limit is ended with everything that it started", async () => {
    const outcome = await run(
      `${START_ANOTHER} (function more() { process.stdout.write("x".repeat(65536), more); })();`,
    );
    expect(outcome).toMatchObject({ kind: "broken", reason: "it printed more than 1 MiB and was stopped" });
    await untilGone(outcome);
  });

  test("that leaves others behind when it exits takes them with it", async () => {
    const outcome = await run(`${START_ANOTHER} process.exitCode = 1; child.unref();`);
    expect(outcome).toMatchObject({ kind: "failed", reason: "exit code 1" });
    await untilGone(outcome);
  });

  test("that prints without end is ended, and the beginning is kept", async () => {
    const script = `const line = "abcdefg\\n".repeat(8192); (function more() { process.stdout.write(line, more); })();`;
    const outcome = await run(script);
    expect(outcome).toMatchObject({ kind: "broken", reason: "it printed more than 1 MiB and was stopped" });
    expect(outcome.kind === "broken" && outcome.output.startsWith("abcdefg\n")).toBe(true);
    expect(outcome.kind === "broken" && outcome.output.length).toBe(16 * 1024);
  });

  test("that ends by a signal has failed", async () => {
    const outcome = await run(`process.kill(process.pid, "SIGTERM"); setInterval(() => undefined, 1000);`);
    expect(outcome).toMatchObject({ kind: "broken", reason: "it was ended by SIGTERM" });
  });

  test("that takes away its own rights to its folder leaves nothing behind", async () => {
    expect(await run(`fs.mkdirSync("a"); fs.writeFileSync("a/b", "x"); fs.chmodSync(".", 0)`)).toEqual({
      kind: "passed",
    });
  });

  test.each([
    ["is missing", { command: ["/nowhere/kubeconform"] }, "the program /nowhere/kubeconform was not found"],
    ["is missing in the PATH", { command: ["svc-no-such-program"] }, "the program svc-no-such-program was not found"],
    ["is no program", { command: [tmpdir()] }, "it could not be started (EACCES)"],
  ])("that %s has failed", async (_, check, reason) => {
    expect(await run("", {}, check)).toEqual({ kind: "broken", reason, output: "" });
  });

  test("is not started for a name that no variable can hold", async () => {
    expect(await run("process.exit(0)", { namespace: "a\0b" })).toMatchObject({ kind: "broken" });
  });
});

test("is found by its name in svc's own PATH, which it does not get", async () => {
  expect(
    await run("", {}, { command: ["node", "-e", "process.exit(process.env.PATH === undefined ? 0 : 1)"] }),
  ).toEqual({ kind: "passed" });
});

test("equal orders run once, until an hour has passed or somebody asks afresh", async () => {
  const { runner, ends } = startRunner();
  const same = order("process.exit(1)");
  const first = await runner.run(same, limits);
  expect(await runner.run(same, limits)).toEqual(first);
  expect(ends).toEqual(["policy failed", "policy reused"]);
  await runner.run({ ...same, reuse: false }, limits);
  await runner.run({ ...same, application: "api" }, limits);
  await runner.run({ ...same, head: "---\nkind: Other\n" }, limits);
  await runner.run({ ...same, base: "" }, limits);
  await runner.run({ ...same, check: { ...same.check, env: [{ name: "A", value: "1" }] } }, limits);
  expect(ends.slice(2)).toEqual(Array(5).fill("policy failed"));
  clock.advance(60 * 60_000);
  await runner.run(same, limits);
  expect(ends.at(-1)).toBe("policy failed");
});

test("what could not be run to its end is run again", async () => {
  const { runner, ends } = startRunner();
  const missing = order("", {}, { command: ["/nowhere"] });
  await runner.run(missing, limits);
  await runner.run(missing, limits);
  expect(ends).toEqual(["policy broken", "policy broken"]);
});

test("an abort ends the program, and the checks that wait do not start", async () => {
  const { runner, ends } = startRunner();
  const abort = new AbortController();
  const signal = abort.signal;
  const hanging = `require("node:fs").writeFileSync(process.env.MARK, ""); setInterval(() => undefined, 1000)`;
  const mark = join(folder, "mark");
  const all = Array.from({ length: 20 }, (_, number) =>
    runner.run(order(hanging, { number }, { env: [{ name: "MARK", value: mark }] }), { owner: "tests", signal }),
  );
  while (!existsSync(mark)) await new Promise(setImmediate);
  abort.abort(new Error("superseded"));
  const settled = await Promise.allSettled(all);
  expect(settled.every((one) => one.status === "rejected" && String(one.reason) === "Error: superseded")).toBe(true);
  expect(ends).toEqual([]);
  rmSync(mark);
});

/** The program that printed its id first runs no more; nobody may have collected it yet. */
async function untilGone(outcome: CheckOutcome): Promise<void> {
  const pid = Number(outcome.kind === "passed" ? Number.NaN : outcome.output.split("\n")[0]);
  expect(pid).toBeGreaterThan(1);
  const runs = () => existsSync(`/proc/${pid}/stat`) && !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  while (runs()) await new Promise(setImmediate);
}
