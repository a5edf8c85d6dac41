import { randomUUID } from "node:crypto";
import { LRUCache } from "lru-cache";
import * as z from "zod";
import {
  changeRequestKey,
  type ChangeRequestRef,
  identityKey,
  sameChangeRequest,
} from "../../core/model/change-request.js";
import { type Plan, PLAN_LIFETIME_MS } from "../../core/model/plan/plan.js";
import type { PlanStore } from "../../core/ports/stores.js";
import { vouched } from "../../http/redis.js";
import { KEYS } from "../../names.js";
import type { RedisConnection } from "./connection.js";
import { readStored, stored } from "./stored-value.js";

const { list } = stored;
const plan = vouched<Plan>(
  z.object({
    change: stored.change,
    head: stored.revision,
    plannedAt: stored.time,
    applications: list,
    applicationSets: list,
    previews: list,
    notDeployed: list,
    released: list,
    unread: list,
    notes: list,
  }),
);
const planRecord = z.object({ v: z.literal(1), id: z.string(), plan });

/** The beginning of a record, which differs for each save: `{"v":1,"id":"<uuid>"`. */
const START_LENGTH = '{"v":1,"id":""'.length + 36;
/** Total characters of cached records. A plan with long diffs is read several times by one run. */
const CACHE_LIMIT = 32 * 1024 * 1024;

const ownerRecord = z.object({ v: z.literal(1), repositoryId: z.string() });

/**
 * The last plan of each change request, under `svc:plan:<host>/#<repository id>/<number>`, and whose it was that was planned last under
 * a name, under `svc:plan-owner:<host>/<repository>/<number>`: pages look by name.
 */
export class RedisPlanStore implements PlanStore {
  /** Plans by key. Each is used only while Redis has the same record: reading a large one takes a tenth of a second. */
  readonly #kept = new LRUCache<string, { readonly start: string; readonly plan: Plan }>({ maxSize: CACHE_LIMIT });

  constructor(private readonly connection: RedisConnection) {}

  async save(plan: Plan): Promise<void> {
    const { change } = plan;
    const { repositoryId } = change;
    const [key, record] = [planKey(change), JSON.stringify({ v: 1, id: randomUUID(), plan })];
    if (repositoryId !== undefined) {
      const owner = JSON.stringify({ v: 1, repositoryId });
      await this.connection.run((redis) => redis.set(ownerKey(change), owner, "PX", PLAN_LIFETIME_MS));
    }
    await this.connection.run((redis) => redis.set(key, record, "PX", PLAN_LIFETIME_MS));
    this.#keep(key, record, plan);
  }

  /** Without an id, gives the plan of whichever repository had the name last, if it still has it. */
  async find(change: ChangeRequestRef): Promise<Plan | undefined> {
    const repositoryId = change.repositoryId ?? (await this.#ownerOf(change));
    const plan = await this.#read(planKey({ ...change, repositoryId }));
    return plan !== undefined && sameChangeRequest(plan.change, change) ? plan : undefined;
  }

  async #ownerOf(change: ChangeRequestRef): Promise<string | undefined> {
    const key = ownerKey(change);
    const text = await this.connection.run((redis) => redis.get(key));
    return text === null ? undefined : readStored(ownerRecord, text, "the record of a planned name", key).repositoryId;
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
  return KEYS.plan + identityKey(change);
}

function ownerKey(change: ChangeRequestRef): string {
  return KEYS.planOwner + changeRequestKey(change);
}
