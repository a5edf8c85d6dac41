import { randomUUID } from "node:crypto";
import { LRUCache } from "lru-cache";
import * as z from "zod";
import {
  changeRequestKey,
  type ChangeRequestRef,
  identityKey,
  sameChangeRequest,
} from "../../core/model/change-request.js";
import type { CheckOutcome } from "../../core/model/check.js";
import type { Effect, Member } from "../../core/model/effect.js";
import type { Message } from "../../core/model/host-words.js";
import {
  type ApplicationPlan,
  type Plan,
  PLAN_LIFETIME_MS,
  type PlanLock,
  type PreviewContent,
  type PreviewOrigin,
} from "../../core/model/plan/plan.js";
import { STAGE_WAITS } from "../../core/model/stage.js";
import type { PlannedSource } from "../../core/model/subject.js";
import type { PlanStore } from "../../core/ports/stores.js";
import { KEYS } from "../../names.js";
import type { RedisConnection } from "./connection.js";
import { orUndefined, readStored, stored } from "./stored-value.js";

const definedIn = z.array(
  z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("repository"), repoURL: z.string(), follows: z.string() }),
    z.object({ kind: z.literal("unknown"), reason: z.string() }),
  ]),
);

const identity = {
  application: stored.application,
  project: z.string(),
  destination: z.object({ cluster: z.string(), namespace: z.string() }),
  namespaces: z.array(z.string()),
  definedIn: orUndefined(definedIn),
};

const move = z.object({
  what: z.enum(["repository", "project", "destination", "auto-sync"]),
  from: z.string(),
  to: z.string(),
});

const storedMember: z.ZodType<Member> = z.object({
  ...identity,
  reachedBy: z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("direct") }),
    z.object({ kind: z.literal("child"), of: stored.application }),
    z.object({ kind: z.literal("generated"), by: z.string() }),
  ]),
  definition: z.discriminatedUnion("kind", [
    z.object({ kind: z.enum(["unchanged", "new", "removed", "unknown"]) }),
    z.object({ kind: z.literal("changed"), moves: z.array(move) }),
  ]),
  digest: orUndefined(z.string()),
  sources: z.array(z.object({ repoURL: z.string(), targetRevision: z.string(), commit: orUndefined(stored.revision) })),
  follows: orUndefined(z.array(z.string())),
  boundAs: z.array(z.object({ ...identity, because: z.string() })),
  deploysItself: orUndefined(z.boolean()),
  problem: orUndefined(z.string()),
});

const storedEffect: z.ZodType<Effect> = z.object({
  members: z.array(storedMember),
  applies: z.array(z.object({ application: stored.application, digest: z.string() })),
});

const lock = z.object({
  application: stored.application,
  holder: stored.change,
  user: z.string(),
  timestamp: stored.time,
  planRevision: orUndefined(stored.revision),
  sourceFile: orUndefined(z.string()),
});

const planLock: z.ZodType<PlanLock> = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("ours") }),
  z.object({ kind: z.literal("held"), by: lock, place: z.int().positive().optional() }),
  z.object({ kind: z.literal("free") }),
  z.object({ kind: z.literal("not-needed") }),
]);

const count = z.int().nonnegative();

const nameChanges = z.object({
  created: z.array(z.string()),
  changed: z.array(z.string()),
  deleted: z.array(z.string()),
});
const names = nameChanges.default({ created: [], changed: [], deleted: [] });

const resources = z.array(
  z.object({
    action: z.enum(["create", "update", "delete"]),
    title: z.string(),
    kind: z.string(),
    diff: z.string(),
    hook: z.boolean(),
    left: orUndefined(z.boolean()),
    whole: z.boolean().default(false),
    sides: orUndefined(z.object({ before: z.string(), after: z.string() })),
  }),
);

const objectNotes = z.array(z.object({ what: z.string(), objects: z.array(z.string()) }));
const againstCluster = { approximate: objectNotes, alreadyThere: z.array(z.string()), kept: objectNotes };

const basis = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("branch") }),
  z.object({ kind: z.literal("live"), ...againstCluster, drifted: z.array(z.string()) }),
  z.object({ kind: z.literal("both"), ...againstCluster, drift: resources }),
  z.object({ kind: z.literal("live-failed"), reason: z.string() }),
]);

/** Records written by earlier versions lack the members that have a default. */
const manifestDiff = z.object({
  created: count,
  updated: count,
  deleted: count,
  stay: orUndefined(count),
  hooksChanged: count,
  resources,
  hiddenSecrets: z.boolean(),
  secrets: z
    .array(z.object({ name: z.string(), keys: orUndefined(nameChanges), files: z.array(z.string()) }))
    .default([]),
  onlyCommit: z.array(z.string()).default([]),
  cautions: z.array(z.string()).default([]),
  dangers: z
    .array(z.object({ what: z.string(), pruning: z.boolean(), effect: orUndefined(z.enum(["lost", "refused"])) }))
    .default([]),
  sensitive: orUndefined(z.array(z.string())),
  children: names,
  sets: names,
  basis: basis.default({ kind: "branch" }),
});

