import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Forge } from "../../sandbox/forge.js";
import { appKeys, GITHUB_APP, GITLAB_TOKEN, startSandbox, type SandboxWorld } from "../../sandbox/world.js";
import { HOST_IDS, QUEUE_KEY_PREFIX, type HostId } from "../../src/names.js";
import { RedisServer } from "../redis-server.js";
import { applicationResource, repositoryOf } from "../scenarios/resources.js";
import { Entrance } from "./entrance.js";
import { leftBehind, violations, type Aftermath } from "./invariants.js";
import { Observer, REPOSITORY } from "./observer.js";
import { Random } from "./random.js";
import { Replica, type Peers } from "./replica.js";
import { play } from "./story.js";
import { Trouble } from "./trouble.js";
import { storm } from "./weather.js";

const SECRET = "chaos-webhook-secret";
const APPLICATIONS: Readonly<Record<HostId, readonly string[]>> = {
  hosta: ["web", "api", "jobs"],
  hostb: ["shop", "cart", "mail"],
};
const STEPS = 9;
const AT_REST_WITHIN_MS = 60_000;
const CLEAN_WITHIN_MS = 30_000;

export interface RoundOptions {
  readonly seed: number;
  /** Folder of the build that every replica starts with. */
  readonly build: string;
  /** Replicas are replaced one after the other by this build while events flow. */
  readonly nextBuild?: string;
}

export interface RoundResult {
  readonly violations: readonly string[];
  /** What happened, in order, with milliseconds since the beginning. */
  readonly notes: readonly string[];
  /** Folder with the replicas' logs; kept after a bad round. */
  readonly folder: string;
  readonly counts: Readonly<Record<"commands" | "syncs" | "merged", number>>;
}

/** Three replicas, a real Redis and the outside world: people work, things break, and in the end everything must be right. */
export async function playRound({ seed, build, nextBuild }: RoundOptions): Promise<RoundResult> {
  const random = new Random(seed);
  const folder = await mkdtemp(join(tmpdir(), `svc-chaos-${seed}-`));
  const began = Date.now();
  const notes: string[] = [];
  const note = (what: string): void => void notes.push(`${Date.now() - began} ms: ${what}`);
  const redis = await RedisServer.start([
    "--appendonly",
    "yes",
    "--appendfsync",
    "always",
    "--maxmemory-policy",
    "noeviction",
  ]);
  const world = await startSandbox({ github: true, gitlab: true });
  const forges = await furnish(world);
  const peers = {
    github: portOf(forges.hosta.url),
    gitlab: portOf(forges.hostb.url),
    argocd: portOf(world.argocd.url),
    redis: redis.port,
  };
  const configure = (ports: Peers): object => sectionsOf(world, ports);
  const replicas = await Promise.all(
    ["one", "two", "three"].map((name) => Replica.create(name, peers, folder, configure)),
  );
  const builds = new Map(replicas.map((replica) => [replica, build]));
  const buildOf = (replica: Replica): string => builds.get(replica) ?? build;
  const observer = new Observer(world, redis.port);
  const entrance = await Entrance.start(replicas);
  const wrong: string[] = [];
  try {
    await Promise.all(replicas.map((replica) => replica.start(build)));
    for (const host of HOST_IDS) forges[host].connect({ url: `${entrance.url}/webhook/${host}`, secret: SECRET });
    const trouble = new Trouble();
    const calm = new AbortController();
    const weather =
      nextBuild === undefined
        ? storm({ random: new Random(seed + 1), replicas, redis, trouble, buildOf, note }, calm.signal)
        : roll(replicas, builds, nextBuild, note);
    const stories = await Promise.all(
      HOST_IDS.map((host, index) => {
        const applications = APPLICATIONS[host];
        return play(
          { host, forge: forges[host], applications, random: new Random(seed + 2 + index), observer, note },
          STEPS + random.between(0, 4),
        );
      }),
    );
    calm.abort();
    await weather;
    note("calm again");
    const after: Aftermath = {
      world,
      passed: entrance.passed,
      asked: stories.flatMap(({ asked }) => asked),
      opened: stories.flatMap(({ opened }, index) =>
        opened.map((number) => ({ host: HOST_IDS[index] ?? "hosta", number })),
      ),
      observer,
      trouble,
    };
    if (!(await atRest(forges, observer))) wrong.push("events were still waiting a minute after the last disturbance");
    note("at rest");
    wrong.push(...(await stopAll(replicas)));
    await cleanUp(replicas[0], buildOf, after);
    note("clean");
    wrong.push(...(await violations(after)));
    const merged = after.opened.filter(
      ({ host, number }) => forges[host].changeRequest(REPOSITORY, number).state === "merged",
    );
    const counts = { commands: after.asked.length, syncs: observer.syncs.length, merged: merged.length };
    if (wrong.length === 0 && process.env.KEEP === undefined) await rm(folder, { recursive: true, force: true });
    return { violations: wrong, notes, folder, counts };
  } finally {
    observer.stop();
    await entrance.stop();
    await Promise.all(replicas.map((replica) => replica.remove()));
    await world.stop();
    await redis.stop();
  }
}

