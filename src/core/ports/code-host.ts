import type { HostId } from "../../names.js";
import type { Destination } from "../model/application.js";
import type { ApplicationName, RepositoryName, Revision } from "../model/brand.js";
import type {
  Authorship,
  ChangeRequest,
  ChangeRequestRef,
  HeadRef,
  InRepository,
  Mergeability,
  Reviews,
  User,
} from "../model/change-request.js";
import type { GroupFormed } from "../model/event.js";
import type { MergeIntent } from "../model/result.js";

/** Where change requests live. Methods throw `HostFailure` when the host fails or refuses. */
export interface CodeHost {
  readonly id: HostId;
  /** Our own account, requested once and cached. Proves that the credentials work. */
  self(): Promise<User>;
  /** One small, uncached call that proves that the host is reachable now. Returns the time by the host's clock, if its answer has one. */
  reach(): Promise<Date | undefined>;
  /** The version of a server that people run themselves; undefined for the vendor's own service. */
  version(): Promise<string | undefined>;
  /** When our token expires; undefined if it does not, or if the host does not tell. */
  tokenExpires(): Promise<Date | undefined>;
  /** Until when what nobody waits for should ask nothing, since half of the allowed calls are used up; undefined if not, or not told. Asks nothing. */
  scarceUntil(change: ChangeRequestRef): Date | undefined;
  /** Fresh facts from the API, never cached. */
  getChangeRequest(change: ChangeRequestRef, signal?: AbortSignal): Promise<ChangeRequest>;
  /** Never cached either, in a single call. */
  state(change: ChangeRequestRef): Promise<ChangeRequest["state"]>;
  /** What happened in a repository since then, for what webhooks did not tell, under its present name. Reads a bounded part. */
  recentActivity(repository: InRepository, since: Date): Promise<RecentActivity>;
  /** The repositories that our credentials serve, the first thousands. @param servesOwner Names what need not be listed. */
  repositories(servesOwner: (owner: string) => boolean): Promise<readonly RepositoryName[]>;
  /** Polls for up to 20 seconds while the host still computes it, then returns `unknown`. */
  mergeability(change: ChangeRequestRef, signal?: AbortSignal): Promise<Mergeability>;
  /** Who approved this head commit, and earlier ones. Never cached. `approvalOf` judges whether that is enough. */
  reviews(change: ChangeRequest): Promise<Reviews>;
  /** Who wrote and pushed the commits of the change request. Never cached. */
  authorship(change: ChangeRequest): Promise<Authorship>;
  /** Whether the account is a program's, also where its events do not say so. An answer may be a day old. */
  isProgram(user: User): Promise<boolean>;
  /** Whether this person can push to the repository now. */
  mayCommand(change: ChangeRequestRef, user: User): Promise<boolean>;
  /** Whether this person can read the files and change requests now. False too where our own account cannot tell. */
  mayRead(change: ChangeRequestRef, person: Visitor): Promise<boolean>;
  /**
   * One file of any repository, as it is now: at the tip of the default branch first, then at what else is followed. Never
   * cached. Undefined if the URL names no repository of this host.
   */
  readFile(file: ForeignFile): Promise<readonly FileContent[] | undefined>;
  /** Where git reads the repository, with short-lived credentials. */
  cloneSource(change: ChangeRequestRef): Promise<CloneSource>;
  /** Comments of our own account on the change request, oldest first. */
  listOwnComments(change: ChangeRequestRef): Promise<readonly OwnComment[]>;
  /**
   * Posts one comment and returns its id. Never retried after an unknown outcome. At the host's limit results and plans wait,
   * refusals for a minute at most, help not at all. @throws {HostFailure} "rate-limited" if that kept it from being posted.
   */
  postComment(change: ChangeRequestRef, body: string, posting: Posting): Promise<string>;
  editComment(change: ChangeRequestRef, commentId: string, body: string): Promise<void>;
  /** Where a person reads one of our comments. */
  commentUrl(change: ChangeRequest, commentId: string): string;
  /** Where a person looks at a commit of the change request. */
  commitUrl(change: ChangeRequest, commit: Revision): string;
  /** Marks a person's comment. Setting the same mark twice is not an error. */
  react(change: ChangeRequestRef, commentId: string, reaction: Reaction): Promise<void>;
  /** Hides an outdated comment of our own. Does nothing on hosts that cannot. */
  minimise(change: ChangeRequestRef, commentId: string): Promise<void>;
  /** Sets the commit status `svc/sync` of the head. Returns false if the host has no commit status for it. */
  setStatus(change: HeadRef, status: CommitStatus): Promise<boolean>;
  /** Whether the status of a commit has to be set for each change request that has it as head. */
  readonly statusPerChange: boolean;
  /** The open change requests with this head in the same repository, drafts and those from forks too, as listed now. */
  openWithHead(head: HeadRef): Promise<OpenWithHead>;
  /**
   * The change requests in a merge group, as the host's queue has it now; undefined if it does not lead from the group's head
   * to its base. @throws {HostFailure} "forbidden" too where our credentials do not see the queue.
   */
  mergeGroup(group: MergeGroup): Promise<GroupMembers | undefined>;
  /** Whether the person belongs to one of these teams, named as on the host. */
  belongsToAny(change: ChangeRequestRef, user: User, teams: readonly string[]): Promise<boolean>;
  /**
   * Merges, or queues where the base branch has a queue, if the head is still `change.headRevision` and the base branch `change.baseBranch`, then deletes the source branch
   * if the intent says so.
   * @param confirm asked right before each try, how to merge; undefined if it may not be merged any more.
   */
  merge(change: ChangeRequest, confirm: () => Promise<MergeIntent | undefined>): Promise<MergeOutcome>;
  /** Brings the base branch into the head branch, if both are still those of `change`, and waits up to a minute for another head. Not for forks. */
  updateBranch(change: ChangeRequest): Promise<UpdateOutcome>;
  /** Opens a change request that reverts a merged one, and notes who asked for it, for `authorship`; or finds the open one of before. */
  revert(change: ChangeRequest, asker: User): Promise<RevertOutcome>;
  /** Whether the host's environments show what is deployed. Without it `showDeployment` and `shownDeployment` are not called. */
  readonly showsDeployments: boolean;
  /** Shows a deployment, or how it ended. @param id what this returned before. @returns Its id, where the host has a record of it. */
  showDeployment(
    change: ChangeRequest,
    deployment: ShownDeployment,
    state: DeploymentState,
    id: string | undefined,
  ): Promise<string | undefined>;
  /** What an earlier attempt of the same run showed; undefined if that was nothing. */
  shownDeployment(
    change: ChangeRequest,
    deployment: ShownDeployment,
  ): Promise<{ readonly id: string; readonly state: DeploymentState } | undefined>;
  /** Accounts on which the App is installed, the first thousand; none on a host without Apps. */
  installedOn(): Promise<readonly string[]>;
  /** Why webhooks may not reach svc, and what to do, a line each; what the host does not tell is one as well. */
  webhookProblems(serves: (repository: RepositoryName) => boolean): Promise<readonly string[]>;
  /** Says what keeps the merge queues or trains of these repositories from working with svc, and what to do, a line each. */
  queueProblems(repositories: readonly RepositoryName[]): Promise<readonly string[]>;
  /** What our credentials lack for what is switched on in the configuration, a sentence each. */
  missingPermissions(): Promise<readonly string[]>;
}