const clusterCheck = z.object({
  accepted: count,
  refused: z.array(z.object({ title: z.string(), message: z.string(), sure: z.boolean() })),
  untried: z.array(z.object({ titles: z.array(z.string()), reason: z.string(), missed: orUndefined(z.literal(true)) })),
  asking: orUndefined(z.array(z.string())),
});

const checkOutcome: z.ZodType<CheckOutcome> = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("passed") }),
  z.object({ kind: z.enum(["failed", "broken"]), reason: z.string(), output: z.string() }),
]);
const checkResult = z.object({
  name: z.string(),
  required: z.boolean(),
  overridableBy: z.array(z.string()),
  knownAt: z.string().optional(),
  definition: z.string(),
  outcome: checkOutcome,
});

const checks = orUndefined(z.array(checkResult));

const message: z.ZodType<Message> = z.union([
  z.string(),
  z.object({ before: z.string(), reference: z.string(), change: stored.change, after: z.string() }),
]);

/** What a plan says of every application. A member that the schema lacks would be lost. */
type PlannedMember = keyof Omit<Extract<ApplicationPlan, { readonly kind: "unplanned" }>, "kind">;

const planned = {
  application: stored.application,
  lock: planLock,
  sourceFile: orUndefined(z.string()),
  atMerge: orUndefined(z.string()),
  autoSynced: z.literal(true).exactOptional(),
  effect: storedEffect,
  warnings: z.array(message),
  gaps: orUndefined(z.object({ behind: z.boolean(), uncovered: z.boolean() })),
  replaces: orUndefined(
    z.array(z.object({ change: stored.change, revision: stored.revision, objects: z.array(z.string()) })),
  ),
  definedBy: orUndefined(
    z.object({ parent: stored.application, spec: stored.spec, base: stored.spec, set: orUndefined(z.string()) }),
  ),
  missedAt: orUndefined(stored.time),
} satisfies Readonly<Record<PlannedMember, z.ZodType>>;

const plannedSource: z.ZodType<PlannedSource> = z.object({
  position: z.int().positive(),
  kind: z.enum(["head", "fixed", "foreign"]),
  follows: z.string(),
  revision: orUndefined(z.string()),
  unseen: z.boolean(),
});

const preview: z.ZodType<PreviewContent> = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("compared"), diff: manifestDiff, checks }),
  z.object({ kind: z.literal("left-behind"), objects: z.array(z.string()), checks }),
  z.object({ kind: z.literal("failed"), reason: z.string(), withheld: orUndefined(z.boolean()), checks }),
  z.object({ kind: z.literal("beyond-limit"), limit: count, checks }),
]);

const previewOrigin: z.ZodType<PreviewOrigin> = z.object({
  kind: z.enum(["generated", "child"]),
  of: z.string(),
  change: z.enum(["added", "changed", "removed"]),
  appliedBy: orUndefined(stored.application),
});

const applicationPlan: z.ZodType<ApplicationPlan> = z.discriminatedUnion("kind", [
  z.object({
    ...planned,
    kind: z.literal("evaluated"),
    verdict: z.enum(["changed", "unchanged", "unknown"]),
    writesDefinition: z.boolean().default(false),
    definition: orUndefined(z.string()),
    sources: z.array(plannedSource),
    diff: manifestDiff,
    cluster: orUndefined(clusterCheck),
    checks,
    unpinned: orUndefined(
      z.object({
        reads: z.array(z.string()),
        rendered: z.object({
          whole: z.string(),
          objects: z.array(z.object({ title: z.string(), digest: z.string() })),
        }),
        unseen: z.boolean(),
      }),
    ),
  }),
  z.object({
    ...planned,
    kind: z.literal("unevaluated"),
    reason: z.string(),
    withheld: orUndefined(z.boolean()),
    definition: orUndefined(z.string()),
    checks,
  }),
  z.object({ ...planned, kind: z.enum(["new", "deleted"]), preview: orUndefined(preview) }),
  z.object({ ...planned, kind: z.literal("unplanned") }),
]);

const plannedStage = z.object({
  name: z.string(),
  wait: z.enum(STAGE_WAITS),
  soak: z.number(),
  applications: z.array(stored.application),
});

const nextStage = z.object({
  id: z.string(),
  by: z.object({ id: z.string(), login: z.string(), bot: z.boolean() }),
  applications: z.array(stored.application),
  prune: z.boolean(),
  stage: z.string(),
  due: stored.time,
});

