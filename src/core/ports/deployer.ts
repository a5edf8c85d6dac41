import type {
  Application,
  ApplicationSet,
  ApplicationSpec,
  LiveApplication,
  Manifest,
  Pin,
  SetId,
} from "../model/application.js";
import type { ApplicationName, Revision } from "../model/brand.js";
import type { ChangeRequest, ChangeRequestRef, HeadRef } from "../model/change-request.js";
import type { JsonText } from "../model/json.js";
import type { SyncProgress } from "../model/progress.js";
import type { SyncedResource, SyncOutcome } from "../model/result.js";
import type { RolloutLine } from "../model/rollout.js";
import type { LockStore } from "./stores.js";

export interface RenderRequest {
  /** With the spec to render: the live one for `in-place`, the desired one for `temporary`. */
  readonly application: Application;
  /** `in-place`: Argo CD renders its live spec at the pins. `temporary`: a copy with our spec is created, rendered and deleted. */
  readonly mode: "in-place" | "temporary";
  readonly pins: readonly Pin[];
  readonly side: "head" | "base";
  readonly change: HeadRef;
  /** 1-based positions of the sources that Helm renders: there a temporary Application needs the real release name. */
  readonly helmPositions: readonly number[];
  /** Bypass Argo CD's manifest cache (`noCache`). */
  readonly fresh: boolean;
  /** It shows what no sync of the plan deploys. Its temporary Application has another name than the plan's own. */
  readonly preview?: boolean;
}

export interface SyncRequest {
  readonly application: LiveApplication;
  /** `target` deploys the configured target revisions (an empty revision on the wire). */
  readonly at: readonly Pin[] | "target";
  readonly dryRun: boolean;
  readonly prune: boolean;
  readonly runId: string;
  readonly change: ChangeRequestRef;
  readonly onProgress?: (progress: SyncProgress) => void;
}

/** Identifies one of our sync operations. */
export interface SyncLookup extends Pick<SyncRequest, "application" | "at" | "runId"> {
  /** The application's definition was read after the sync had started: the options of its sources may be newer. */
  readonly readLater?: boolean;
}

/** A sync operation that an earlier attempt of the run may have started. */
export type FollowRequest = SyncLookup & Pick<SyncRequest, "onProgress">;

/** Names an Application resource: `<name>`, or `<namespace>/<name>` outside Argo CD's own namespace. */
export type Naming = (namespace: string | undefined, name: string) => ApplicationName;

