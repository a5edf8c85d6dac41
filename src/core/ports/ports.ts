import type { HostId } from "../../names.js";
import type { Account, Role } from "../model/account.js";
import type {
  Application,
  ApplicationSet,
  ApplicationSpec,
  LiveApplication,
  Manifest,
  Pin,
  SetId,
} from "../model/application.js";
import type { Approval } from "../model/approval.js";
import type { ApplicationName, Revision } from "../model/brand.js";
import type { ChangeRequest, ChangeRequestRef, Mergeability } from "../model/change-request.js";
import type { CommitRange } from "../model/commit-range.js";
import type { Deployment } from "../model/deployment.js";
import type { LiveRun } from "../model/live-run.js";
import type { LiveState } from "../model/live-state.js";
import type { Lock, LockAttempt, LockRequest } from "../model/lock.js";
import type { Plan } from "../model/plan.js";
import type { SyncProgress } from "../model/progress.js";
import type { MergeIntent, SyncOutcome } from "../model/result.js";
import type { User } from "../model/user.js";

/** GitHub or GitLab. Methods throw `HostFailure` when the host is broken or says no. */
export interface CodeHost {
  readonly id: HostId;
  /** Our own account, asked once and kept; also proves that the credentials work. */
  self(): Promise<User>;
  /** One small call with our credentials, never answered from memory: proves that the host is there now. */
  reach(): Promise<void>;
  /** Fresh facts from the API, never cached. */
  getChangeRequest(change: ChangeRequestRef, signal?: AbortSignal): Promise<ChangeRequest>;
  /** Fresh as well, in one call. */
  state(change: ChangeRequestRef): Promise<ChangeRequest["state"]>;
  /** Polls for at most 20 seconds while the host still computes it, then `unknown`. */
  mergeability(change: ChangeRequestRef, signal?: AbortSignal): Promise<Mergeability>;
  /** Read fresh: who approved the head commit given here. */
  approval(change: ChangeRequest): Promise<Approval>;
  /** Whether this person has write access to the repository now (GitHub write, GitLab Developer). */
  mayCommand(change: ChangeRequestRef, user: User): Promise<boolean>;
  /** Where git reads the repository, with credentials that live for this call's purpose only. */
  cloneSource(change: ChangeRequestRef): Promise<CloneSource>;
  /** Comments of our own account on the change request, oldest first. */
  listOwnComments(change: ChangeRequestRef): Promise<readonly OwnComment[]>;
  /** Posts one comment and returns its id. Sent once: never repeated after an unknown outcome. */
  postComment(change: ChangeRequestRef, body: string): Promise<string>;
  editComment(change: ChangeRequestRef, commentId: string, body: string): Promise<void>;
  /** Where a person reads one of our comments. */
  commentUrl(change: ChangeRequest, commentId: string): string;
  /** One of three marks on a person's comment. Setting the same twice is no error. */
  react(change: ChangeRequestRef, commentId: string, reaction: Reaction): Promise<void>;
  /** Hides an outdated comment of our own where the host can (GitHub minimises; GitLab cannot: does nothing). */
  minimise(change: ChangeRequestRef, commentId: string): Promise<void>;
  /** Sets the commit status `svc/sync` of the change request's head; GitLab without a pipeline for it: does nothing. */
  setStatus(change: ChangeRequest, status: CommitStatus): Promise<void>;
  /** Whether the person belongs to one of these: `<org>/<team-slug>` on GitHub, a group's full path on GitLab. */
  belongsToAny(change: ChangeRequestRef, user: User, teams: readonly string[]): Promise<boolean>;
  /** Merges if the head is still `change.headRevision`, then deletes the source branch if asked and allowed. */
  merge(change: ChangeRequest, intent: MergeIntent): Promise<MergeOutcome>;
}

export interface CloneSource {
  /** HTTPS URL without credentials. */
  readonly url: string;
  /** Value of the `Authorization` header for git; undefined for a public server. */
  readonly authorization: string | undefined;
  /** The host's ref of the change request's head in the target repository, forks included. */
  readonly headRef: string;
}

export interface OwnComment {
  readonly id: string;
  readonly body: string;
}

/** Marks on a person's command: it was read, it did what was asked, or it did not. */
export type Reaction = "seen" | "done" | "failed";

