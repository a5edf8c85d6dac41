import { randomUUID } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { Redis } from "ioredis";
import { applicationName, repositoryName, revision } from "../../../src/core/model/brand.js";
import { identityKey } from "../../../src/core/model/change-request.js";
import type { Deployment } from "../../../src/core/model/deployment.js";
import { StoredValueUnreadable } from "../../../src/core/model/errors.js";
import { EVENT_KINDS, type HostEvent } from "../../../src/core/model/event.js";
import type { Hold } from "../../../src/core/model/hold.js";
import { isJsonObject, parseJson } from "../../../src/core/model/json.js";
import type { Lock } from "../../../src/core/model/lock.js";
import type { RunNotes } from "../../../src/core/model/progress.js";
import type { FollowedApplication, Rollout } from "../../../src/core/model/rollout.js";
import type { AuditEntry } from "../../../src/core/ports/audit.js";
import type { RunTicket } from "../../../src/core/ports/event-queue.js";
import type { LiveRun } from "../../../src/core/ports/live-feed.js";
import { createDurableQueue } from "../../../src/queue/durable.js";
import { LaneStore } from "../../../src/queue/lane-store.js";
import { systemClock } from "../../../src/service/service.js";
import { RedisConnection } from "../../../src/store/redis/connection.js";
import { createRedisStores } from "../../../src/store/redis/redis-stores.js";
import type { Stores } from "../../../src/store/stores.js";
import { plan } from "../../contract/plan-store.contract.js";
import { recordingLog } from "../../recording-log.js";
import { RedisServer } from "../../redis-server.js";

const GOLDEN = fileURLToPath(new URL("golden/records.txt", import.meta.url));
const now = new Date("2026-03-02T10:00:00.000Z");
const at = now.toISOString();
const web = applicationName("web");
const head = revision("a".repeat(40));
const change = { host: "hosta", repository: repositoryName("acme/deploy"), repositoryId: "11", number: 7 } as const;
const by = { id: "1", login: "ana", bot: false };

const hold: Required<Hold> = {
  id: "run-1",
  applications: ["web"],
  reason: "migration",
  by: { provider: "hosta", id: "hosta:1", login: "ana" },
  since: at,
  until: "2026-03-02T11:00:00.000Z",
};
const followed: Required<FollowedApplication> = {
  application: web,
  goal: "run",
  origin: "new",
  healthy: true,
  existed: false,
  wasBroken: false,
  definition: "d",
  seen: "Synced Healthy",
  destination: { cluster: "in-cluster", namespace: "web" },
  state: { kind: "failing", why: "could not be synced", message: "no room", since: at },
};
const rollout: Required<Rollout> = {
  change,
  merged: head,
  since: at,
  until: "2026-03-02T11:00:00.000Z",
  ended: undefined,
  approval: "given",
  applications: [followed],
  deployed: [{ application: web, outcome: "succeeded", user: "ana", timestamp: at, seconds: 4 }],
};
const deployment: Required<Deployment> = {
  application: web,
  uid: "uid-1",
  change,
  revision: head,
  baseBranch: "main",
  baseRevision: head,
  basePinned: true,
  outcome: "succeeded",
  pins: [{ position: 1, revision: head }],
  specBefore: { project: "default" },
  specWritten: { project: "shop" },
  specReplaced: { project: "shop" },
  given: { parent: applicationName("root"), set: "shops" },
  approvers: ["bo"],
  user: "ana",
  reverted: "it takes back what #5 changed",
  overridden: [{ check: "conftest", by: ["bo"] }],
  runId: "run-1",
  health: { timeoutMs: 60_000, onFailure: "keep" },
  undoing: { health: "Degraded", message: "no room" },
  timestamp: at,
  seconds: 4,
  settledAt: at,
};
const entry: Required<AuditEntry> = {
  at,
  runId: "run-1",
  delivery: "hosta-1",
  who: { host: "hosta", id: "1", login: "ana" },
  change,
  head,
  action: "synced",
  command: "sync",
  applications: [{ application: web, outcome: "failed", detail: "kept", message: "no room" }],
  reason: "dry run",
  seconds: 4,
};

