import { expect, test } from "@jest/globals";
import { stringify } from "yaml";
import { DeployerFailure } from "../../src/core/model/errors.js";
import type { SyncOutcome } from "../../src/core/model/result.js";
import type { SyncRequest } from "../../src/core/ports/deployer.js";
import { hidingSecrets } from "../../src/run/around/hide-secrets.js";
import { CommandWorld, config, spec, WEB } from "../core/commands/command-world.js";
import { noDelay } from "../in-memory/delay.js";
import { MemoryDeployer } from "../in-memory/memory-deployer.js";

const SECRET = stringify({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: "x" },
  stringData: { a: "hunter2-in-git" },
});
const MESSAGE = "cannot use hunter2-in-git of token-1";

/** An Argo CD that reports a message and fails with it. */
class Talkative extends MemoryDeployer {
  override sync({ onProgress }: SyncRequest): Promise<SyncOutcome> {
    onProgress?.({ done: 0, total: 1, message: "waiting for healthy state of apps/Deployment/web" });
    onProgress?.({ done: 1, total: 1, message: MESSAGE });
    const resources = [{ title: "Secret x", status: "", message: MESSAGE }];
    return Promise.resolve({ kind: "failed", message: MESSAGE, resources });
  }

  override findApplication(): Promise<never> {
    const cause = new Error(MESSAGE, { cause: new Error(MESSAGE) });
    return Promise.reject(new DeployerFailure("refused", "no: permission denied", { cause }));
  }
}

async function setUp() {
  const world = new CommandWorld();
  const deployer = new Talkative(world.repositories, noDelay);
  deployer.add(WEB, spec(WEB));
  const { snapshot, change, log } = await world.context(
    world.open({ ...config(WEB, "2"), "apps/web/secret.yaml": SECRET }),
  );
  const live = await world.deployer.findApplication(WEB);
  if (live === undefined) throw new Error("web is missing");
  const parts = { snapshot, change, log, redact: ["token-\\d"] };
  const request = { application: live, at: [], dryRun: false, prune: false, runId: "run", change };
  return { world, deployer, parts, request };
}

test("progress leaves a message out until the repository was searched for what it may quote", async () => {
  const { deployer, parts, request } = await setUp();
  const seen: string[] = [];
  const hiding = hidingSecrets(deployer, parts);
  const sync = () => hiding.sync({ ...request, onProgress: ({ message }) => seen.push(message) });
  const outcome = await sync();
  expect(seen).toEqual(["waiting for healthy state of apps/Deployment/web", ""]);
  await sync();
  expect(seen.at(-1)).toBe("cannot use (hidden) of (redacted)");
  expect(outcome).toMatchObject({
    message: "cannot use (hidden) of (redacted)",
    resources: [{ message: "cannot use (hidden) of (redacted)" }],
  });
});

test("a failure keeps its reason and loses the values in its causes, which the log has as well", async () => {
  const { deployer, parts } = await setUp();
  const failure = await hidingSecrets(deployer, parts)
    .findApplication(WEB)
    .catch((error: unknown) => error);
  expect(failure).toMatchObject({
    name: "DeployerFailure",
    reason: "refused",
    message: "no: permission denied",
    cause: {
      message: "cannot use (hidden) of (redacted)",
      cause: { message: "cannot use (hidden) of (redacted)" },
    },
  });
});

test("if the repository cannot be searched, messages are left out", async () => {
  const { deployer, parts, request } = await setUp();
  const snapshot = { ...parts.snapshot, read: () => Promise.reject(new Error("no")) };
  const outcome = await hidingSecrets(deployer, { ...parts, snapshot }).sync(request);
  expect(outcome.message).toMatch(/^Argo CD's message is left out/);
});

test("a broken template with long lines is read in no time", async () => {
  const { world, parts, request, deployer } = await setUp();
  const blanks = " ".repeat(4000);
  const lines = [`  a: ${blanks}b\u2028${blanks}!`, '  b: "cannot use"  '];
  const template = ["{{ if }}", "kind: Secret", "stringData:", ...lines].join("\n");
  const { snapshot, change } = await world.context(world.open({ ...config(WEB, "3"), "apps/web/t.yaml": template }));
  const before = process.cpuUsage();
  const outcome = await hidingSecrets(deployer, { ...parts, snapshot, change }).sync(request);
  expect(outcome.message).toBe("(hidden) hunter2-in-git of (redacted)");
  expect(process.cpuUsage(before).user / 1e6).toBeLessThan(5); // seconds of our own, however busy the machine is
});