const plan: z.ZodType<Plan> = z.object({
  change: stored.change,
  head: stored.revision,
  baseBranch: z.string(),
  baseRevision: orUndefined(stored.revision),
  plannedAt: stored.time,
  applications: z.array(applicationPlan),
  applicationSets: z.array(
    z.object({
      name: z.string(),
      sourceFile: orUndefined(z.string()),
      added: z.array(stored.application),
      removed: z.array(stored.application),
      keepsRemoved: orUndefined(z.boolean()),
      changed: z.array(stored.application),
      members: z.array(storedMember),
      notes: z.array(z.string()).default([]),
      problem: orUndefined(z.string()),
      failure: orUndefined(z.object({ why: z.string(), then: z.string() })),
      withheld: orUndefined(z.boolean()),
      appliedBy: orUndefined(stored.application),
      owned: z.array(stored.application).default([]),
      missedAt: orUndefined(stored.time),
    }),
  ),
  previews: z
    .array(
      z.object({
        application: stored.application,
        origin: previewOrigin,
        content: preview,
        missedAt: orUndefined(stored.time),
      }),
    )
    .default([]),
  notDeployed: z.array(
    z.object({ application: stored.application, reason: z.string(), definedIn: orUndefined(definedIn) }),
  ),
  turn: orUndefined(z.object({ applications: z.array(stored.application), after: orUndefined(stored.change) })),
  released: z.array(stored.application),
  unread: z.array(z.object({ file: z.string(), reason: z.string() })).default([]),
  lacks: orUndefined(z.array(stored.application)),
  notes: z.array(z.string()),
  stages: orUndefined(z.array(plannedStage)),
  next: orUndefined(nextStage),
  approvalUsed: orUndefined(z.literal(true)),
  amended: orUndefined(z.literal(true)),
});

const planRecord = z.object({ v: z.literal(1), id: z.string(), plan });

/** The beginning of a record, which differs for each save: `{"v":1,"id":"<uuid>"`. */
const START_LENGTH = '{"v":1,"id":""'.length + 36;
/** Total characters of cached records. A plan with long diffs is read several times by one run. */
const CACHE_LIMIT = 32 * 1024 * 1024;

const placeRecord = z.object({ v: z.literal(1), repository: stored.repository });

/**
 * The last plan of each change request, under `svc:plan:<host>/<repository>/<number>`, and the name that the repository had then,
 * under `svc:plan-name:<host>/#<repository id>/<number>`.
 */
export class RedisPlanStore implements PlanStore {
  /** Plans by key. Each is used only while Redis has the same record: reading a large one takes a tenth of a second. */
  readonly #kept = new LRUCache<string, { readonly start: string; readonly plan: Plan }>({ maxSize: CACHE_LIMIT });

  constructor(private readonly connection: RedisConnection) {}

  async save(plan: Plan): Promise<void> {
    const { change } = plan;
    const key = planKey(change);
    const record = JSON.stringify({ v: 1, id: randomUUID(), plan });
    const before = planKey(await this.#placeOf(change));
    if (change.repositoryId !== undefined) {
      const place = JSON.stringify({ v: 1, repository: change.repository });
      await this.connection.run((redis) => redis.set(placeKey(change), place, "PX", PLAN_LIFETIME_MS));
    }
    await this.connection.run((redis) => redis.set(key, record, "PX", PLAN_LIFETIME_MS));
    this.#keep(key, record, plan);
    const renamed = before === key ? undefined : await this.#read(before);
    // Otherwise the page under the old name would show an old plan.
    if (renamed !== undefined && sameChangeRequest(renamed.change, change)) {
      await this.connection.run((redis) => redis.del(before));
    }
  }

  /**
   * Looks by id, where the plan was saved last; without an id by name, which gives the plan of whichever repository had the name
   * last.
   */
  async find(change: ChangeRequestRef): Promise<Plan | undefined> {
    const plan = await this.#read(planKey(await this.#placeOf(change)));
    return plan !== undefined && sameChangeRequest(plan.change, change) ? plan : undefined;
  }

  /** The change request under the name that its last plan was saved under. */
  async #placeOf(change: ChangeRequestRef): Promise<ChangeRequestRef> {
    if (change.repositoryId === undefined) return change;
    const key = placeKey(change);
    const text = await this.connection.run((redis) => redis.get(key));
    if (text === null) return change;
    return { ...change, repository: readStored(placeRecord, text, "the name of a planned repository", key).repository };
  }

  async #read(key: string): Promise<Plan | undefined> {
    const start = await this.connection.run((redis) => redis.getrange(key, 0, START_LENGTH - 1));
    const kept = this.#kept.get(key);
    if (kept?.start === start) return kept.plan;
    const record = start === "" ? null : await this.connection.run((redis) => redis.get(key));
    if (record === null) return undefined;
    const { plan } = readStored(planRecord, record, "a stored plan", key);
    this.#keep(key, record, plan);
    return plan;
  }

  #keep(key: string, record: string, plan: Plan): void {
    this.#kept.set(key, { start: record.slice(0, START_LENGTH), plan }, { size: record.length });
  }
}

function planKey(change: ChangeRequestRef): string {
  return KEYS.plan + changeRequestKey(change);
}

function placeKey(change: ChangeRequestRef): string {
  return KEYS.planName + identityKey(change);
}
