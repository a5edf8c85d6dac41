import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { cpus } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { Redis } from "ioredis";
import { appKeys } from "../sandbox/world.js";
import { QUEUE_KEY_PREFIX } from "../src/names.js";
import { RedisServer } from "../test/redis-server.js";
import { startBuiltService, startProgram, type Program } from "./built-service.js";
import { quantile, sendAll, sendAtRate } from "./send-events.js";
import { commentEvents } from "./signed-events.js";

const SECRET = "bench-webhook-secret";
const WARM_UP = 2_000;
const BURST = 10_000;
const PULL_REQUESTS = 200;
const RATE = 500;
const RATE_SECONDS = 60;
const ROUNDS = 3;

/** A code host that takes connections and never answers: what is accepted stays in the queue. */
async function silentHost() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => server.close() };
}

function startService(redis: RedisServer, host: string, allowed: string): Promise<Program> {
  return startBuiltService({
    server: { host: "127.0.0.1", port: 0, log_level: "warn", shutdown_grace: "1s" },
    kvstore: { address: redis.address },
    deployer: { server_url: host, token: "bench" },
    hosta: { app_id: 1, private_key: appKeys().privateKey, webhook_secret: SECRET, api_url: host, web_url: host },
    defaults: { allowed_repos: [allowed] },
  });
}

/** Events per second that are accepted when they come as fast as they are answered; the best of some bursts. */
async function saturated(url: string): Promise<number> {
  await sendAll(url, commentEvents(WARM_UP, SECRET, PULL_REQUESTS));
  const rates: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    rates.push(BURST / (await sendAll(url, commentEvents(BURST, SECRET, PULL_REQUESTS))).seconds);
  }
  return Math.max(...rates);
}

async function main(): Promise<void> {
  const redis = await RedisServer.start(["--maxmemory-policy", "noeviction"]);
  const host = await silentHost();
  console.log(`Webhooks, sent by another process (${cpus().length} cores, Node ${process.versions.node})\n`);

  const bare = await startProgram(["--import", "tsx", "bench/bare-route.ts", String(redis.port), SECRET], /(http\S+)/);
  const bareRate = await saturated(bare.url);
  await bare.stop();

  const accepting = await startService(redis, host.url, "*");
  const rate = await saturated(`${accepting.url}/webhook/hosta`);
  await accepting.stop();
  await redis.restart();

  // Events of repositories that are not allowed end at once: what is measured is the queue.
  const draining = await startService(redis, host.url, "nobody/nothing");
  const url = `${draining.url}/webhook/hosta`;
  const drainSeconds = await drained(url, redis);
  const steady = await sendAtRate(url, commentEvents(RATE * RATE_SECONDS, SECRET, PULL_REQUESTS), RATE);
  await draining.stop();
  host.close();
  await redis.stop();

  console.log("| | |\n|---|--:|");
  console.log(`| bare Express route: HMAC and one Redis write | ${bareRate.toFixed(0)} events/s |`);
  console.log(`| svc: verified, translated, in the queue | ${rate.toFixed(0)} events/s |`);
  console.log(`| ratio | ${(rate / bareRate).toFixed(2)} |`);
  console.log(
    `| accepted at ${RATE}/s for ${RATE_SECONDS} s: p50 | ${quantile(steady.latencies, 0.5).toFixed(1)} ms |`,
  );
  console.log(`| p99 | ${quantile(steady.latencies, 0.99).toFixed(1)} ms |`);
  console.log(`| highest | ${quantile(steady.latencies, 1).toFixed(1)} ms |`);
  console.log(`| queue accepted and drained at once | ${(BURST / drainSeconds).toFixed(0)} events/s |`);
}

/** Seconds until a burst was accepted and worked off. */
async function drained(url: string, { port }: RedisServer): Promise<number> {
  const redis = new Redis({ host: "127.0.0.1", port });
  await sendAll(url, commentEvents(WARM_UP, SECRET, PULL_REQUESTS));
  const empty = async () => {
    while ((await redis.zcard(`${QUEUE_KEY_PREFIX}:lanes`)) > 0) await delay(20);
  };
  await empty();
  const started = performance.now();
  await sendAll(url, commentEvents(BURST, SECRET, PULL_REQUESTS));
  await empty();
  const seconds = (performance.now() - started) / 1000;
  redis.disconnect();
  return seconds;
}

await main();