/** Argo CD. Methods throw `DeployerFailure`. */
export interface Deployer {
  /** Proves that Argo CD is reachable and the token valid. */
  check(): Promise<{ readonly version: string; readonly account: string }>;
  /** How svc names Application resources; depends on Argo CD's own namespace. */
  naming(): Promise<Naming>;
  /** Every application that the token can see. Cached for a few seconds; not from before `since`. */
  listApplications(signal?: AbortSignal, since?: Date): Promise<readonly Application[]>;
  /** Some of the applications that Argo CD could not compare last, and why: it could not make their manifests, as a rule. */
  uncompared(signal?: AbortSignal): Promise<ReadonlyMap<ApplicationName, string>>;
  /** How Argo CD lists every application that the token can see, as it is now, in one call. */
  rolloutLines(): Promise<ReadonlyMap<ApplicationName, RolloutLine>>;
  /** The applications that own each of these objects in their cluster, by `<group>/<kind>/<namespace>/<name>`. */
  ownersOf(
    objects: ReadonlySet<string>,
    signal?: AbortSignal,
  ): Promise<ReadonlyMap<string, readonly ApplicationName[]>>;
  /** One application, never cached. Undefined if it does not exist or is not visible. */
  findApplication(name: ApplicationName, signal?: AbortSignal): Promise<LiveApplication | undefined>;
  /** Whether an application is gone from its project, and svc sees it in no other; false if svc may not read the project. */
  isGone(name: ApplicationName, project: string): Promise<boolean>;
  /** Rendered manifests, without traces of a temporary Application's name or of Argo CD's resource tracking. */
  renderManifests(request: RenderRequest, signal: AbortSignal): Promise<JsonText<readonly Manifest[]>>;
  /** Why `fresh` has no effect, as a sentence without a full stop; undefined if it has. Cached for a few minutes. */
  whyNotFresh(): Promise<string | undefined>;
  /** Those settings of Argo CD that affect rendering, as one text to compare. Cached for a few minutes. */
  renderingSettings(): Promise<string>;
  /** The application's objects in the cluster, after a refresh by Argo CD. Values of Secrets are masked. */
  liveResources(application: LiveApplication, signal: AbortSignal): Promise<JsonText<LiveState>>;
  /** What Kubernetes would say to new versions of objects, in their order. Nothing is written. What prevents the question is an answer. */
  tryObjects(request: TrialRequest, signal: AbortSignal): Promise<readonly Trial[]>;
  /** The Applications that a set would generate now. The caller pins its git generators of this repository. */
  expandApplicationSet(
    set: ApplicationSet,
    change: ChangeRequestRef,
    signal: AbortSignal,
  ): Promise<readonly Application[]>;
  /** Every ApplicationSet that the token can see, as Argo CD runs it. Cached for a few seconds; not from before `since`. */
  listApplicationSets(signal?: AbortSignal, since?: Date): Promise<readonly ApplicationSet[]>;
  /** An ApplicationSet as Argo CD runs it. Undefined if it does not exist or is not visible. */
  findApplicationSet(set: SetId, signal?: AbortSignal): Promise<ApplicationSet | undefined>;
  /** Sorted names of the applications that a set owns now. Expensive: reads every application in full. */
  applicationsOfSet(set: SetId, signal?: AbortSignal): Promise<readonly ApplicationName[]>;
  /** Replaces the definition. Returns it as Argo CD stored it, without members that it does not know. */
  updateSpec(application: Application, spec: ApplicationSpec): Promise<ApplicationSpec>;
  /** Starts one sync and follows it to its end or the time-out. Throws if Argo CD refuses to start it. */
  sync(request: SyncRequest): Promise<SyncOutcome>;
  /** Follows an earlier sync to its end. Undefined if Argo CD's current or last operation is another one. */
  follow(request: FollowRequest): Promise<SyncOutcome | undefined>;
  /** How an earlier sync ended. Undefined while it runs, and if Argo CD's last operation is another one. */
  findOutcome(lookup: SyncLookup): Promise<SyncOutcome | undefined>;
  /** The health after one of our syncs. `refresh` asks Argo CD to compare now, if it has not since the sync ended. */
  healthAfter(lookup: SyncLookup, options: { readonly refresh: boolean }): Promise<HealthReport>;
  /** Deletes expired temporary Applications and returns how many. */
  sweep(now: Date): Promise<number>;
}

/** What Argo CD says of an application's health; everything in it is untrusted. */
export type HealthReport =
  /** Nothing yet that includes the sync. */
  | { readonly kind: "not-compared" }
  | { readonly kind: "replaced" }
  | {
      readonly kind: "compared";
      /** Healthy, Suspended, Progressing, Degraded, Missing, Unknown. */
      readonly health: string;
      /** When it got so, as Argo CD writes it; undefined if it does not say. */
      readonly since: string | undefined;
      /** The objects that it is not Healthy for, those that know most first; `status` is their health. */
      readonly unhealthy: readonly SyncedResource[];
    };

export interface LiveState {
  readonly resources: readonly LiveResource[];
  /** Version of the cluster's Kubernetes; undefined if Argo CD does not tell it. */
  readonly kubernetes?: string | undefined;
  /** A sentence for people on why the state may be outdated; undefined if Argo CD just compared it. */
  readonly stale: string | undefined;
}

export interface LiveResource {
  readonly group: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** As Argo CD compares it, without ignored fields. Undefined if it is not in the cluster. */
  readonly live: Manifest | undefined;
  readonly whole: Manifest | undefined;
  /** Its last-applied annotation; undefined without one, as after a server-side apply. */
  readonly lastApplied: Manifest | undefined;
  readonly hook: boolean;
  /** Whether its tracking id names another object, as a controller's copy of that does. A sync prunes no such object. */
  readonly copied: boolean;
}

