import type { LockStore, PlanStore, UserStore } from "../../core/ports/ports.js";
import type { ForceUnlockParts } from "../force-unlock.js";
import type { HostPages } from "../host-pages.js";

/** What the API needs of the service. */
export interface ApiParts extends ForceUnlockParts {
  readonly locks: LockStore;
  readonly plans: PlanStore;
  readonly users: Pick<UserStore, "list" | "setRole">;
  readonly hostPages: HostPages;
}