export type DeploymentState = "running" | "succeeded" | "failed";

/** One deployment of one application, as the environments of a host show it. */
export interface ShownDeployment {
  /** A `rollback` deploys the target branch in place of the head. */
  readonly command: "sync" | "rollback";
  readonly application: ApplicationName;
  readonly destination: Destination;
  /** The commit of the change request's repository that is deployed. */
  readonly revision: Revision;
  /** The same for every attempt of a run. */
  readonly runId: string;
  /** The application in Argo CD, and where people read what became of the command. */
  readonly links: { readonly application: string; readonly result: string };
}

/** Somebody who logged in with their account on the host. */
export interface Visitor extends Pick<User, "id" | "login"> {
  /** The host shows them only public repositories and those that they are a member of. */
  readonly external: boolean;
}

/** A file of a repository that need not be the change request's. */
export interface ForeignFile {
  readonly repoURL: string;
  readonly path: string;
  /** A branch, tag or commit to read besides the default branch. Empty or `HEAD` reads the default branch alone. */
  readonly follows: string;
}

/** What a path is at a commit; also `absent` if there is no such commit. Anything but text is `unreadable`. */
export type FileContent = { readonly kind: "text"; readonly text: string } | { readonly kind: "absent" | "unreadable" };

export interface CloneSource {
  /** HTTPS, without credentials. */
  readonly url: string;
  /** Value of the `Authorization` header for git; undefined for a public server. */
  readonly authorization: string | undefined;
  /** The host's ref of the change request's head in the target repository, forks included. Hosts may delete it after the close. */
  readonly headRef: string;
}