/** Objects to try. They go to the cluster that the application runs in now. */
export interface TrialRequest {
  readonly application: LiveApplication;
  readonly objects: readonly TrialObject[];
  readonly change: ChangeRequestRef;
}

/** One object as the head renders it. */
export interface TrialObject extends Pick<LiveResource, "group" | "kind" | "namespace" | "name"> {
  /** It has its namespace unless its kind has none, or is not one of Kubernetes' own and the render left it out. */
  readonly manifest: Manifest;
}

export type Trial =
  /** Without an answer for an object that is new, and where the answer cannot be read. */
  | { readonly kind: "accepted"; readonly answer?: ObjectAnswer | undefined }
  | {
      readonly kind: "refused";
      readonly cause: RefusalCause;
      /** In Kubernetes' words without the values that it quotes: `spec.selector: field is immutable`. Untrusted. */
      readonly message: string;
      readonly created: boolean;
      readonly lastApplied: Manifest | undefined;
    }
  /** It is not known; the sentence has no full stop and is untrusted. */
  | { readonly kind: "untried"; readonly reason: string };

/**
 * An object of the cluster before and after a server-side apply. What was applied client-side stays in it although the manifest
 * has lost it, and neither has the fields that Argo CD ignores.
 */
export interface ObjectAnswer {
  readonly before: JsonText<Manifest>;
  readonly after: JsonText<Manifest>;
  readonly whole: JsonText<Manifest>;
  readonly lastApplied: Manifest | undefined;
}

export type RefusalCause =
  | "immutable"
  | "invalid" // the object itself is wrong
  | "conflict" // members that exclude each other, as when old and new ones are merged
  | "unknown-field"
  | "denied" // by a policy, a quota or another admission check
  | "no-namespace"
  | "no-kind"; // its custom resource definition is missing

/** Manifests with the commit that Argo CD rendered them at, whose id may appear in their values. */
export interface RenderedManifests {
  readonly manifests: JsonText<readonly Manifest[]>;
  readonly renderedAt: Revision;
}

/** Earlier renders, by a key that covers all their inputs. In memory only. */
export interface RenderCache {
  find(key: string): RenderedManifests | undefined;
  keep(key: string, rendered: RenderedManifests): void;
}

/** Renders of a pushed head that are asked for while git still fetches it. */
export interface RendersAhead {
  /** Notes what to ask for at the next push. Call it for what an automatic plan renders of the head while its change request holds the lock. */
  remember(request: RenderRequest, change: ChangeRequest): void;
  /** Asks for what the last automatic plan remembered, where nothing has changed since that decides whether it may be rendered. */
  ask(change: ChangeRequest, source: AskingSource): void;
  /** The answer, once; undefined if this is not what was asked for, or that failed: then it is to be asked for again. */
  take(request: RenderRequest): Promise<JsonText<readonly Manifest[]> | undefined>;
  /** Stops what no plan took. */
  stop(change: ChangeRequestRef): void;
}

/** What `RendersAhead.ask` asks with, until the signal stops it. */
export interface AskingSource {
  readonly deployer: Pick<Deployer, "listApplications" | "renderManifests">;
  readonly locks: Pick<LockStore, "list">;
  readonly signal: AbortSignal;
}

/** Major and minor number of a version, as `3.2`; undefined if the text begins with none. */
export function shortVersion(version: string): string | undefined {
  return /^v?(\d{1,4}\.\d{1,4})/.exec(version)?.[1];
}

/** Whether a version comes before `oldest`, by major and minor number; undefined if it is no version. */
export function isOlder(version: string, oldest: string): boolean | undefined {
  const short = shortVersion(version);
  if (short === undefined) return undefined;
  const [[major = 0, minor = 0], [leastMajor = 0, leastMinor = 0]] = [numbersOf(short), numbersOf(oldest)];
  return major === leastMajor ? minor < leastMinor : major < leastMajor;
}

function numbersOf(short: string): readonly number[] {
  return short.split(".").map(Number);
}
