import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import type { RedisServer } from "../redis-server.js";
import type { Random } from "./random.js";
import type { Lines, Replica } from "./replica.js";
import type { Trouble } from "./trouble.js";

/** ioredis connects again within a second. */
const RECONNECTED_AFTER_MS = 2_000;
/** A slower Redis counts as away. */
const SLOW_REDIS_MS = 100;

export interface Land {
  readonly random: Random;
  readonly replicas: readonly Replica[];
  readonly redis: RedisServer;
  readonly trouble: Trouble;
  /** Folder of the build that a killed replica starts with again. */
  readonly buildOf: (replica: Replica) => string;
  readonly note: (what: string) => void;
}

/** Kills, cuts, delays and restarts until the signal says that it is enough; then everything is whole again. */
export async function storm(land: Land, signal: AbortSignal): Promise<void> {
  const { random } = land;
  const going = new Set<Promise<void>>();
  let restarts = 0;
  const calm = once(signal, "abort").then(() => true);
  while (!(await Promise.race([calm, delay(random.between(400, 1_600), false)]))) {
    const what = random.next();
    let act: Promise<void>;
    if (what < 0.3) act = killReplica(land);
    else if (what < 0.4 && restarts < 1) {
      restarts += 1;
      act = restartRedis(land);
    } else act = disturbLine(land);
    going.add(act);
    void act.finally(() => going.delete(act));
  }
  await Promise.all(going);
}

async function killReplica({ random, replicas, buildOf, note }: Land): Promise<void> {
  const replica = random.pick(replicas);
  const pause = random.between(0, 800);
  if (replica.url === undefined) return;
  note(`kill ${replica.name}, start again after ${pause} ms`);
  await replica.kill();
  await delay(pause);
  await replica.start(buildOf(replica));
}

async function restartRedis({ random, redis, trouble, note }: Land): Promise<void> {
  const pause = random.between(0, 1_500);
  note(`restart Redis after ${pause} ms`);
  const ended = trouble.begin();
  await redis.kill();
  await delay(pause);
  await redis.restart();
  ended(RECONNECTED_AFTER_MS);
}

async function disturbLine({ random, replicas, trouble, note }: Land): Promise<void> {
  const replica = random.pick(replicas);
  const peer = random.pick<keyof Lines>(["github", "gitlab", "argocd", "redis"]);
  const line = replica.lines[peer];
  const kind = random.pick(["cut", "reset", "slow", "closed"] as const);
  const forMs = random.between(100, 1_200);
  const delayMs = random.between(20, 400);
  note(`${kind} ${replica.name} - ${peer}${kind === "slow" ? ` by ${delayMs} ms` : ""} for ${forMs} ms`);
  const unreliable = peer === "redis" && (kind !== "slow" || delayMs >= SLOW_REDIS_MS);
  const ended = unreliable ? trouble.begin() : () => undefined;
  if (kind === "slow") line.weather = { delayMs, closed: false };
  else line.cut(kind === "reset");
  if (kind === "closed") line.weather = { delayMs: 0, closed: true };
  if (kind === "slow" || kind === "closed") await delay(forMs);
  line.clear();
  ended(RECONNECTED_AFTER_MS);
}
