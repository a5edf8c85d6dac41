import type {
  Application,
  ApplicationSet,
  ApplicationSpec,
  LiveApplication,
  Manifest,
  Pin,
  SetId,
} from "../model/application.js";
import type { ApplicationName } from "../model/brand.js";
import type { ChangeRequestRef } from "../model/change-request.js";
import type { LiveState } from "../model/live-state.js";
import type { SyncProgress } from "../model/progress.js";
import type { SyncOutcome } from "../model/result.js";

/** How an application is to be rendered. */
export interface RenderRequest {
  /** With the spec to render: the live one in place, the desired one by temporary Application. */
  readonly application: Application;
  /** In place: Argo CD renders its own live spec at the pins. Temporary: a copy with our spec is created, rendered and deleted. */
  readonly mode: "in-place" | "temporary";
  readonly pins: readonly Pin[];
  readonly side: "head" | "base";
  readonly change: ChangeRequestRef;
  /** Positions (1-based) of sources that Helm renders: a temporary Application gets the real release name there. */
  readonly helmPositions: readonly number[];
  /** Bypass Argo CD's manifest cache (`noCache`). */
  readonly fresh: boolean;
}

/** Follow a sync to its end; progress is told after each poll. */
export interface SyncRequest {
  readonly application: LiveApplication;
  /** `target` deploys the configured target revisions (an empty revision on the wire). */
  readonly at: readonly Pin[] | "target";
  readonly dryRun: boolean;
  readonly prune: boolean;
  /** Correlation id of this run, stored in the operation. */
  readonly run: string;
  readonly change: ChangeRequestRef;
  readonly onProgress?: (progress: SyncProgress) => void;
}

/** Names one sync operation of ours. */
export type SyncLookup = Pick<SyncRequest, "application" | "at" | "run">;

/** A sync operation of ours that an earlier attempt of the run may have started. */
export type FollowRequest = SyncLookup & Pick<SyncRequest, "onProgress">;

/** Names an Application resource: `<name>`, or `<namespace>/<name>` outside Argo CD's own namespace. */
export type Naming = (namespace: string | undefined, name: string) => ApplicationName;

/** Argo CD. Methods throw `DeployerFailure`. */
export interface Deployer {
  /** Proves that Argo CD is reachable and the token valid; returns what a person should know (server version, account). */
  check(): Promise<{ readonly version: string; readonly account: string }>;
  /** How svc names an Application resource with this namespace and name, by Argo CD's own namespace. */
  naming(): Promise<Naming>;
  /** Every application that the token can see. Cached for some seconds. */
  listApplications(signal?: AbortSignal): Promise<readonly Application[]>;
  /** One application, read fresh; undefined when it does not exist or is not visible. */
  findApplication(name: ApplicationName, signal?: AbortSignal): Promise<LiveApplication | undefined>;
  /** Rendered manifests without what the name of a temporary Application or Argo CD's tracking puts into them. */
  renderManifests(request: RenderRequest, signal?: AbortSignal): Promise<readonly Manifest[]>;
  /** What of Argo CD's settings decides how it renders, as one text to compare; asked for every few minutes at most. */
  renderingSettings(): Promise<string>;
  /** What the cluster has of this application, after Argo CD compared it anew; the values of Secrets are masked. */
  liveResources(application: LiveApplication, signal?: AbortSignal): Promise<LiveState>;
  /** The Applications that a set would generate now; its git generators of this repository are pinned by the caller. */
  expandApplicationSet(set: ApplicationSet, signal?: AbortSignal): Promise<readonly Application[]>;
  /** Every ApplicationSet that the token can see, as Argo CD runs it. Cached for some seconds. */
  listApplicationSets(signal?: AbortSignal): Promise<readonly ApplicationSet[]>;
  /** An ApplicationSet as Argo CD runs it; undefined when it does not exist or the token may not see it. */
  findApplicationSet(set: SetId, signal?: AbortSignal): Promise<ApplicationSet | undefined>;
  /** Names of the applications that a set owns now, sorted. One costly call that reads every application whole. */
  applicationsOfSet(set: SetId, signal?: AbortSignal): Promise<readonly ApplicationName[]>;
  /** Replaces the live spec. */
  updateSpec(application: Application, spec: ApplicationSpec): Promise<void>;
  /** Starts a sync once and follows it to its end or the time-out; throws when Argo CD refuses to start it. */
  sync(request: SyncRequest): Promise<SyncOutcome>;
  /** Follows a sync that was started before to its end; undefined when Argo CD's present or last operation is another one. */
  follow(request: FollowRequest): Promise<SyncOutcome | undefined>;
  /** How a sync ended that was started before; undefined while it runs, and when Argo CD remembers another operation. */
  findOutcome(lookup: SyncLookup): Promise<SyncOutcome | undefined>;
  /** Deletes temporary Applications that are past their expiry; returns how many. */
  sweep(now: Date): Promise<number>;
}
