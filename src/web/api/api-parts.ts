import type { LockStore } from "../../core/ports/lock-store.js";
import type { PlanStore } from "../../core/ports/plan-store.js";
import type { UserStore } from "../../core/ports/user-store.js";
import type { ForceUnlockParts } from "../force-unlock.js";
import type { HostPages } from "../host-pages.js";

/** What the API needs of the service. */
export interface ApiParts extends ForceUnlockParts {
  readonly locks: LockStore;
  readonly plans: PlanStore;
  readonly users: Pick<UserStore, "list" | "setRole">;
  readonly hostPages: HostPages;
}