/** What happened in a repository, oldest first. */
export interface RecentActivity {
  /** When it was read, by the host's clock; undefined if the host does not tell. */
  readonly at: Date | undefined;
  /** Everything up to this time was read, more than a minute after `since` where the host allows; undefined if nothing is left to read. */
  readonly readTo?: Date | undefined;
  /** Open change requests that changed in any way. */
  readonly heads: readonly RecentHead[];
  readonly closed: readonly { readonly change: ChangeRequestRef; readonly closedAt: Date }[];
  /** Comments as people wrote them: none that was edited since, nor any that a webhook would not report. */
  readonly comments: readonly RecentComment[];
}

export interface RecentHead extends Pick<ChangeRequest, "headRevision" | "baseBranch" | "draft"> {
  readonly change: ChangeRequestRef;
  readonly updatedAt: Date;
  /** Changes with each comment and review, and when it becomes a draft. Not every host changes `updatedAt` then. */
  readonly activity: string;
}

export interface RecentComment {
  readonly change: ChangeRequestRef;
  readonly id: string;
  readonly body: string;
  readonly author: User;
  readonly createdAt: Date;
}

/** What a new comment says, the most urgent first: what people wait for gets through before what anybody can cause. */
export const URGENCIES = ["result", "plan", "refusal", "help"] as const;
export type Urgency = (typeof URGENCIES)[number];

export interface Posting {
  readonly urgency: Urgency;
  /** Ends a wait for the host's limit. */
  readonly signal?: AbortSignal | undefined;
  /** Called at most once, if the comment has to wait for more than ten seconds. */
  readonly onWait?: (() => void) | undefined;
}

export interface OwnComment {
  readonly id: string;
  readonly body: string;
}

/** Marks on a command: it was read, it succeeded, or it failed. */
export type Reaction = "seen" | "done" | "failed";

/** The commit status `svc/sync`. */
export interface CommitStatus {
  readonly state: "pending" | "success" | "failure";
  /** One line; the host module cuts it to the host's limit. */
  readonly description: string;
  /** The link of the status, if any. */
  readonly url: string | undefined;
}

/** A commit that a merge queue made of its base branch and change requests. */
export interface MergeGroup extends HeadRef, Pick<GroupFormed, "baseRevision" | "baseBranch"> {}

/** In the order of the queue, each with its present head. */
export interface GroupMembers {
  readonly members: readonly HeadRef[];
  /** Those before them, which are merged first. */
  readonly ahead: readonly HeadRef[];
}

export interface OpenWithHead {
  readonly numbers: readonly number[];
  /** Why there may be more: the host has too many to read them all. */
  readonly cutOff: string | undefined;
  /** The commit is the head of a merge group: what is green may be merged. */
  readonly ofQueue?: boolean;
}

/** `refused` gives the host's reason: a clause or a sentence, untrusted. */
export type UpdateOutcome =
  /** The head is another one by now. `rewritten`: the host rebased, so that all commits of the branch are new ones. */
  { readonly kind: "moved"; readonly rewritten: boolean } | { readonly kind: "refused"; readonly reason: string };

/** The first and the last of the commits that a merge brought, along first parents; they may be one. */
export interface RevertedCommits {
  readonly newest: Revision;
  readonly oldest: Revision;
}

/** `refused` gives the host's reason: a clause or a sentence, untrusted. */
export type RevertOutcome =
  | { readonly kind: "opened"; readonly number: number; readonly known: boolean }
  /** `tried`: the commits that it could not take back; absent if they are not known, or the reason is another. */
  | { readonly kind: "refused"; readonly reason: string; readonly tried?: RevertedCommits | undefined };

/** `note` says what went wrong after the merge, such as a branch that could not be deleted. */
export type MergeOutcome =
  | { readonly kind: "merged"; readonly note: string | undefined }
  /** The host merges it later, once its turn has come: `in` names what holds it until then, for people. */
  | { readonly kind: "queued"; readonly in: string }
  | { readonly kind: "refused"; readonly reason: string }
  /** It was not tried: it was not confirmed, or the base branch has changed since. */
  | { readonly kind: "barred" };
