import type { Revision } from "./brand.js";

/** Commits between two others. */
export interface CommitRange {
  /** Newest first, at most 200; each is certainly in the range. */
  readonly commits: readonly CommitSummary[];
  /** False if there are more commits, or if part of the history could not be fetched. */
  readonly complete: boolean;
}

/** A commit in its author's words: untrusted. */
export interface CommitSummary {
  readonly id: Revision;
  /** First line of the message, at most 100 characters, without control characters. */
  readonly subject: string;
  /** Paths that differ from the first parent, sorted. */
  readonly paths: readonly string[];
}
