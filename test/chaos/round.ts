import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { HOST_IDS, type HostId, KEYS } from "../../src/names.js";
import { RedisServer } from "../redis-server.js";
import { Entrance } from "./entrance.js";
import { keptAfterClosing, leftBehind, violations, type Aftermath } from "./invariants.js";
import { wrongOnLongWays } from "./long-way-invariants.js";
import { type Blows, goLongWay, type LongStage } from "./long-way.js";
import { Observer, REPOSITORY } from "./observer.js";
import { APPLICATIONS, SECRET, sectionsOf, STAGED, startOutside, type Outside } from "./outside.js";
import { Random } from "./random.js";
import { Replica, type Peers } from "./replica.js";
import { roll } from "./roll.js";
import type { SpareProcesses } from "./spare-processes.js";
import { play, type Told } from "./story.js";
import { intrude, wrongForStrangers } from "./stranger.js";
import { Trouble } from "./trouble.js";
import { createBlows, storm, type Damage } from "./weather.js";

const REDIS_OPTIONS = ["--appendonly", "yes", "--appendfsync", "always", "--maxmemory-policy", "noeviction"];
/** People on each host, and on how many change requests each of them works. */
const PEOPLE = 2;
const CHANGE_REQUESTS = 2;
/** What still waits counts as stuck when no event has been handled for so long. */
const STUCK_AFTER_MS = 60_000;
const CLEAN_WITHIN_MS = 30_000;

export interface RoundOptions {
  readonly seed: number;
  /** Folder of the build that every replica starts with. */
  readonly build: string;
  /** Replicas are replaced one after the other by this build while events flow. */
  readonly nextBuild?: string;
  /** A stranger opens hostile change requests. */
  readonly hostile: boolean;
  /** On each host, somebody deploys in stages, follows a rollout and reverts. */
  readonly long: boolean;
  readonly spares: SpareProcesses;
}

export interface RoundResult {
  readonly violations: readonly string[];
  /** What happened, in order, with milliseconds since the beginning. */
  readonly notes: readonly string[];
  /** Folder with the replicas' logs; kept after a bad round. */
  readonly folder: string;
  readonly counts: Readonly<Record<"commands" | "syncs" | "merged" | "refused", number>> & Readonly<Damage>;
}

/** Three replicas, a real Redis and the outside world: people work, things break, and in the end everything must be right. */
export async function playRound(options: RoundOptions): Promise<RoundResult> {
  const folder = await mkdtemp(join(tmpdir(), `svc-chaos-${options.seed}-`));
  const redis = await RedisServer.start(REDIS_OPTIONS);
  const outside = await startOutside();
  const { world, forges, receiver } = outside;
  const peers = {
    github: portOf(forges.hosta.url),
    gitlab: portOf(forges.hostb.url),
    argocd: portOf(world.argocd.url),
    redis: redis.port,
  };
  const parts = { folder, spares: options.spares, sections: (ports: Peers) => sectionsOf(outside, ports) };
  const replicas = await Promise.all(["one", "two", "three"].map((name) => Replica.create(name, peers, parts)));
  const observer = new Observer(world, redis.port);
  const entrance = await Entrance.start(replicas);
  try {
    const result = await disturbedStory({ ...options, outside, redis, replicas, observer, entrance });
    await writeFile(join(folder, "notes.txt"), [...result.notes, ...result.violations, ""].join("\n"));
    if (result.violations.length === 0 && process.env.KEEP === undefined) await rm(folder, { recursive: true });
    return { ...result, folder };
  } catch (error) {
    throw new Error(`${String(error)}; logs: ${folder}`, { cause: error });
  } finally {
    observer.stop();
    await entrance.stop();
    await Promise.all(replicas.map((replica) => replica.remove()));
    await world.stop();
    await receiver.stop();
    await redis.stop();
  }
}

interface Scene extends RoundOptions {
  readonly outside: Outside;
  readonly redis: RedisServer;
  readonly replicas: readonly Replica[];
  readonly observer: Observer;
  readonly entrance: Entrance;
}

