/**
 * Measures how soon the next in line knows that a lock is free, while many open pull requests show the same application: from the
 * comment that releases it to the commit status of whoever has waited longest: `tsx bench/turns.ts [--open 1000] [--releases 50]
 * [--build dist]`.
 */
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { Redis } from "ioredis";
import { KEYS } from "../src/names.js";
import { RedisServer } from "../test/redis-server.js";
import { cpuSecondsOf } from "./built-service.js";
import { applicationNames, changedValues } from "./charts.js";
import { startMeasured, statusOf } from "./large-content.js";
import type { OtherProcess } from "./other-process.js";
import type { Order } from "./sandbox-process.js";
import { quantile } from "./send-events.js";

const { values: options } = parseArgs({
  options: {
    open: { type: "string", default: "1000" },
    releases: { type: "string", default: "50" },
    build: { type: "string", default: "dist" },
  },
});
const OPEN = Number(options.open);
const RELEASES = Number(options.releases);
const APPLICATIONS = applicationNames(1);
const PACK_EVERY = 500;
/** No more pull requests are opened while this many wait for their plan. */
const AT_ONCE = 50;
const LOOK_EVERY_MS = 10;
const LONGEST_MS = 60_000;
/** More comments than a minute's limit are not written in this time. */
const FREE_EVERY_MS = 50;
/** To find their keys, Redis searches the whole database, which would slow down what is measured. */
const LOOK_FOR_LIMITS_MS = 5000;

async function main(): Promise<void> {
  const redis = await RedisServer.start(["--maxmemory-policy", "noeviction"]);
  const sections = { kvstore: { address: redis.address } };
  const service = await startMeasured({ build: options.build, sections, applications: APPLICATIONS, large: false });
  const { sandbox, pid } = service;
  const unlimited = withoutLimits(redis.port);
  const openedAt = performance.now();
  for (let number = 1; number <= OPEN; number += 1) {
    await sandbox.ask({ name: "open", number, changes: changedValues(APPLICATIONS, number + 1) });
    // In the order of their numbers, as they are to stand in line.
    if (number <= RELEASES + 1) await statusOf(sandbox, number);
    else if (number > AT_ONCE) await statusOf(sandbox, number - AT_ONCE);
    if (number % PACK_EVERY === 0) await sandbox.ask({ name: "pack" });
  }
  await statusOf(sandbox, OPEN);
  const opened = (performance.now() - openedAt) / 1000;
  process.stderr.write(`${OPEN} pull requests planned in ${opened.toFixed(0)} s\n`);
  await untilQuiet(redis.port);
  await sandbox.ask({ name: "host-calls" });
  const [startedAt, cpu] = [performance.now(), await cpuSecondsOf(pid)];
  const told: number[] = [];
  for (let holder = 1; holder <= RELEASES; holder += 1) told.push(await release(holder, sandbox));
  const seconds = (performance.now() - startedAt) / 1000;
  const calls = Number(await sandbox.ask({ name: "host-calls" })) / seconds;
  const used = ((await cpuSecondsOf(pid)) - cpu) / seconds;
  told.sort((left, right) => left - right);
  const times = [0.5, 0.99, 1].map((part) => `${(quantile(told, part) / 1000).toFixed(2)} s`);
  const more = [calls.toFixed(0), `${(used * 100).toFixed(0)} %`, `${opened.toFixed(0)} s`];
  print(`From a released lock to the next in line's status (Node ${process.versions.node})\n`);
  print("| open pull requests | releases | p50 | p99 | highest | calls to the host per second | CPU | opened in |");
  print("|---|--:|--:|--:|--:|--:|--:|--:|");
  print(`| ${[OPEN, RELEASES, ...times, ...more].join(" | ")} |`);
  await unlimited.end();
  await service.stop();
  await redis.stop();
}

/** Waits for what follows from the plans, such as the events of their comments. */
async function untilQuiet(port: number): Promise<void> {
  const client = new Redis(port, "127.0.0.1");
  while ((await client.zcard(`${KEYS.queue}:lanes`)) > 0) await delay(LOOK_EVERY_MS);
  await client.quit();
}

/** Milliseconds from the comment until the next one's status says that it has the lock. */
async function release(holder: number, sandbox: OtherProcess<Order>): Promise<number> {
  const startedAt = performance.now();
  await sandbox.ask({ name: "comment", number: holder, body: "svc unlock" });
  for (;;) {
    const status = String(await sandbox.ask({ name: "status", number: holder + 1 }));
    const taken = performance.now() - startedAt;
    if (status.endsWith("awaits svc sync")) return taken;
    if (taken > LONGEST_MS) {
      process.stderr.write(`#${holder + 1} has not got the lock: ${status}\n`);
      return taken;
    }
    await delay(LOOK_EVERY_MS);
  }
}

/** Takes the host's limit of comments away, which would hold the pull requests back for hours. */
function withoutLimits(port: number): { readonly end: () => Promise<void> } {
  const client = new Redis(port, "127.0.0.1");
  let keys: readonly string[] = [];
  const look = setInterval(() => {
    void client.keys(`${KEYS.content}*`).then((found) => (keys = found));
  }, LOOK_FOR_LIMITS_MS);
  const free = setInterval(() => {
    if (keys.length > 0) void client.del(...keys);
  }, FREE_EVERY_MS);
  return {
    async end() {
      clearInterval(look);
      clearInterval(free);
      await client.quit();
    },
  };
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

await main();
