import type { Revision } from "../model/brand.js";
import type { ChangeRequest, ChangeRequestRef } from "../model/change-request.js";
import type { CloneSource, RevertedCommits } from "./code-host.js";

export interface OpenOptions {
  /** Stops the reading; without one only the end of the process does. */
  readonly signal?: AbortSignal | undefined;
  /** Everything else that reads the repository goes first: nobody waits for this. */
  readonly patient?: boolean | undefined;
  /** The host names this head although its ref showed another one: the ref may be late, and the commit itself is fetched. */
  readonly confirmed?: boolean;
}

export interface FetchOptions {
  /** The head, if it is known: git then does not ask for the commit of the head ref first. */
  readonly pushed?: Revision | undefined;
  readonly signal: AbortSignal;
}

/** Reads repositories without a checkout. Methods throw `RepositoryFailure`. */
export interface Repositories {
  /** Fetches head, base tip and merge base. @throws {HeadMoved} if the host's ref has another head than `change`. */
  open(change: ChangeRequest, source: CloneSource, options?: OpenOptions): Promise<RepositorySnapshot>;
  /** Fetches the head of a change request that was opened here before, so that a following `open` need not. Never throws. */
  fetchHead(change: ChangeRequestRef, source: CloneSource, options: FetchOptions): Promise<void>;
}

/** A repository at the commits of one change request. Other commits of it can be read too: they are fetched when asked for. */
export interface RepositorySnapshot {
  /** Every entry of the whole tree at this commit, sorted by path. */
  list(revision: Revision): Promise<readonly TreeEntry[]>;
  /** Regular text files by path. Leaves out paths that are missing, not regular files, binary or over 1 MiB. */
  read(revision: Revision, paths: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** The text of one regular file of up to 16 MiB, which is not kept. Undefined where `read` leaves out smaller ones. */
  readLarge(revision: Revision, path: string): Promise<string | undefined>;
  /** Paths that differ between two commits, including both names of a rename, deletions, mode changes and submodules. */
  changedPaths(from: Revision, to: Revision): Promise<readonly string[]>;
  /** The same as `git diff --name-only` prints them: of a file that moved, also if it changed a little, the new name only; special ones quoted. */
  printedPaths(from: Revision, to: Revision): Promise<readonly string[]>;
  /** The untrusted target of each symbolic link by its path. Leaves out targets over 4 KiB or not in UTF-8. */
  linkTargets(revision: Revision): Promise<ReadonlyMap<string, string>>;
  /** The commits of all branches and tags at the host now, by full name (`refs/heads/…`). Asked once per snapshot. */
  refs(): Promise<ReadonlyMap<string, Revision>>;
  /** Commits reachable from `to` and not from `from`. Fetches as much history as that takes. */
  commitsBetween(from: Revision, to: Revision): Promise<CommitRange>;
  /** Whether git merges this commit's two parents, or the two commits in `of`, to exactly its tree. False if that is not certain. */
  isCleanMerge(commit: Revision, of?: readonly [Revision, Revision]): Promise<boolean>;
  /** The files, sorted, in which git finds a conflict when it takes these commits back from `onto`; undefined if git cannot tell. */
  revertConflicts(reverted: RevertedCommits, onto: Revision): Promise<readonly string[] | undefined>;
  /**
   * The regular files that a path was at a commit and along its first parents, newest first, each content once, up to 200
   * commits back. Undefined if it is binary or over 1 MiB. Fetches as much history as that takes.
   */
  pastTexts(revision: Revision, path: string): AsyncIterable<string | undefined>;
}

export interface TreeEntry {
  readonly path: string;
  readonly kind: "file" | "symlink" | "submodule";
  /** True only for a file with the executable bit. */
  readonly executable: boolean;
  /** The Git object id of the content. */
  readonly blob: string;
}

/** Commits between two others. */
export interface CommitRange {
  /** Newest first, at most 200; each is certainly in the range. */
  readonly commits: readonly CommitSummary[];
  /** False if there are more commits, or if part of the history could not be fetched. */
  readonly complete: boolean;
}

/** A commit as its author describes it: untrusted. */
export interface CommitSummary {
  readonly id: Revision;
  readonly parents: readonly Revision[];
  /** First line of the message, at most 100 characters, without control characters. */
  readonly subject: string;
  /** Paths that differ from the first parent, sorted. */
  readonly paths: readonly string[];
}
