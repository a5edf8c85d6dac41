import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import type { RedisServer } from "../redis-server.js";
import type { Blows } from "./long-way.js";
import type { Random } from "./random.js";
import type { Lines, Replica } from "./replica.js";
import type { Ambush } from "./tcp-proxy.js";
import type { Trouble } from "./trouble.js";

/** ioredis connects again within a second. */
const RECONNECTED_AFTER_MS = 2_000;
/** A slower Redis counts as away. */
const SLOW_REDIS_MS = 100;

/** Few enough that work gets done between them, also where everything is slow. */
const LEAST_BLOWS = 2;
const MOST_BLOWS = 6;

/** Calls that are worth being cut off in, with their weight: what they do is done once, or looked for afterwards. */
const AMBUSHES: readonly (readonly [number, keyof Lines, RegExp])[] = [
  [3, "argocd", /^POST \S*\/sync\b/],
  [1, "argocd", /^PUT \S*\/spec\b/],
  [1, "argocd", /^GET \S*\/applications\/[^/ ]+\?/],
  [1, "argocd", /^(?:POST|DELETE) \S*\/applications(?:\?| |\/[^/ ]+\?)/],
  [3, "github", /^POST \S*\/comments\b/],
  [1, "github", /^PATCH \S*\/comments\b/],
  [1, "github", /^PUT \S*\/merge\b/],
  [1, "github", /^POST \S*\/statuses\b/],
  [3, "gitlab", /^POST \S*\/notes\b/],
  [1, "gitlab", /^PUT \S*\/notes\b/],
  [1, "gitlab", /^PUT \S*\/merge\b/],
  [1, "redis", /svc:\{queue\}:events:/],
  [1, "redis", /svc:\{queue\}:journal:/],
  [1, "redis", /svc:lock:/],
];
/** How many lie in wait at a time, and how many spring in a round. */
const AMBUSHES_AT_ONCE = 3;
const MOST_AMBUSHES = 6;

export interface Land {
  readonly random: Random;
  readonly replicas: readonly Replica[];
  readonly redis: RedisServer;
  readonly trouble: Trouble;
  /** Folder of the build that a killed replica starts with again. */
  readonly buildOf: (replica: Replica) => string;
  readonly note: (what: string) => void;
}

/** How often what happened. */
export interface Damage {
  kills: number;
  cuts: number;
  restarts: number;
}

/** Kills, cuts, delays and restarts until the signal says that it is enough; then everything is whole again. */
export async function storm(land: Land, damage: Damage, signal: AbortSignal): Promise<void> {
  const going = new Set<Promise<void>>();
  const begin: Begin = (act) => {
    going.add(act);
    // One that broke stays, and breaks the round in the end.
    act.then(
      () => going.delete(act),
      () => undefined,
    );
  };
  const calm = once(signal, "abort").then(() => true);
  const { random, replicas } = land;
  let sprung = 0;
  const lay = (): void => {
    layAmbush(land, damage, begin, () => {
      sprung += 1;
      if (sprung < MOST_AMBUSHES) begin(laterUnless(signal, random.between(300, 1_500), lay));
    });
  };
  for (let index = 0; index < AMBUSHES_AT_ONCE; index += 1) lay();
  let left = random.between(LEAST_BLOWS, MOST_BLOWS);
  while (left > 0 && !(await Promise.race([calm, delay(random.between(500, 2_000), false)]))) {
    left -= 1;
    const what = random.next();
    if (what < 0.25) begin(killReplica(random.pick(replicas), land, damage));
    else if (what < 0.4 && damage.restarts < 1) begin(restartRedis(land, damage));
    else begin(disturbLine(land, damage));
  }
  await calm;
  for (const line of replicas.flatMap(({ lines }) => Object.values(lines))) line.ambushes.clear();
  // One that broke must not let the others go on behind the round.
  await Promise.allSettled(going);
  await Promise.all(going);
}

type Begin = (act: Promise<void>) => void;

async function laterUnless(signal: AbortSignal, ms: number, act: () => void): Promise<void> {
  await delay(ms);
  if (!signal.aborted) act();
}

/** Whichever replica makes such a call next is hit at that moment: before the call arrives, or a little later. */
function layAmbush(land: Land, damage: Damage, begin: Begin, onSprung: () => void): void {
  const { random } = land;
  const [, peer, on] = random.pick(AMBUSHES.flatMap((one) => Array.from({ length: one[0] }, () => one)));
  const kills = random.chance(0.6);
  const loses = random.chance(0.3);
  const afterMs = loses ? 0 : random.pick([0, 20, 60, 150]);
  lieInWait(land, peer, on, (replica, piece) => {
    land.note(`ambush on ${replica.name} - ${peer} ${loses ? "before" : `${afterMs} ms after`} ${titleOf(piece)}`);
    if (kills) begin(killReplica(replica, land, damage, afterMs));
    else begin(cutLine(replica, peer, land, damage, afterMs));
    onSprung();
    return !loses;
  });
}