async function furnish(world: SandboxWorld): Promise<Readonly<Record<HostId, Forge>>> {
  const { github, gitlab, argocd } = world;
  if (github === undefined || gitlab === undefined) throw new Error("the sandbox has not both hosts");
  const forges = { hosta: github, hostb: gitlab };
  for (const host of HOST_IDS) {
    const forge = forges[host];
    const repoURL = `${forge.url}/${REPOSITORY}.git`;
    await forge.createRepository(REPOSITORY, repositoryOf(APPLICATIONS[host], repoURL));
    for (const login of ["ana", "bo"]) forge.setAccess(REPOSITORY, login, "write");
    for (const name of APPLICATIONS[host]) {
      argocd.addApplication(applicationResource(name, { repoURL }));
      await argocd.deploy(name);
    }
  }
  return forges;
}

function sectionsOf({ argocdToken }: SandboxWorld, ports: Peers): object {
  const at = (port: number): string => `http://127.0.0.1:${port}`;
  return {
    server: {
      host: "127.0.0.1",
      port: 0,
      base_url: "http://svc.example.com",
      log_level: "debug",
      shutdown_grace: "5s",
    },
    kvstore: { address: `127.0.0.1:${ports.redis}` },
    deployer: {
      server_url: at(ports.argocd),
      token: argocdToken,
      poll_interval: "100ms",
      request_timeout: "3s",
      render_timeout: "3s",
      sync_timeout: "20s",
    },
    hosta: {
      app_id: GITHUB_APP.id,
      private_key: appKeys().privateKey,
      webhook_secret: SECRET,
      api_url: `${at(ports.github)}/api/v3`,
      web_url: at(ports.github),
    },
    hostb: { url: at(ports.gitlab), token: GITLAB_TOKEN, webhook_secret: SECRET },
    defaults: { require_approval: true, auto_merge: true },
  };
}

function portOf(url: string): number {
  return Number(new URL(url).port);
}

/** A rolling update: one replica at a time is stopped as a supervisor does it and started as the next version. */
async function roll(
  replicas: readonly Replica[],
  builds: Map<Replica, string>,
  nextBuild: string,
  note: (what: string) => void,
): Promise<void> {
  for (const replica of replicas) {
    await delay(1_500);
    note(`roll ${replica.name}`);
    const code = await replica.stop();
    if (code !== 0) throw new Error(`${replica.name} ended with ${String(code)}`);
    builds.set(replica, nextBuild);
    await replica.start(nextBuild);
  }
}

/** True when no event waits or runs and no webhook is on its way, seen twice in a row. */
async function atRest(forges: Readonly<Record<HostId, Forge>>, { redis }: Observer): Promise<boolean> {
  const until = Date.now() + AT_REST_WITHIN_MS;
  let quiet = 0;
  while (Date.now() < until) {
    await Promise.all(HOST_IDS.map((host) => forges[host].idle()));
    const waiting = await redis.zcard(`${QUEUE_KEY_PREFIX}:lanes`).catch(() => 1);
    quiet = waiting === 0 ? quiet + 1 : 0;
    if (quiet >= 3) return true;
    await delay(200);
  }
  return false;
}

async function stopAll(replicas: readonly Replica[]): Promise<string[]> {
  const codes = await Promise.all(replicas.map((replica) => replica.stop()));
  return codes.flatMap((code, index) =>
    code === 0 ? [] : [`${replicas[index]?.name ?? ""} ended with ${String(code)}`],
  );
}

/** What a lost webhook or a killed run left goes with the work that every replica does when it starts. */
async function cleanUp(
  replica: Replica | undefined,
  buildOf: (replica: Replica) => string,
  after: Aftermath,
): Promise<void> {
  if (replica === undefined) return;
  const until = Date.now() + CLEAN_WITHIN_MS;
  do {
    const turns = await after.observer.redis.keys(`${QUEUE_KEY_PREFIX}:turn:*`);
    if (turns.length > 0) await after.observer.redis.del(...turns);
    await replica.start(buildOf(replica));
    await delay(1_000);
    await replica.stop();
  } while ((await leftBehind(after)).length > 0 && Date.now() < until);
}
