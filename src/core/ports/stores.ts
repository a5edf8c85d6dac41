import type { Account } from "../model/account.js";
import type { ApplicationName, Revision } from "../model/brand.js";
import type { ChangeNote, ChangeRequestRef, HeadRef } from "../model/change-request.js";
import type { Deployment } from "../model/deployment.js";
import type { OnUnreadable } from "../model/errors.js";
import type { Hold } from "../model/hold.js";
import type { Lock, LockAttempt, LockRequest, Waiting } from "../model/lock.js";
import type { Plan } from "../model/plan/plan.js";
import type { Rollout } from "../model/rollout.js";
import type { Role } from "../model/settings.js";
import type { CommitStatus } from "./code-host.js";

/** One lock per application. Methods throw `StoreUnavailable`. */
export interface LockStore {
  /** Atomic: takes a free lock, or that of `from`, refreshes our own, or returns the holder's. */
  acquire(request: LockRequest, now: Date, from?: ChangeRequestRef): Promise<LockAttempt>;
  /** Atomic: removes the lock if `by` holds it. True if it removed one. */
  release(application: ApplicationName, by: ChangeRequestRef): Promise<boolean>;
  find(application: ApplicationName): Promise<Lock | undefined>;
  /** The locks of `holder`, or all of them, sorted by application. */
  list(holder?: ChangeRequestRef, skip?: OnUnreadable): Promise<readonly Lock[]>;
  ping(): Promise<void>;
}

/** Who waits for the lock of an application that another change request holds. Methods throw `StoreUnavailable`. */
export interface WaitStore {
  /** Atomic: puts it at the end, or before all others, unless it waits already. @returns Its place from 1; undefined if `MAX_WAITING` others wait. */
  join(application: ApplicationName, change: ChangeRequestRef, where?: "first"): Promise<number | undefined>;
  leave(application: ApplicationName, change: ChangeRequestRef): Promise<boolean>;
  /** The queue of one application; whoever asked first comes first. */
  of(application: ApplicationName): Promise<readonly ChangeRequestRef[]>;
  /** Every queue that is not empty, sorted by application. */
  list(skip?: OnUnreadable): Promise<readonly Waiting[]>;
}

/** What is neither synced nor merged for a time. Methods throw `StoreUnavailable`. */
export interface HoldStore {
  /** Keeps a hold until its end; one that has ended at `now` is not kept. */
  save(hold: Hold, now: Date): Promise<void>;
  /** @returns The hold, if it stood. */
  remove(id: string): Promise<Hold | undefined>;
  /** Every hold that stands, the oldest first. @throws {StoredValueUnreadable} */
  list(): Promise<readonly Hold[]>;
}

/** What merges roll out. Methods throw `StoreUnavailable`. */
export interface RolloutStore {
  /** Keeps it until `PLAN_LIFETIME_MS` after its time, and so no shorter than its plan: a merge that is reported again starts none. */
  save(rollout: Rollout, now: Date): Promise<void>;
  find(change: ChangeRequestRef): Promise<Rollout | undefined>;
  /** Those that have not ended, the oldest first. Logs and skips what it cannot read. */
  list(): Promise<readonly Rollout[]>;
}

/** The last plan of each change request, for 30 days. */
export interface PlanStore {
  save(plan: Plan): Promise<void>;
  find(change: ChangeRequestRef): Promise<Plan | undefined>;
}

/** Records "deployed, not merged": one per application and change request. */
export interface DeploymentStore {
  save(deployment: Deployment): Promise<void>;
  /** Atomic. With a uid, only a record of that Application is removed. */
  remove(application: ApplicationName, change: ChangeRequestRef, uid?: string): Promise<void>;
  ofApplication(application: ApplicationName): Promise<readonly Deployment[]>;
  ofChange(change: ChangeRequestRef, skip?: OnUnreadable): Promise<readonly Deployment[]>;
  list(skip?: OnUnreadable): Promise<readonly Deployment[]>;
}

/** The commit status that one change request would have if no other had its head. */
export interface OwnStatus extends CommitStatus {
  readonly change: HeadRef;
}

/** The own statuses of open change requests, by head. Methods throw `StoreUnavailable`. */
export interface StatusStore {
  /** Replaces the change request's status, at this head or another. @returns The other head, if it had one. */
  save(status: OwnStatus): Promise<Revision | undefined>;
  /** Forgets a change request that is no longer open. @returns The head that it had. */
  remove(change: ChangeRequestRef): Promise<Revision | undefined>;
  /** The statuses of all change requests with the same head in the same repository, by number. */
  ofHead(head: HeadRef): Promise<readonly OwnStatus[]>;
  /** Every change request that shares its head with another one. */
  listShared(): Promise<readonly ChangeRequestRef[]>;
  /** Counts a status that is set for this head. @returns The count, kept for 90 days after the last one. */
  countWrite(head: HeadRef): Promise<number>;
  /**
   * Runs `work` while no other replica or run does so for this head, and waits for its turn.
   * `isOurs` is false once others may have had their turn, because `work` took too long.
   * @throws {StoreUnavailable} also if the turn does not come.
   */
  exclusively<T>(head: HeadRef, work: (isOurs: () => Promise<boolean>) => Promise<T>): Promise<T>;
}

/** A change request whose texts may be out of date. */
export interface Mark {
  readonly change: ChangeRequestRef;
  /** Another one each time the mark is set. */
  readonly turn: number;
  /** It was set because of what somebody else did, so nobody waits for it. */
  readonly patient: boolean;
}