/** Waits on the lines of all replicas for one such piece. @returns Gives up. */
function lieInWait(
  { replicas }: Pick<Land, "replicas">,
  peer: keyof Lines,
  on: RegExp,
  act: (replica: Replica, piece: string) => boolean,
): () => void {
  const laid = replicas.map((replica) => {
    const ambush: Ambush = {
      on,
      act(piece) {
        giveUp();
        return act(replica, piece);
      },
    };
    replica.lines[peer].ambushes.add(ambush);
    return [replica.lines[peer], ambush] as const;
  });
  const giveUp = (): void => {
    for (const [line, ambush] of laid) line.ambushes.delete(ambush);
  };
  return giveUp;
}

/** Blows at the moments that a story names. */
export function createBlows(land: Land, damage: Damage): Blows & { readonly over: () => Promise<unknown> } {
  const { random, replicas, note } = land;
  const going: Promise<void>[] = [];
  return {
    async strike(when) {
      const hit = random.chance(0.5) ? replicas : [random.pick(replicas)];
      note(`${when}: kill ${hit.map(({ name }) => name).join(", ")}`);
      await Promise.all(hit.map((replica) => killReplica(replica, land, damage)));
    },
    lieInWait(when, { peer, on, count }, until) {
      const loses = random.chance(0.4);
      const afterMs = loses ? 0 : random.pick([0, 10, 40, 100]);
      let left = random.between(0, count - 1);
      const lay = (): (() => void) =>
        lieInWait(land, peer, on, (replica, piece) => {
          left -= 1;
          if (left >= 0) {
            giveUp = lay();
            return true;
          }
          note(`${when}: ambush on ${replica.name} ${loses ? "before" : `${afterMs} ms after`} ${titleOf(piece)}`);
          going.push(killReplica(replica, land, damage, afterMs));
          return !loses;
        });
      let giveUp = lay();
      void until.then(() => giveUp());
    },
    over: () => Promise.all(going),
  };
}

/** The first line of a request; Redis has none. */
function titleOf(piece: string): string {
  return /^[A-Z]{3,7} \S+/.exec(piece)?.[0] ?? "a command";
}

async function killReplica(replica: Replica, land: Land, damage: Damage, afterMs = 0): Promise<void> {
  const { random, buildOf, note } = land;
  const pause = random.between(0, 800);
  if (afterMs > 0) await delay(afterMs);
  if (replica.url === undefined) return;
  note(`kill ${replica.name}, start again after ${pause} ms`);
  damage.kills += 1;
  await replica.kill();
  await delay(pause);
  await replica.start(buildOf(replica));
}

async function cutLine(
  replica: Replica,
  peer: keyof Lines,
  land: Land,
  damage: Damage,
  afterMs: number,
): Promise<void> {
  const ended = peer === "redis" ? land.trouble.begin() : () => undefined;
  if (afterMs > 0) await delay(afterMs);
  damage.cuts += 1;
  replica.lines[peer].cut(land.random.chance(0.5));
  ended(RECONNECTED_AFTER_MS);
}

async function restartRedis({ random, redis, trouble, note }: Land, damage: Damage): Promise<void> {
  const pause = random.between(0, 1_500);
  note(`restart Redis after ${pause} ms`);
  damage.restarts += 1;
  const ended = trouble.begin();
  await redis.kill();
  await delay(pause);
  await redis.restart();
  ended(RECONNECTED_AFTER_MS);
}

async function disturbLine({ random, replicas, trouble, note }: Land, damage: Damage): Promise<void> {
  const replica = random.pick(replicas);
  const peer = random.pick<keyof Lines>(["github", "gitlab", "argocd", "redis"]);
  const line = replica.lines[peer];
  const kind = random.pick(["cut", "reset", "slow", "closed"] as const);
  const forMs = random.between(100, 1_200);
  const delayMs = random.between(20, 400);
  note(`${kind} ${replica.name} - ${peer}${kind === "slow" ? ` by ${delayMs} ms` : ""} for ${forMs} ms`);
  damage.cuts += 1;
  const unreliable = peer === "redis" && (kind !== "slow" || delayMs >= SLOW_REDIS_MS);
  const ended = unreliable ? trouble.begin() : () => undefined;
  if (kind === "slow") line.weather = { delayMs, closed: false };
  else line.cut(kind === "reset");
  if (kind === "closed") line.weather = { delayMs: 0, closed: true };
  if (kind === "slow" || kind === "closed") await delay(forMs);
  line.clear();
  ended(RECONNECTED_AFTER_MS);
}
