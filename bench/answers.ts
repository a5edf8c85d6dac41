/**
 * Measures how soon the built service answers `/health` and webhooks while it reads hostile pull requests and plans 500
 * applications: `tsx bench/answers.ts [--applications 500] [--build dist]`.
 */
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { Agent, request } from "undici";
import type { Manifest } from "../sandbox/argocd/manifest.js";
import { GITHUB_APP } from "../sandbox/world.js";
import { hostileFiles } from "../test/attacks/hostile-files.js";
import { RedisServer } from "../test/redis-server.js";
import { memoryOf, startBuiltService } from "./built-service.js";
import { applicationNames, changedValues } from "./charts.js";
import { type OtherProcess, startOtherProcess } from "./other-process.js";
import { REPOSITORY, type Order, type Started } from "./sandbox-process.js";
import { quantile, sendAtRate } from "./send-events.js";
import { signedEvents, WEBHOOK_SECRET } from "./signed-events.js";

const RENDER_MS = 200;
const HEALTH_PER_SECOND = 50;
const WEBHOOKS_PER_SECOND = 50;
const WARM_UP_SECONDS = 5;
const QUIET_SECONDS = 10;
const HOSTILE_PULL_REQUESTS = 3;
const PLAN = HOSTILE_PULL_REQUESTS + 1;
const LARGE_OBJECTS = 40;
const LARGE_BYTES = 400_000;

const { values: options } = parseArgs({
  options: { applications: { type: "string", default: "500" }, build: { type: "string", default: "dist" } },
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
  const agent = new Agent({ connections: 32 });
  const health: Promise<number>[] = [];
  const webhooks: number[] = [];
  async function sendWebhooks(): Promise<void> {
    while (!done) {
      const events = signedEvents("hosta", WEBHOOKS_PER_SECOND, 200);
      webhooks.push(...(await sendAtRate(`${url}/webhook/hosta`, events, WEBHOOKS_PER_SECOND)).latencies);
    }
  }
  async function askHealth(): Promise<void> {
    for (let due = performance.now(); !done; due += 1000 / HEALTH_PER_SECOND) {
      await delay(Math.max(0, due - performance.now()));
      health.push(answered(`${url}/health`, agent, due));
    }
  }
  await Promise.all([sendWebhooks(), askHealth(), ended]);
  const sorted = (values: readonly number[]) => [...values].sort((left, right) => left - right);
  const measured = { health: sorted(await Promise.all(health)), webhooks: sorted(webhooks) };
  await agent.close();
  return measured;
}

async function answered(url: string, dispatcher: Agent, due: number): Promise<number> {
  const { statusCode, body } = await request(url, { dispatcher });
  await body.dump();
  if (statusCode !== 200) throw new Error(`${url} answered ${statusCode}`);
  return performance.now() - due;
}

/** ConfigMaps of which every line differs between the two sides. */
function largeObjects(side: string): readonly Manifest[] {
  return Array.from({ length: LARGE_OBJECTS }, (_, index) => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: `large-${index}` },
    data: { text: `${side} of a line that differs\n`.repeat(LARGE_BYTES / (side.length + 26)) },
  }));
}

async function main(): Promise<void> {
  const redis = await RedisServer.start(["--maxmemory-policy", "noeviction"]);
  const sandbox = startOtherProcess<Order>(new URL("sandbox-process.ts", import.meta.url));
  const started = (await sandbox.ask({
    name: "start",
    scene: { applications: APPLICATIONS, renderMs: RENDER_MS },
  })) as Started;
  const [large = ""] = APPLICATIONS;
  await sandbox.ask({
    name: "render",
    application: large,
    base: largeObjects("one side"),
    head: largeObjects("the other"),
  });
  const service = await startBuiltService(
    {
      server: { host: "127.0.0.1", port: 0, base_url: "http://svc.example.com" },
      kvstore: { address: redis.address },
      deployer: { server_url: started.argocdUrl, token: started.argocdToken },
      hosta: {
        app_id: GITHUB_APP.id,
        private_key: started.githubKey,
        webhook_secret: WEBHOOK_SECRET,
        api_url: started.githubApiUrl,
        web_url: started.githubUrl,
        commit_status: true,
      },
      // Events of other repositories, which measure the answers, end at once.
      defaults: { allowed_repos: [REPOSITORY] },
    },
    options.build,
  );
  const { url } = service;
  const pid = service.child.pid ?? 0;
  await sandbox.ask({ name: "connect", url: `${url}/webhook/hosta`, secret: WEBHOOK_SECRET });
  await answersDuring(url, delay(WARM_UP_SECONDS * 1000));
  const quiet = await answersDuring(url, delay(QUIET_SECONDS * 1000));
  const startedAt = performance.now();
  const busy = await answersDuring(url, plan(sandbox));
  const seconds = (performance.now() - startedAt) / 1000;
  const planned = await memoryOf(pid);
  print(`Answers of the service (Node ${process.versions.node})\n`);
  print("| | p50 | p99 | highest |\n|---|--:|--:|--:|");
  row("`/health`, nothing else to do", quiet.health);
  row("webhooks, nothing else to do", quiet.webhooks);
  const what = `${HOSTILE_PULL_REQUESTS} hostile pull requests and a plan of ${APPLICATIONS.length} applications`;
  row(`\`/health\`, ${what} (${seconds.toFixed(0)} s)`, busy.health);
  row(`webhooks, ${what}`, busy.webhooks);
  print(`\nMemory: ${planned.now.toFixed(0)} MiB after the plan, ${planned.highest.toFixed(0)} MiB at most`);
  for (let number = 1; number <= PLAN; number += 1) {
    print(`Status of #${number}: ${String(await sandbox.ask({ name: "status", number }))}`);
  }
  await service.stop();
  await sandbox.stop();
  await redis.stop();
}

/** Resolves once the status of every pull request says more than that it is being planned. */
async function plan(sandbox: OtherProcess<Order>): Promise<void> {
  for (let index = 1; index <= HOSTILE_PULL_REQUESTS; index += 1) {
    await sandbox.ask({ name: "open-fork", changes: hostileFiles() });
  }
  await sandbox.ask({ name: "open", number: PLAN, changes: changedValues(APPLICATIONS, 2) });
  for (let number = 1; number <= PLAN; number += 1) {
    while (/^(?:undefined|planning)$/.test(String(await sandbox.ask({ name: "status", number })))) await delay(200);
  }
}

function row(name: string, sorted: readonly number[]): void {
  const cells = [0.5, 0.99, 1].map((part) => `${quantile(sorted, part).toFixed(1)} ms`);
  print(`| ${name} | ${cells.join(" | ")} |`);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

await main();
