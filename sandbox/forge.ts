import type { FaultSwitch } from "./faults.js";

/** Files of a commit by path: text, `null` to delete, or a symbolic link or an executable. */
export type FileChanges = Readonly<
  Record<string, string | null | { readonly symlink: string } | { readonly executable: string }>
>;

/** One change request as a visitor of the code host sees it. */
export interface SeenChangeRequest {
  readonly number: number;
  readonly title: string;
  readonly author: string;
  readonly state: "open" | "closed" | "merged";
  readonly draft: boolean;
  readonly headBranch: string;
  readonly baseBranch: string;
  readonly headRevision: string;
  /** Login of who merged it. */
  readonly mergedBy: string | undefined;
  readonly comments: readonly SeenComment[];
}

export interface SeenComment {
  readonly id: string;
  readonly author: string;
  readonly body: string;
  readonly edited: boolean;
}

/** Levels of access to a repository, the same words for both hosts (GitLab: guest, developer, maintainer). */
export type AccessLevel = "none" | "read" | "write" | "admin";

export interface OpenRequest {
  readonly repository: string;
  readonly by: string;
  readonly changes: FileChanges;
  readonly title?: string;
  /** Name of the head branch; `change-<n>` when absent. */
  readonly branch?: string;
  /** Base branch; the repository's default branch when absent. */
  readonly base?: string;
  readonly draft?: boolean;
  /** The head branch lives in a fork that belongs to `by`. */
  readonly fork?: boolean;
}

/**
 * A code host in miniature over real HTTP, steered by tests and the demo. Everything that a person would do sends the
 * webhooks that the real product would send to the connected receiver, signed; each method resolves after the
 * receiver has answered them.
 */
export interface Forge {
  readonly title: "GitHub" | "GitLab";
  /** Root URL of the server on loopback, without a final slash. */
  readonly url: string;
  /** Where webhooks go from now on. */
  connect(receiver: { readonly url: string; readonly secret: string }): void;
  /** Answers to the webhooks sent so far, newest last. */
  readonly deliveries: readonly {
    readonly event: string;
    readonly id: string;
    readonly status: number;
    readonly body: string;
  }[];
  /** Sends a delivery again, word for word, with the same delivery id. */
  redeliver(id: string): Promise<void>;
  createRepository(name: string, files: FileChanges, options?: { readonly defaultBranch?: string }): Promise<void>;
  /** HTTPS-style clone URL (on loopback http) of a repository, as Argo CD's sources name it. */
  cloneUrl(repository: string): string;
  setAccess(repository: string, login: string, level: AccessLevel): void;
  open(request: OpenRequest): Promise<number>;
  /** Adds a commit to the head branch; returns its id. */
  push(repository: string, number: number, changes: FileChanges): Promise<string>;
  /** Adds a commit to any branch (for instance the base branch); returns its id. */
  pushToBranch(repository: string, branch: string, changes: FileChanges): Promise<string>;
  /** Moves the head without sending a webhook: a lost delivery, or a push at a bad moment. */
  pushSilently(repository: string, number: number, changes: FileChanges): Promise<string>;
  comment(repository: string, number: number, by: string, body: string): Promise<string>;
  editComment(repository: string, number: number, commentId: string, by: string, body: string): Promise<void>;
  commentOnIssue(repository: string, by: string, body: string): Promise<void>;
  review(
    repository: string,
    number: number,
    by: string,
    verdict: "approve" | "request-changes" | "comment",
  ): Promise<void>;
  close(repository: string, number: number): Promise<void>;
  reopen(repository: string, number: number): Promise<void>;
  markDraft(repository: string, number: number, draft: boolean): Promise<void>;
  retarget(repository: string, number: number, base: string): Promise<void>;
  rename(repository: string, number: number, title: string): Promise<void>;
  /** A person presses the merge button. */
  mergeByHand(repository: string, number: number, by: string): Promise<void>;
  changeRequest(repository: string, number: number): SeenChangeRequest;
  branches(repository: string): Promise<readonly string[]>;
  /** Commits that a branch has and this older commit lacks, oldest first. */
  commitsSince(
    repository: string,
    revision: string,
    branch: string,
  ): Promise<readonly { readonly id: string; readonly parents: readonly string[] }[]>;
  /** Whether merging would conflict is computed from git; this makes the answer pending for the next `reads` reads. */
  delayMergeability(repository: string, number: number, reads: number): void;
  /** What was asked or answered against the product's own description; empty when both sides are honest. */
  readonly violations: readonly string[];
  /** Resolves after the webhooks that API calls caused have been answered; those calls do not wait for them. */
  idle(): Promise<void>;
  /** Every request that was received, for counting; bodies are not kept. */
  readonly requests: readonly {
    readonly method: string;
    readonly path: string;
    readonly authorization: string | undefined;
  }[];
  readonly faults: FaultSwitch;
  stop(): Promise<void>;
}
