import type { ChangeRequestRef } from "../model/change-request.js";
import type { Plan } from "../model/plan.js";

/** The last plan of each change request, for 30 days. */
export interface PlanStore {
  save(plan: Plan): Promise<void>;
  find(change: ChangeRequestRef): Promise<Plan | undefined>;
}
