import type { FaultSwitch } from "./faults.js";
import type { Identity } from "./git/write-commit.js";

/** Changed files by path: text, `null` to delete, a symbolic link, an executable, or a submodule at a commit id. */
export type FileChanges = Readonly<Record<string, FileChange>>;

export type FileChange =
  | string
  | null
  | { readonly symlink: string }
  | { readonly executable: string }
  | { readonly submodule: string };

/** A change request as a visitor of the code host sees it. */
export interface SeenChangeRequest {
  readonly number: number;
  readonly title: string;
  readonly author: string;
  readonly state: "open" | "closed" | "merged";
  readonly draft: boolean;
  readonly headBranch: string;
  readonly baseBranch: string;
  readonly headRevision: string;
  readonly mergedBy: string | undefined;
  readonly comments: readonly SeenComment[];
}

export interface SeenComment {
  readonly id: string;
  readonly author: string;
  readonly body: string;
  readonly edited: boolean;
  /** Oldest first. */
  readonly reactions: readonly SeenReaction[];
  /** Folded as outdated. Never true on GitLab, which cannot fold comments. */
  readonly minimised: boolean;
}

export interface SeenReaction {
  readonly by: string;
  /** In the host's words: `eyes`, `rocket`, `confused`. */
  readonly name: string;
}

/** A commit status, in words for both hosts. */
export interface SeenStatus {
  readonly name: string;
  readonly state: "pending" | "success" | "failure";
  readonly description: string;
  readonly url: string | undefined;
}

/** What the environments of the host show. */
export interface SeenDeployments {
  /** Every deployment of a repository, oldest first. */
  seen(repository: string): readonly SeenDeployment[];
  /** Takes the right to deploy away from the service: a permission of the App, or the role of the token's account. */
  forbid(repository: string): void;
}

/** A deployment in an environment of the host. */
export interface SeenDeployment {
  readonly environment: string;
  readonly revision: string;
  /** The branch, tag or commit that it names. */
  readonly ref: string;
  /** In the host's words, oldest first: what became of it. */
  readonly states: readonly string[];
  /** Where the environment leads. */
  readonly link: string | undefined;
  /** Where its output is; undefined on GitLab, which has no such link. */
  readonly output: string | undefined;
}

/** Access to a repository, in words for both hosts. On GitLab: guest, developer, maintainer. */
export type AccessLevel = "none" | "read" | "write" | "admin";

export interface OpenRequest {
  /** Who wrote the first commit. Default: `by`. */
  readonly author?: Identity;
  readonly repository: string;
  readonly by: string;
  readonly changes: FileChanges;
  readonly title?: string;
  /** Name of the head branch. Default: `change-<n>`. */
  readonly branch?: string;
  /** Default: the repository's default branch. */
  readonly base?: string;
  readonly draft?: boolean;
  /** The head branch lives in a fork that belongs to `by`. */
  readonly fork?: boolean;
  /** A commit of the repository that the head branch is set to; without changes nothing comes on top. */
  readonly at?: string;
}

/** Who pushes, and what. */
export interface Push {
  /** Default: who opened the change request. */
  readonly by?: string;
  /** Default: who pushes. Anybody may write any address into a commit. */
  readonly author?: Identity;
  /** Default: the author. */
  readonly committer?: Identity;
  readonly message?: string;
  /** The new commit's parent, in place of the branch's tip: a forced push. */
  readonly onto?: string;
  /** An earlier commit that the branch is set to, in place of a new one: a forced push. */
  readonly back?: string;
  /** A commit that is merged into the branch; the changes come on top. */
  readonly merging?: string;
}

/**
 * A miniature code host over real HTTP, driven by tests and the demo. Every act of a person sends the signed webhooks
 * that the real product would send, and resolves after the receiver has answered them.
 */