async function disturbedStory(scene: Scene): Promise<Omit<RoundResult, "folder">> {
  const { seed, build, nextBuild, outside, redis, replicas, observer, entrance } = scene;
  const { world, forges } = outside;
  const began = Date.now();
  const notes: string[] = [];
  const note = (what: string): void => void notes.push(`${new Date().toISOString()} ${Date.now() - began} ms: ${what}`);
  const builds = new Map(replicas.map((replica) => [replica, build]));
  const buildOf = (replica: Replica): string => builds.get(replica) ?? build;
  await Promise.all(replicas.map((replica) => replica.start(build)));
  note("all replicas listen");
  for (const host of HOST_IDS) forges[host].connect({ url: `${entrance.url}/webhook/${host}`, secret: SECRET });
  const trouble = new Trouble();
  const damage: Damage = { kills: 0, cuts: 0, restarts: 0 };
  const calm = new AbortController();
  const land = { random: new Random(seed + 1), replicas, redis, trouble, buildOf, note };
  // A replica that is replaced is not killed as well.
  const blows = nextBuild === undefined ? createBlows(land, damage) : NO_BLOWS;
  const longWays = allEnded((scene.long ? HOST_IDS : []).map((host) => goLongWay(longStage(scene, host, blows, note))));
  const told = allEnded([stories(scene, trouble, note), longWays] as const).finally(() => calm.abort());
  const weather = nextBuild === undefined ? storm(land, damage, calm.signal) : roll(replicas, builds, nextBuild, note);
  const intruded = scene.hostile ? intrude(outside, new Random(seed + 9), note, calm.signal) : [];
  const [[people, long], , strange] = await allEnded([told, weather, intruded] as const);
  await blows.over();
  note("calm again");
  const after: Aftermath = {
    world,
    passed: entrance.passed,
    asked: [...people, ...long].flatMap(({ asked }) => asked),
    opened: [...people, ...long].flatMap(({ opened }) => opened),
    observer,
    trouble,
    isRefused: (delivery) => isRefused(delivery, replicas),
  };
  const rested = await atRest(scene);
  const wrong = rested ? [] : ["events were still waiting, and none was handled for a minute"];
  note("at rest");
  wrong.push(...(await keptAfterClosing(after)));
  await cleanUp(replicas, after, note);
  wrong.push(...(await stopAll(replicas)));
  note("stopped");
  wrong.push(...(await violations(after)), ...(await wrongForStrangers(strange, outside, after)));
  wrong.push(
    ...(await wrongOnLongWays(
      long.map(({ gone }) => gone),
      outside,
      after,
    )),
  );
  const merged = after.opened.filter(
    ({ host, number }) => forges[host].changeRequest(REPOSITORY, number).state === "merged",
  );
  const counts = {
    commands: after.asked.length,
    syncs: observer.syncs.length,
    merged: merged.length,
    refused: replicas.reduce((sum, replica) => sum + replica.refused.size, 0),
    ...damage,
  };
  return { violations: wrong, notes, counts };
}

/** Waits for the end of all, also if one breaks: nothing of a broken round may go on behind it. */
async function allEnded<T extends readonly unknown[]>(all: T): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  await Promise.allSettled(all);
  return Promise.all(all);
}

const NO_BLOWS = {
  strike: () => Promise.resolve(),
  lieInWait: () => undefined,
  over: () => Promise.resolve(),
};

function longStage(scene: Scene, host: HostId, blows: Blows, note: (what: string) => void): LongStage {
  const { outside, replicas, observer } = scene;
  return {
    host,
    forge: outside.forges[host],
    applications: STAGED[host],
    observer,
    blows,
    rollsOut: new Random(scene.seed + HOST_IDS.indexOf(host)).chance(0.6),
    pollGit: () => outside.world.argocd.pollGit(),
    follow: () => replicas.forEach((replica) => replica.follow()),
    cleanUp: () => replicas[0]?.cleanUp(),
    note,
  };
}

/** What everybody did, on both hosts at once. */
function stories(
  { seed, outside, replicas, observer, entrance }: Scene,
  trouble: Trouble,
  note: (what: string) => void,
) {
  const { forges } = outside;
  const people = HOST_IDS.flatMap((host) => Array.from({ length: PEOPLE }, () => host));
  return allEnded(
    people.map((host, index): Promise<Told> => {
      const repeatable = (): readonly string[] =>
        entrance.passed
          .filter((one) => one.host === host && one.status === 200 && !trouble.during(one.from, one.until))
          // It was answered, and not run; sent again it is another event, with an answer of its own.
          .filter(({ delivery }) => !isRefused(delivery, replicas))
          .map(({ delivery }) => delivery.slice(host.length + 1));
      const random = new Random(seed + 2 + index);
      const stage = { host, forge: forges[host], applications: APPLICATIONS[host], random, observer, repeatable, note };
      return play(stage, CHANGE_REQUESTS);
    }),
  );
}

function isRefused(delivery: string, replicas: readonly Replica[]): boolean {
  return replicas.some(({ refused }) => refused.has(delivery));
}

function portOf(url: string): number {
  return Number(new URL(url).port);
}

/** True when no event waits or runs and no webhook is on its way, seen a few times in a row. */
async function atRest({ outside: { forges }, observer: { redis }, replicas }: Scene): Promise<boolean> {
  const handledByAll = (): number => replicas.reduce((sum, { handled }) => sum + handled, 0);
  let quiet = 0;
  let handled = handledByAll();
  let until = Date.now() + STUCK_AFTER_MS;
  while (Date.now() < until) {
    await Promise.all(HOST_IDS.map((host) => forges[host].idle()));
    const waiting = await redis.zcard(`${KEYS.queue}:lanes`).catch(() => 1);
    quiet = waiting === 0 ? quiet + 1 : 0;
    if (quiet >= 3) return true;
    if (handledByAll() > handled) {
      handled = handledByAll();
      until = Date.now() + STUCK_AFTER_MS;
    }
    await delay(100);
  }
  return false;
}

async function stopAll(replicas: readonly Replica[]): Promise<string[]> {
  const codes = await Promise.all(replicas.map((replica) => replica.stop()));
  return codes.flatMap((code, index) =>
    code === 0 ? [] : [`${replicas[index]?.name ?? ""} ended with ${String(code)}`],
  );
}

/** What a lost webhook or a killed run left goes with the work that the service does every few minutes. */
async function cleanUp(replicas: readonly Replica[], after: Aftermath, note: (what: string) => void): Promise<void> {
  const until = Date.now() + CLEAN_WITHIN_MS;
  for (;;) {
    const left = await leftBehind(after);
    if (left.length === 0 || Date.now() > until) return;
    note(`to be cleaned up: ${left.join("; ")}`);
    replicas[0]?.cleanUp();
    await delay(700);
  }
}
