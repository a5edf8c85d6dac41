import type { Revision } from "../model/brand.js";
import type { ChangeRequest } from "../model/change-request.js";
import type { CommitRange } from "../model/commit-range.js";
import type { CloneSource } from "./code-host.js";

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
