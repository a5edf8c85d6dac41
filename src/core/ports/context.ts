import type { Settings } from "../../config/settings.js";
import type { ChangeRequest } from "../model/change-request.js";
import type { AllHostWords } from "../model/host-words.js";
import type { TellProgress } from "../model/progress.js";
import type { BegunApplication } from "../model/run-notes.js";
import type { User } from "../model/user.js";
import type { Clock } from "./clock.js";
import type { CodeHost } from "./code-host.js";
import type { Deployer } from "./deployer.js";
import type { DeploymentStore } from "./deployment-store.js";
import type { LockStore } from "./lock-store.js";
import type { Log } from "./log.js";
import type { ManifestScanner } from "./manifest-scanner.js";
import type { PlanStore } from "./plan-store.js";
import type { RenderCache } from "./render-cache.js";
import type { RepositorySnapshot } from "./repositories.js";

/** What a command may look at and act on. */
export interface CommandContext extends CommandPorts {
  /** Fresh facts, read once when the command began. */
  readonly change: ChangeRequest;
  readonly settings: Settings;
  readonly snapshot: RepositorySnapshot;
  readonly host: CodeHost;
  /** Who asked, or for an automatic plan who opened the change request. */
  readonly user: User;
  /** Nobody wrote the command: an event of the host began it. */
  readonly automatic: boolean;
  /** One id per run: in log lines and in Argo CD's operation. */
  readonly run: string;
  /** Stops a plan; a sync that has begun is followed to its end. */
  readonly signal: AbortSignal;
  /** Policy and repository once more, for facts of now: the target branch may have moved since the command began. */
  readonly reload: (change: ChangeRequest) => Promise<Reloaded>;
  /** Writes down what is about to be deployed, for the run that goes on after a crash. @throws {StoreUnavailable} */
  readonly begin: (applications: readonly BegunApplication[]) => Promise<void>;
  /** Told how far each application is while a command deploys. */
  readonly progress: TellProgress;
}

/** What depends on the commits of a change request; with `problems`, nothing may be planned or deployed. */
export interface Reloaded {
  readonly settings: Settings;
  readonly problems: readonly string[];
  readonly snapshot: RepositorySnapshot;
}

/** The part that is the same for every command of the service. */
export interface CommandPorts {
  readonly deployer: Deployer;
  readonly locks: LockStore;
  readonly plans: PlanStore;
  readonly deployments: DeploymentStore;
  readonly scanner: ManifestScanner;
  /** Shared by all plans. */
  readonly renders: RenderCache;
  readonly clock: Clock;
  readonly log: Log;
  /** How each code host names things, for texts that people read. */
  readonly hostWords: AllHostWords;
  readonly temporaryApps: "auto" | "always";
  /** What plans compare the head with. */
  readonly diffMode: "branch" | "live";
}
