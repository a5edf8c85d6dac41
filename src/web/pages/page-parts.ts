import type { AuditLog } from "../../core/ports/audit.js";
import type { Clock } from "../../core/ports/clock.js";
import type { DeploymentStore } from "../../core/ports/deployment-store.js";
import type { EventQueue } from "../../core/ports/event-queue.js";
import type { LockStore } from "../../core/ports/lock-store.js";
import type { PlanStore } from "../../core/ports/plan-store.js";
import type { UserStore } from "../../core/ports/user-store.js";
import type { HostPages } from "../host-pages.js";
import type { LiveStreams } from "../live/live-streams.js";
import type { StatusProbe } from "../status-probe.js";

/** What the pages need of the service. */
export interface PageParts {
  readonly locks: LockStore;
  readonly plans: PlanStore;
  readonly deployments: DeploymentStore;
  readonly audit: AuditLog;
  readonly users: Pick<UserStore, "list">;
  readonly streams: LiveStreams;
  readonly status: StatusProbe;
  readonly backlog: EventQueue["backlog"];
  readonly hostPages: HostPages;
  readonly version: string;
  readonly clock: Clock;
}
