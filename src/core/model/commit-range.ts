import type { Revision } from "./brand.js";

/** Commits between two others. */
export interface CommitRange {
  /** Newest first, at most 200; each is surely in the range. */
  readonly commits: readonly CommitSummary[];
  /** False when there are more commits, or not all of the history could be had. */
  readonly complete: boolean;
}

/** A commit as its author wrote it: untrusted. */
export interface CommitSummary {
  readonly id: Revision;
  /** First line of the message, at most 100 characters, without control characters. */
  readonly subject: string;
  /** Paths that differ from the first parent, sorted. */
  readonly paths: readonly string[];
}
