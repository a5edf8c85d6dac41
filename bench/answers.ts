/**
 * Measures how soon the built service answers `/health` and webhooks while it reads hostile pull requests and plans 500
 * applications, and `/health` while each large content is read: `tsx bench/answers.ts [--applications 500] [--build dist]
 * [--only 10,000]`, the words of the rows to measure.
 */
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { Agent, request } from "undici";
import { hostileFiles } from "../test/attacks/hostile-files.js";
import { RedisServer } from "../test/redis-server.js";
import { memoryOf } from "./built-service.js";
import { applicationNames, changedValues } from "./charts.js";
import { LARGE_CONTENT, type LargeContent, startMeasured, statusOf } from "./large-content.js";
import type { OtherProcess } from "./other-process.js";
import type { Order } from "./sandbox-process.js";
import { quantile, sendAtRate } from "./send-events.js";
import { signedEvents } from "./signed-events.js";

const RENDER_MS = 200;
const HEALTH_PER_SECOND = 50;
const WEBHOOKS_PER_SECOND = 50;
const WARM_UP_SECONDS = 5;
const QUIET_SECONDS = 10;
const HOSTILE_PULL_REQUESTS = 3;
const PLAN = HOSTILE_PULL_REQUESTS + 1;

const { values: options } = parseArgs({
  options: {
    applications: { type: "string", default: "500" },
    build: { type: "string", default: "dist" },
    only: { type: "string", default: "" },
  },
});
const APPLICATIONS = applicationNames(Number(options.applications));

interface Answers {
  /** Milliseconds from when each request was due, sorted. */
  readonly health: readonly number[];
  readonly webhooks: readonly number[];
}

/** Asks at a fixed rate until the work is done. */
async function answersDuring(url: string, work: Promise<unknown>): Promise<Answers> {
  let done = false;
  const ended = work.finally(() => (done = true));
  const webhooks: number[] = [];
  async function sendWebhooks(): Promise<void> {
    while (!done) {
      const events = signedEvents("hosta", WEBHOOKS_PER_SECOND, 200);
      webhooks.push(...(await sendAtRate(`${url}/webhook/hosta`, events, WEBHOOKS_PER_SECOND)).latencies);
    }
  }
  const [health] = await Promise.all([healthDuring(url, ended), sendWebhooks()]);
  return { health, webhooks: webhooks.sort((left, right) => left - right) };
}

async function healthDuring(url: string, work: Promise<unknown>): Promise<readonly number[]> {
  let done = false;
  const ended = work.finally(() => (done = true));
  const agent = new Agent({ connections: 32 });
  const asked: Promise<number>[] = [];
  async function askHealth(): Promise<void> {
    for (let due = performance.now(); !done; due += 1000 / HEALTH_PER_SECOND) {
      await delay(Math.max(0, due - performance.now()));
      asked.push(answered(`${url}/health`, agent, due));
    }
  }
  await Promise.all([askHealth(), ended]);
  const latencies = (await Promise.all(asked)).sort((left, right) => left - right);
  await agent.close();
  return latencies;
}

async function answered(url: string, dispatcher: Agent, due: number): Promise<number> {
  const { statusCode, body } = await request(url, { dispatcher });
  await body.dump();
  if (statusCode !== 200) throw new Error(`${url} answered ${statusCode}`);
  return performance.now() - due;
}

async function main(): Promise<void> {
  print(`Answers of the service (Node ${process.versions.node})\n`);
  print("| | p50 | p99 | highest |\n|---|--:|--:|--:|");
  const told = options.only === "" ? await whileItPlans() : [];
  for (const content of LARGE_CONTENT) {
    if (content.what.includes(options.only)) told.push(await whileItReads(content));
  }
  for (const line of told) print(line);
}

/** Rows for 500 applications and hostile pull requests beside them. */
async function whileItPlans(): Promise<string[]> {
  const redis = await RedisServer.start(["--maxmemory-policy", "noeviction"]);
  const sections = { kvstore: { address: redis.address } };
  const { build } = options;
  const service = await startMeasured({ build, sections, applications: APPLICATIONS, renderMs: RENDER_MS });
  const { url, pid, sandbox } = service;
  await answersDuring(url, delay(WARM_UP_SECONDS * 1000));
  const quiet = await answersDuring(url, delay(QUIET_SECONDS * 1000));
  const startedAt = performance.now();
  const busy = await answersDuring(url, plan(sandbox));
  const seconds = (performance.now() - startedAt) / 1000;
  const planned = await memoryOf(pid);
  row("`/health`, nothing else to do", quiet.health);
  row("webhooks, nothing else to do", quiet.webhooks);
  const what = `${HOSTILE_PULL_REQUESTS} hostile pull requests and a plan of ${APPLICATIONS.length} applications`;
  row(`\`/health\`, ${what} (${seconds.toFixed(0)} s)`, busy.health);
  row(`webhooks, ${what}`, busy.webhooks);
  const told = [`\nMemory: ${planned.now.toFixed(0)} MiB after the plan, ${planned.highest.toFixed(0)} MiB at most`];
  for (let number = 1; number <= PLAN; number += 1) {
    told.push(`Status of #${number}: ${await statusOf(sandbox, number)}`);
  }
  await service.stop();
  await redis.stop();
  return told;
}

/** Resolves once the status of every pull request says more than that it is being planned. */
async function plan(sandbox: OtherProcess<Order>): Promise<void> {
  for (let index = 1; index <= HOSTILE_PULL_REQUESTS; index += 1) {
    await sandbox.ask({ name: "open-fork", changes: hostileFiles() });
  }
  await sandbox.ask({ name: "open", number: PLAN, changes: changedValues(APPLICATIONS, 2) });
  for (let number = 1; number <= PLAN; number += 1) await statusOf(sandbox, number);
}

/** Prints a row for one large content; returns what became of the pull request. */
async function whileItReads({ what, changes }: LargeContent): Promise<string> {
  const service = await startMeasured({ build: options.build });
  const { sandbox, url, repositoryUrl } = service;
  await healthDuring(url, delay(WARM_UP_SECONDS * 1000));
  const startedAt = performance.now();
  const opened = sandbox.ask({ name: "open", number: 1, changes: changes(repositoryUrl) });
  const status = opened.then(() => statusOf(sandbox, 1));
  const health = await healthDuring(url, status);
  row(`\`/health\`, ${what} (${((performance.now() - startedAt) / 1000).toFixed(0)} s)`, health);
  await service.stop();
  return `${what}: ${await status}`;
}

function row(name: string, sorted: readonly number[]): void {
  const cells = [0.5, 0.99, 1].map((part) => `${quantile(sorted, part).toFixed(1)} ms`);
  print(`| ${name} | ${cells.join(" | ")} |`);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

await main();