/** A text that svc keeps true, which plan an approval may start the sync of, and the time of the last reminder. */
export type Surface = "status" | "plan" | "approval" | "reminder";

/** Which change requests have to be brought up to date, and whom a change of an application concerns. Methods throw `StoreUnavailable`. */
export interface MarkStore {
  /** Marks them, to be taken from `due` on, or from an earlier time that was set before for the same kind of mark. */
  set(changes: readonly ChangeRequestRef[], due: Date, patient?: boolean): Promise<void>;
  /** Takes up to `most` due marks, atomically: the earliest first, and patient ones last. Others do not get them before `until`. */
  take(now: Date, until: Date, most: number): Promise<readonly Mark[]>;
  /** Atomic: removes a mark, unless it was set again since it was taken. */
  remove(mark: Mark): Promise<void>;
  /** Atomic: sets a patient mark again for later, unless it was set again since it was taken. */
  postpone(mark: Mark, until: Date): Promise<void>;
  /** Notes that a change request shows the state of these applications, for 30 days. */
  concern(change: ChangeRequestRef, applications: readonly ApplicationName[]): Promise<void>;
  /** It shows the state of no application any more. */
  forget(change: ChangeRequestRef): Promise<void>;
  concernedBy(application: ApplicationName): Promise<readonly ChangeRequestRef[]>;
  /** The applications whose state somebody shows. */
  applications(): Promise<readonly ApplicationName[]>;
  /** The digest of what a surface shows; undefined if that is not known, or 30 days old. */
  written(change: ChangeRequestRef, surface: Surface): Promise<string | undefined>;
  wrote(change: ChangeRequestRef, surface: Surface, digest: string | undefined): Promise<void>;
  /** Notes what the host says of a change request, for 30 days. */
  describe(change: ChangeRequestRef, note: ChangeNote): Promise<void>;
  /** What the host said last of each, in their order; undefined where that is not known. */
  described(changes: readonly ChangeRequestRef[]): Promise<readonly (ChangeNote | undefined)[]>;
}

/** For how long the own status of an open change request is known without an event. */
export const OWN_STATUS_LIFETIME_MS = 30 * 24 * 60 * 60 * 1000;

export const WRITES_LIFETIME_MS = 90 * 24 * 60 * 60 * 1000;

/** Users of the pages. Methods throw `StoreUnavailable`. */
export interface UserStore {
  /**
   * Records a login that opens a session of this length, kept for `USER_KEPT_MS` after it. Returns the account with the role that
   * an admin set, otherwise that of this login. The standing is kept as long; without one, an earlier one is removed.
   */
  signIn(account: Account, sessionMs: number, standing?: Standing): Promise<Account>;
  /** The account with its current role. Undefined if nobody with this id has logged in, or too long ago. */
  find(id: string): Promise<Account | undefined>;
  /** Accounts with a session, or of these the one with this id, sorted by username. */
  list(id?: string): Promise<readonly Account[]>;
  /** Sets a role that outlasts logins; `user` is kept for good. Atomic: an account with the role admin always remains. */
  setRole(id: string, role: Role, by: Pick<Account, "id">): Promise<RoleChange>;
  /** What the last login, or the last check, left behind; undefined if the provider cannot be asked about this person. */
  standing(id: string): Promise<Standing | undefined>;
  /**
   * Atomic: replaces a standing that is still `before`, and the account if one is given; a role that an admin set stays. False if
   * somebody was faster, or the person has logged in again.
   */
  renew(id: string, before: Standing, after: Standing, account?: Account): Promise<boolean>;
  /**
   * Atomic: if the standing is still `before`, nobody is logged in with this id any more, and no later login brings the sessions of
   * earlier ones back. A role that an admin set stays.
   */
  end(id: string, before: Standing): Promise<boolean>;
}

/** What lets svc ask the login provider about a person again. Times in milliseconds since 1970. */
export interface Standing {
  /** The provider's tokens, encrypted: whoever reads the store cannot use them. */
  readonly sealed: string;
  /** When the provider was last asked. */
  readonly askedAt: number;
  /** When it last confirmed that the person may log in. */
  readonly provenAt: number;
}

export type RoleChange =
  | { readonly kind: "set"; readonly account: Account }
  /** Nobody with this id has logged in, or too long ago. */
  | { readonly kind: "unknown" }
  /** The role was not taken: no other admin is known. */
  | { readonly kind: "last-admin" };

/** Counts login attempts per address, across replicas. Methods throw `StoreUnavailable`. */
export interface AttemptCounter {
  /** Adds one and returns the count of the window, which opens with the first. */
  add(key: string, windowMs: number): Promise<{ readonly count: number; readonly resetsInMs: number }>;
}

/** At most `max` writes of this rank or a lower one in any period of `windowMs`. */
export interface ContentLimit {
  readonly windowMs: number;
  readonly max: number;
  readonly rank: number;
}

export type Taken = { readonly kind: "taken" } | { readonly kind: "full"; readonly freeInMs: number };

/** Counts the comments and merges that a code host limits, per account over all replicas; while the store is unavailable each counts its own. */
export interface ContentBudget {
  /**
   * Counts one write if every limit leaves room for it; otherwise says when there may be. Never rejects.
   * @param rank 0 is the least urgent.
   * @param limits Those of its own rank and above, over the same periods for every rank.
   */
  take(account: string, rank: number, limits: readonly ContentLimit[]): Promise<Taken>;
}