/** What the commit status `svc/sync` says. */
export interface CommitStatus {
  readonly state: "pending" | "success" | "failure";
  /** One line; cut to what the host takes (140 characters on GitHub, 255 on GitLab). */
  readonly description: string;
  /** Where a person who clicks on the status is led; undefined leads nowhere. */
  readonly url: string | undefined;
}

/** `note` tells what went wrong after the merge (the branch could not be deleted). */
export type MergeOutcome =
  | { readonly kind: "merged"; readonly note: string | undefined }
  | { readonly kind: "refused"; readonly reason: string };

/** Reads repositories without a checkout. Methods throw `RepositoryFailure`. */
export interface Repositories {
  /** Makes head, base tip and merge base readable. @throws {HeadMoved} when git fetches another head than `change` has. */
  open(change: ChangeRequest, source: CloneSource, signal?: AbortSignal): Promise<RepositorySnapshot>;
}

/** A repository at the commits of one change request. */
export interface RepositorySnapshot {
  /** Every entry of the whole tree at this commit, sorted by path. */
  list(revision: Revision): Promise<readonly TreeEntry[]>;
  /** Texts of regular files by path; paths that are missing, no regular file, binary or over 1 MiB are absent from the answer. */
  read(revision: Revision, paths: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Paths that differ between two commits: both names of a rename, deletions, mode changes, submodules. */
  changedPaths(from: Revision, to: Revision): Promise<readonly string[]>;
  /** The target text of each symbolic link by its path, untrusted; those over 4 KiB or not UTF-8 are absent from the answer. */
  linkTargets(revision: Revision): Promise<ReadonlyMap<string, string>>;
  /** The commits that are reachable from `to` and not from `from`. History is fetched as far as it is needed. */
  commitsBetween(from: Revision, to: Revision): Promise<CommitRange>;
}

export interface TreeEntry {
  readonly path: string;
  readonly kind: "file" | "symlink" | "submodule";
  /** A file with the executable bit; false for everything else. */
  readonly executable: boolean;
  /** Git object id of the content. */
  readonly blob: string;
}

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

/** One lock per application. Methods throw `StoreUnavailable`. */
export interface LockStore {
  /** Atomic: takes a free lock, refreshes our own, or tells who holds it. */
  acquire(request: LockRequest, now: Date): Promise<LockAttempt>;
  /** Atomic: removes the lock if `by` holds it; true when a lock was removed. */
  release(application: ApplicationName, by: ChangeRequestRef | "anyone"): Promise<boolean>;
  find(application: ApplicationName): Promise<Lock | undefined>;
  /** Locks of this holder, or all, sorted by application. */
  list(holder?: ChangeRequestRef): Promise<readonly Lock[]>;
  ping(): Promise<void>;
}

/** The last plan of each change request, for 30 days. */
export interface PlanStore {
  save(plan: Plan): Promise<void>;
  find(change: ChangeRequestRef): Promise<Plan | undefined>;
}

/** Records "deployed, not merged": one per application and change request. */
export interface DeploymentStore {
  save(deployment: Deployment): Promise<void>;
  remove(application: ApplicationName, change: ChangeRequestRef): Promise<void>;
  ofApplication(application: ApplicationName): Promise<readonly Deployment[]>;
  ofChange(change: ChangeRequestRef): Promise<readonly Deployment[]>;
  list(): Promise<readonly Deployment[]>;
}

/** Carries the progress of running commands to the pages that show it. */
export interface LiveFeed {
  /** Returns at once and never throws; a run that nobody looks at is told to nobody. */
  publish(change: ChangeRequestRef, run: LiveRun): void;
  /** Tells of the run that is under way, if there is one, and of everything after; the answer ends it. */
  subscribe(change: ChangeRequestRef, listener: (run: LiveRun) => void): () => void;
}

/** People who have logged in to the pages. Methods throw `StoreUnavailable`. */
export interface UserStore {
  /** Notes a login; answers the account with the role that counts: the one an admin set, or else the one of this login. */
  signIn(account: Account): Promise<Account>;
  /** The account with the role it has now; undefined when nobody with this id has logged in. */
  find(id: string): Promise<Account | undefined>;
  /** Those with a live session, sorted by username. */
  list(): Promise<readonly Account[]>;
  /** Sets a role that stays over later logins, until it is set again; undefined when there is no such account. */
  setRole(id: string, role: Role, by: Account): Promise<Account | undefined>;
}
