import type { HostId } from "../../names.js";
import type { ApplicationName } from "../model/brand.js";
import type { ChangeRequest, User } from "../model/change-request.js";
import type { Check } from "../model/check.js";
import type { AllHostWords } from "../model/host-words.js";
import type { Lock, Turn } from "../model/lock.js";
import type { ReportProgress, StartedApplication } from "../model/progress.js";
import type { Settings } from "../model/settings.js";
import type { CheckRunner } from "./check-runner.js";
import type { Clock } from "./clock.js";
import type { CodeHost } from "./code-host.js";
import type { Compute } from "./compute.js";
import type { RenderCache, RendersAhead } from "./deployer.js";
import type { Log } from "./log.js";
import type { ManifestScanner } from "./manifest-scanner.js";
import type { RunPorts } from "./reach.js";
import type { Snapshot } from "./snapshot.js";

/** A change request, as it was when its command started, and its commits. */
export interface Commits {
  readonly change: ChangeRequest;
  readonly snapshot: Snapshot;
}

/** A change request, its commits, and the settings that hold for it. */
export interface OpenedChange extends Commits {
  readonly settings: Settings;
}

export interface Stoppable {
  /** Aborts a plan. A sync that has started still runs to its end. */
  readonly signal: AbortSignal;
  readonly log: Log;
}

/** Everything that a command reads and acts on. What a command calls names the members that it takes. */
export interface CommandContext extends CommandPorts, OpenedChange, Stoppable {
  readonly host: CodeHost;
  /** Who gave the command; for an automatic plan, the author of the change request. */
  readonly user: User;
  /** An event of the host started the command, not a comment. */
  readonly automatic: boolean;
  /** Set if the release of these locks led to the command. */
  readonly turn?: Turn | undefined;
  /** When svc began with the command. */
  readonly since?: Date | undefined;
  /** The run's id, as in log lines and in Argo CD's operation. */
  readonly runId: string;
  /** Reads settings and repository again for newer facts: the target branch may have moved since the command started. */
  readonly reload: (change: ChangeRequest) => Promise<Reloaded>;
  /** Notes what is about to be deployed, for an attempt after a crash. @throws {StoreUnavailable} */
  readonly noteStarted: (
    applications: readonly StartedApplication[],
    skipped: readonly ApplicationName[],
    takenOver?: readonly Lock[],
  ) => Promise<void>;
  /** Locks that an earlier attempt of the run took over. */
  readonly takenBefore?: readonly Lock[] | undefined;
  readonly progress: ReportProgress;
}

/** What depends on the commits of a change request. If there are `problems`, nothing may be planned or deployed. */
export interface Reloaded {
  readonly settings: Settings;
  readonly problems: readonly string[];
  readonly snapshot: Snapshot;
}

export interface CommandPorts extends Pick<
  RunPorts,
  "deployer" | "locks" | "waiting" | "holds" | "plans" | "deployments"
> {
  readonly scanner: ManifestScanner;
  readonly renders: RenderCache;
  readonly rendersAhead: RendersAhead;
  readonly compute: Compute;
  readonly checkRunner: CheckRunner;
  readonly clock: Clock;
  readonly log: Log;
  /** Whether a person is logged in to the pages with this account, as an administrator. @throws {StoreUnavailable} */
  readonly isAdministrator: (host: HostId, user: User) => Promise<boolean>;
  readonly hostWords: AllHostWords;
  readonly temporaryApps: "auto" | "always";
  /** Whose times of the day people write. */
  readonly timezone: string;
  /** How many applications that it does not deploy a plan previews at most. */
  readonly previewLimit: number;
  /** What a plan compares the head with: the target branch, the live cluster, or each of them. */
  readonly diffMode: "branch" | "live" | "both";
  /** Whether a plan asks Kubernetes about what changes, where Argo CD can. */
  readonly serverDryRun: "auto" | "off";
  /** Programs that check what a plan renders; configured in the server's file only. */
  readonly checks: readonly Check[];
  /** Patterns for what must not be shown; see `redact`. */
  readonly redact: readonly string[];
}
