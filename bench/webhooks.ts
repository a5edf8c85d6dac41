/**
 * Measures how many webhooks the built service takes, next to a minimal receiver, how soon it answers them, and how
 * fast it works off its queue: `tsx bench/webhooks.ts [--seconds 60] [--burst 10000] [--rounds 7]`.
 */
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { cpus, loadavg } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { Redis } from "ioredis";
import { appKeys } from "../sandbox/world.js";
import { HOST_IDS, HOST_TITLES, type HostId, KEYS, WEBHOOK_PATHS } from "../src/names.js";
import { RedisServer } from "../test/redis-server.js";
import { cpuSecondsOf, startBuiltService, startProgram, type Program } from "./built-service.js";
import { quantile, sendAll, sendAtRate } from "./send-events.js";
import { signedEvents, SIGNING_TOKEN, WEBHOOK_SECRET } from "./signed-events.js";

const CHANGE_REQUESTS = 200;
const RATE = 500;

const { values: options } = parseArgs({
  options: {
    seconds: { type: "string", default: "60" },
    burst: { type: "string", default: "10000" },
    rounds: { type: "string", default: "7" },
    build: { type: "string", default: "dist" },
  },
});
const SECONDS = Number(options.seconds);
const BURST = Number(options.burst);
const ROUNDS = Number(options.rounds);

/** A code host that never answers, so that accepted events stay in the queue. */
async function silentHost() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => server.close() };
}

function startService(redis: RedisServer, host: string, allowed: string): Promise<Program> {
  return startBuiltService(
    {
      server: { host: "127.0.0.1", port: 0, shutdown_grace: "1s" },
      kvstore: { address: redis.address },
      deployer: { server_url: host, token: "bench" },
      hosta: {
        app_id: 1,
        private_key: appKeys().privateKey,
        webhook_secret: WEBHOOK_SECRET,
        api_url: host,
        web_url: host,
      },
      hostb: { url: host, token: "bench", webhook_secret: WEBHOOK_SECRET, signing_token: SIGNING_TOKEN },
      defaults: { allowed_repos: [allowed] },
    },
    options.build,
  );
}

/** The result of a burst that keeps a receiver busy. */
interface Throughput {
  readonly perSecond: number;
  /** CPU microseconds per event. */
  readonly cpuMicros: number;
}

async function saturated({ child: { pid = 0 } }: Program, url: string, host: HostId): Promise<Throughput> {
  const events = signedEvents(host, BURST, CHANGE_REQUESTS);
  const before = await cpuSecondsOf(pid);
  const { seconds } = await sendAll(url, events);
  const cpuSeconds = (await cpuSecondsOf(pid)) - before;
  return { perSecond: events.length / seconds, cpuMicros: (cpuSeconds * 1e6) / events.length };
}

function median(values: readonly number[]): number {
  return quantile(
    [...values].sort((left, right) => left - right),
    0.5,
  );
}

/** Measures the bare route and the service in turns, so that both see the same machine. The first round warms up. */
async function compare(bare: Program, service: Program, host: HostId, redis: Redis): Promise<void> {
  const rounds: { readonly bare: Throughput; readonly service: Throughput }[] = [];
  for (let round = 0; round <= ROUNDS; round += 1) {
    const one = await saturated(bare, bare.url, host);
    const other = await saturated(service, service.url + WEBHOOK_PATHS[host], host);
    rounds.push({ bare: one, service: other });
    // All rounds together would leave unrealistically many events for each change request.
    await redis.flushall();
  }
  const of = (one: "bare" | "service", what: keyof Throughput) =>
    median(rounds.slice(1).map((round) => round[one][what]));
  const row = (name: string, one: "bare" | "service") =>
    print(`| ${name} | ${of(one, "perSecond").toFixed(0)} events/s | ${of(one, "cpuMicros").toFixed(0)} µs |`);
  const title = HOST_TITLES[host];
  row(`${title}: bare Express route, HMAC and one Redis write`, "bare");
  row(`${title}: svc, verified, translated, in the queue`, "service");
  const ratios = rounds.slice(1).map((round) => round.service.perSecond / round.bare.perSecond);
  const cpu = of("bare", "cpuMicros") / of("service", "cpuMicros");
  print(`| ${title}: ratio | ${median(ratios).toFixed(2)} | ${cpu.toFixed(2)} |`);
}

async function main(): Promise<void> {
  const server = await RedisServer.start(["--maxmemory-policy", "noeviction"]);
  const redis = new Redis({ host: "127.0.0.1", port: server.port });
  const host = await silentHost();
  print(`Webhooks, sent by another process (${cpus().length} cores, Node ${process.versions.node})\n`);
  print("| | | CPU per event |\n|---|--:|--:|");
  const bare = await startProgram(
    ["--import", "tsx", "bench/bare-route.ts", String(server.port), WEBHOOK_SECRET],
    /(http\S+)/,
  );
  const accepting = await startService(server, host.url, "*");
  for (const id of HOST_IDS) await compare(bare, accepting, id, redis);
  await accepting.stop();
  const bareSteady = await steady(bare.url);
  await bare.stop();
  await redis.flushall();

  // Events of repositories that are not allowed finish at once, so this measures the queue alone.
  const draining = await startService(server, host.url, "nobody/nothing");
  const url = draining.url + WEBHOOK_PATHS.hosta;
  await drained(url, redis);
  const drainSeconds = await drained(url, redis);
  const serviceSteady = await steady(url);
  await draining.stop();
  host.close();
  redis.disconnect();
  await server.stop();
  const atRate = `at ${RATE}/s for ${SECONDS} s: p50, p99, highest; time the hypervisor took`;
  print(`| bare Express route, ${atRate} | ${bareSteady} | |`);
  print(`| svc, the queue worked off meanwhile, ${atRate} | ${serviceSteady} | |`);
  print(`| accepted and worked off | ${(BURST / drainSeconds).toFixed(0)} events/s | |`);
  print(`\nLoad of the machine in the last minute: ${loadavg()[0]?.toFixed(1) ?? "unknown"}`);
}

/** The result of events at a fixed rate. */
async function steady(url: string): Promise<string> {
  const events = signedEvents("hosta", RATE * SECONDS, CHANGE_REQUESTS);
  const before = await processorTimes();
  const { latencies } = await sendAtRate(url, events, RATE);
  const after = await processorTimes();
  const stolen = (after.stolen - before.stolen) / (after.all - before.all);
  const parts = [0.5, 0.99, 1].map((part) => `${quantile(latencies, part).toFixed(1)} ms`);
  return `${parts.join(", ")}; ${(100 * stolen).toFixed(1)} %`;
}

/** CPU time since boot, in hundredths of a second. proc_stat(5) */
async function processorTimes(): Promise<{ readonly all: number; readonly stolen: number }> {
  const [line = ""] = (await readFile("/proc/stat", "utf8")).split("\n");
  // user, nice, system, idle, iowait, irq, softirq, steal; user and nice include guests.
  const times = line.trim().split(/\s+/).slice(1, 9).map(Number);
  return { all: times.reduce((sum, time) => sum + time, 0), stolen: times[7] ?? 0 };
}

/** Seconds until a burst is accepted and worked off. */
async function drained(url: string, redis: Redis): Promise<number> {
  const events = signedEvents("hosta", BURST, CHANGE_REQUESTS);
  const started = performance.now();
  await sendAll(url, events);
  while ((await redis.zcard(`${KEYS.queue}:lanes`)) > 0) await delay(20);
  return (performance.now() - started) / 1000;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

await main();