const lock: Required<Lock> = {
  application: web,
  holder: change,
  user: "ana",
  timestamp: at,
  planRevision: head,
  sourceFile: "web.yaml",
};
/** What a later attempt goes on with. Of results it answers each as it stands. */
const notes: Required<RunNotes> = {
  started: [
    {
      application: web,
      lastOperation: "op-1",
      pins: [{ position: 1, revision: head }],
      revision: head,
      destination: { cluster: "in-cluster", namespace: "web" },
      after: [web],
    },
  ],
  skipped: [web],
  takenOver: [lock],
  result: { kind: "help" },
};
const live: Required<LiveRun> = {
  runId: "run-1",
  command: "sync",
  startedAt: at,
  applications: [
    { application: web, phase: { kind: "waiting" } },
    { application: web, phase: { kind: "running", done: 1, total: 2, message: "", health: "Progressing" } },
    { application: web, phase: { kind: "ended", outcome: "succeeded" } },
  ],
  ended: false,
};

type EventOfEachKind = { readonly [K in HostEvent["kind"]]: Required<Extract<HostEvent, { readonly kind: K }>> };
const from = { delivery: "hosta-1", traceparent: "00-1-2-00", change };
const events: EventOfEachKind = {
  updated: { ...from, kind: "updated", reason: "pushed", pushed: head },
  "plan-wanted": { ...from, kind: "plan-wanted" },
  closed: { ...from, kind: "closed" },
  commented: {
    ...from,
    kind: "commented",
    commentId: "5",
    body: "svc sync",
    author: by,
    found: { writtenAt: at, overtaken: false },
  },
  reviewed: { ...from, kind: "reviewed" },
  approved: { ...from, kind: "approved", headRevision: head, plannedAt: at, by },
  turn: { ...from, kind: "turn", applications: [web], after: change },
  "lock-lost": { ...from, kind: "lock-lost", applications: [web], by: "ana", waits: [web] },
  marked: { ...from, kind: "marked", turn: 3, patient: true },
  "merge-group": { ...from, kind: "merge-group", headRevision: head, baseRevision: head, baseBranch: "main" },
  rollout: { ...from, kind: "rollout", moved: [{ application: web, line: "Synced Healthy" }] },
  "stage-due": {
    ...from,
    kind: "stage-due",
    next: { id: "run-1", by, applications: [web], prune: true, stage: "prod", due: at },
  },
};

