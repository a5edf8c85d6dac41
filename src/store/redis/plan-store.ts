import { changeRequestKey, type ChangeRequestRef } from "../../core/model/change-request.js";
import { PLAN_LIFETIME_MS, type Plan } from "../../core/model/plan.js";
import type { PlanStore } from "../../core/ports/plan-store.js";
import { PLAN_KEY_PREFIX } from "../../names.js";
import type { RedisConnection } from "./connection.js";
import { planRecordOf, readPlan } from "./plan-record.js";

/** The last plan of each change request, under `svc:plan:<host>/<repository>/<number>`. */
export class RedisPlanStore implements PlanStore {
  constructor(private readonly connection: RedisConnection) {}

  async save(plan: Plan): Promise<void> {
    const record = planRecordOf(plan);
    await this.connection.run((redis) => redis.set(planKey(plan.change), record, "PX", PLAN_LIFETIME_MS));
  }

  async find(change: ChangeRequestRef): Promise<Plan | undefined> {
    const key = planKey(change);
    const record = await this.connection.run((redis) => redis.get(key));
    return record === null ? undefined : readPlan(record, key);
  }
}

function planKey(change: ChangeRequestRef): string {
  return PLAN_KEY_PREFIX + changeRequestKey(change);
}
