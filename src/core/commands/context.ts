import type { Settings } from "../../config/settings.js";
import type { ChangeRequest } from "../change-request.js";
import type { Clock } from "../clock.js";
import type { ManifestScanner } from "../detect/manifests.js";
import type { Log } from "../log.js";
import type { CodeHost, Deployer, DeploymentStore, LockStore, PlanStore, RepositorySnapshot } from "../ports.js";
import type { User } from "../user.js";

/** What a command may look at and act on. */
export interface CommandContext extends CommandPorts {
  /** Fresh facts, read once when the command began. */
  readonly change: ChangeRequest;
  readonly settings: Settings;
  readonly snapshot: RepositorySnapshot;
  readonly host: CodeHost;
  /** Who asked, or for an automatic plan who opened the change request. */
  readonly user: User;
  /** One id per run: in log lines and in Argo CD's operation. */
  readonly run: string;
  /** Stops a plan; a sync that has begun is followed to its end. */
  readonly signal: AbortSignal;
}

/** The part that is the same for every command of the service. */
export interface CommandPorts {
  readonly deployer: Deployer;
  readonly locks: LockStore;
  readonly plans: PlanStore;
  readonly deployments: DeploymentStore;
  readonly scanner: ManifestScanner;
  readonly clock: Clock;
  readonly log: Log;
  readonly temporaryApps: "auto" | "always";
}