describe("the records in Redis", () => {
  let server: RedisServer;
  let raw: Redis;
  let stores: Stores;
  let lanes: LaneStore;
  let connection: RedisConnection;
  beforeAll(async () => {
    server = await RedisServer.start();
    raw = new Redis(server.port, "127.0.0.1");
    const config = { address: server.address, db: 0, tls: false };
    stores = createRedisStores(config, { log: recordingLog() });
    connection = new RedisConnection(config, recordingLog());
    lanes = new LaneStore(connection);
  });
  afterAll(async () => {
    raw.disconnect();
    await Promise.all([stores.close(), connection.close()]);
    await server.stop();
  });
  beforeEach(async () => {
    await raw.flushall();
  });

  const [PLAN, HOLD, FOLLOW] = [`svc:plan:${identityKey(plan.change)}`, "svc:hold:run-1", "svc:follow:hosta/#11/7"];
  const DEPLOYMENT = ["svc:deployment:web", identityKey(change)] as const;
  const kinds = {
    plan: {
      save: () => stores.plans.save(plan),
      read: () => stores.plans.find(plan.change),
      text: () => raw.get(PLAN),
      // Otherwise the plan that was read before stands for it.
      replace: (text: string) => raw.set(PLAN, text.replace(/"id":"[^"]{36}"/, `"id":"${randomUUID()}"`)),
    },
    hold: {
      save: () => stores.holds.save(hold, now),
      read: () => stores.holds.list(),
      text: () => raw.get(HOLD),
      replace: (text: string) => raw.set(HOLD, text),
    },
    rollout: {
      save: () => stores.rollouts.save(rollout, now),
      read: () => stores.rollouts.find(change),
      text: () => raw.get(FOLLOW),
      replace: (text: string) => raw.set(FOLLOW, text),
    },
    deployment: {
      save: () => stores.deployments.save(deployment),
      read: () => stores.deployments.list(),
      text: () => raw.hget(...DEPLOYMENT),
      replace: (text: string) => raw.hset(...DEPLOYMENT, text),
    },
    audit: {
      save: () => stores.audit.record(entry),
      read: () => stores.audit.list({ limit: 1 }),
      text: async () => (await raw.xrevrange("svc:audit", "+", "-", "COUNT", 1))[0]?.[1][1],
      replace: (text: string) => raw.xadd("svc:audit", "*", "entry", text),
    },
  } as const;
  const KINDS = Object.keys(kinds) as (keyof typeof kinds)[];

  /**
   * If what svc stores has another shape now, and svc could not read a record of the former shape as the new type, raise the
   * version `v` of the record. Then write the file with UPDATE_GOLDEN=1.
   */
  test("have the shape that belongs to their version", async () => {
    const shapes: string[] = [];
    for (const kind of KINDS) {
      await kinds[kind].save();
      shapes.push(`# ${kind}`, ...shapeOf(await kinds[kind].text()));
    }
    for (const kind of EVENT_KINDS) {
      await lanes.push({ ...events[kind], delivery: kind }, 10_000);
      shapes.push(`# event ${kind}`, ...shapeOf(await raw.lindex("svc:{queue}:events:hosta/#11/7", -1)));
    }
    stores.live.publish(change, live);
    await stores.ping();
    shapes.push("# live run", ...shapeOf(await raw.get("svc:live:hosta/acme/deploy/7")));
    shapes.push("# run notes", ...shapeOf(await writtenNotes()));
    const text = `${shapes.join("\n")}\n`;
    if (process.env.UPDATE_GOLDEN === "1") writeFileSync(GOLDEN, text);
    expect(text).toBe(readFileSync(GOLDEN, "utf8"));
  });

  /** The notes of a run as they stand in Redis while it runs. */
  async function writtenNotes(): Promise<string | null> {
    const written: (string | null)[] = [];
    const run = async (_event: HostEvent, { journal }: RunTicket) => {
      await journal.write(notes);
      written.push(await raw.get("svc:{queue}:journal:notes"));
      return "done" as const;
    };
    const parts = { run, refuse: run, log: recordingLog(), clock: systemClock, connection };
    const queue = createDurableQueue({ ...parts, concurrency: 1 });
    await queue.push({ kind: "reviewed", delivery: "notes", change: { ...change, number: 8 } });
    while (written.length === 0) await raw.ping();
    await queue.close(1000);
    return written[0] ?? null;
  }

  test.each(KINDS)("are reported where a list is missing that every reader goes through: %s", async (kind) => {
    const { save, read, text, replace } = kinds[kind];
    await save();
    const whole = (await text()) ?? "";
    const lists = [...whole.matchAll(/"(\w+)":\[/g)].map(([, name = ""]) => name);
    const [body = {}] = Object.values(JSON.parse(whole) as object).filter(isJsonObject);
    const own = lists.filter((name) => Object.hasOwn(body, name) && !OPTIONAL.has(name));
    expect(own).not.toEqual([]);
    for (const list of own) {
      await replace(whole.replace(JSON.stringify(body), JSON.stringify({ ...body, [list]: undefined })));
      await expect(read()).rejects.toThrow(StoredValueUnreadable);
    }
  });
});

/** Lists that not every record has. */
const OPTIONAL = new Set(["overridden", "stages", "lacks"]);

/** Every path in a record with the type that stands there; of kinds and versions, their values. */
function shapeOf(text: string | null | undefined): readonly string[] {
  const found = new Set<string>();
  const look = (value: unknown, path: string): void => {
    if (Array.isArray(value)) for (const one of value) look(one, `${path}[]`);
    else if (isJsonObject(value)) for (const [name, one] of Object.entries(value)) look(one, `${path}.${name}`);
    else found.add(`${path} ${/\.(?:kind|v)$/.test(path) ? String(value) : typeof value}`);
  };
  look(parseJson(text ?? ""), "");
  return [...found].sort();
}