export interface Forge {
  readonly title: "GitHub" | "GitLab";
  /** Root URL of the server on loopback, without a final slash. */
  readonly url: string;
  /** Sends webhooks there from now on. */
  connect(receiver: {
    readonly url: string;
    readonly secret: string;
    /** A `whsec_…` token with which GitLab signs deliveries too. GitHub always signs, with the secret. */
    readonly signingToken?: string;
  }): void;
  /** Answers to webhooks, oldest first. */
  readonly deliveries: readonly {
    readonly event: string;
    readonly id: string;
    readonly status: number;
    readonly body: string;
  }[];
  /** Sends the same delivery again, under the same delivery id. */
  redeliver(id: string): Promise<void>;
  createRepository(name: string, files: FileChanges, options?: { readonly defaultBranch?: string }): Promise<void>;
  /** Renames or transfers a repository. Its old name leads to it until another repository gets it. */
  renameRepository(from: string, to: string): Promise<void>;
  /** Its id at the host, as text; a new name does not change it. */
  repositoryId(repository: string): string;
  /** Clone URL over http, as Argo CD's sources name the repository. */
  cloneUrl(repository: string): string;
  setAccess(repository: string, login: string, level: AccessLevel): void;
  protectBranch(repository: string, branch: string): void;
  /** Whether strangers may read the repository. */
  setVisibility(repository: string, visibility: "public" | "private"): void;
  /** Sets the members of a team: `acme/platform` on GitHub, a group's full path on GitLab. */
  setTeam(team: string, logins: readonly string[]): void;
  /** Approvals that the default branch requires; 0 for none. On GitLab only Premium has such rules. */
  requireReviews(repository: string, count: number): void;
  /** One of these people must approve every change; an empty list removes the rule. On GitLab only with Premium. */
  setCodeOwners(repository: string, logins: readonly string[]): void;
  requestReviews(repository: string, number: number, logins: readonly string[]): void;
  /** Starts a CI pipeline at the head. GitLab keeps commit statuses in pipelines; GitHub needs none. */
  runPipeline(repository: string, number: number): void;
  open(request: OpenRequest): Promise<number>;
  /** Adds a commit to the head branch. Returns its id. */
  push(repository: string, number: number, changes: FileChanges, push?: Push): Promise<string>;
  /**
   * A person brings the head branch up to date with the base branch: by GitHub's button "Update branch", or with git and
   * a push on GitLab, which has none. Returns the merge commit.
   */
  updateBranch(repository: string, number: number, by: string): Promise<string>;
  /** Adds a commit to any branch. Returns its id. */
  pushToBranch(repository: string, branch: string, changes: FileChanges): Promise<string>;
  /** Moves the head without a webhook, as if the delivery got lost. */
  pushSilently(repository: string, number: number, changes: FileChanges): Promise<string>;
  comment(repository: string, number: number, by: string, body: string): Promise<string>;
  editComment(repository: string, number: number, commentId: string, by: string, body: string): Promise<void>;
  /** Somebody gives a comment a thumbs-up. No webhook that matters follows. */
  react(repository: string, number: number, commentId: string, by: string): void;
  /** Somebody deletes a comment. No webhook that matters follows. */
  deleteComment(repository: string, number: number, commentId: string): void;
  commentOnIssue(repository: string, by: string, body: string): Promise<void>;
  review(
    repository: string,
    number: number,
    by: string,
    verdict: "approve" | "request-changes" | "comment",
  ): Promise<void>;
  /** From now on people act within one second. */
  freezeClock(): void;
  /** The host's clock goes on by this much. */
  passTime(ms: number): void;
  close(repository: string, number: number): Promise<void>;
  reopen(repository: string, number: number): Promise<void>;
  markDraft(repository: string, number: number, draft: boolean): Promise<void>;
  retarget(repository: string, number: number, base: string): Promise<void>;
  rename(repository: string, number: number, title: string): Promise<void>;
  /** A person changes the description. No webhook that matters follows. */
  describe(repository: string, number: number, text: string): void;
  /** A person presses the merge button. */
  mergeByHand(repository: string, number: number, by: string): Promise<void>;
  changeRequest(repository: string, number: number): SeenChangeRequest;
  /** Every status ever set on a commit, oldest first. */
  statuses(repository: string, revision: string): readonly SeenStatus[];
  readonly deployments: SeenDeployments;
  /** Creates, moves or deletes a branch or a tag by its full name, without a webhook. */
  setRef(repository: string, ref: string, commit: string | undefined): Promise<void>;
  branches(repository: string): Promise<readonly string[]>;
  /** Commits of a branch since an older commit, oldest first. */
  commitsSince(
    repository: string,
    revision: string,
    branch: string,
  ): Promise<readonly { readonly id: string; readonly parents: readonly string[] }[]>;
  /** Keeps the mergeability pending for the next `reads` reads. */
  delayMergeability(repository: string, number: number, reads: number): void;
  /** Requests and answers that contradict the product's own API description. Must stay empty. */
  readonly violations: readonly string[];
  /** Resolves once the webhooks that API calls caused have been answered; the calls do not wait for them. */
  idle(): Promise<void>;
  /** Every request received, without bodies. */
  readonly requests: readonly {
    readonly method: string;
    readonly path: string;
    readonly authorization: string | undefined;
  }[];
  /** Calls `onAnswer` after each answered request. */
  subscribe(onAnswer: () => void): () => void;
  readonly faults: FaultSwitch;
  stop(): Promise<void>;
}
