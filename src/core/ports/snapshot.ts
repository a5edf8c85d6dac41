import type { Application } from "../model/application.js";
import type { Revision } from "../model/brand.js";
import type { ChangeRequest } from "../model/change-request.js";
import type { ChangedPaths } from "../model/collections.js";
import type { FoundInputs } from "../model/input-set.js";
import type { Json } from "../model/json.js";
import type { RepositorySnapshot, TreeEntry } from "./repositories.js";

/** A repository at the commits of one change request, with everything that was worked out from it so far. */
export interface Snapshot extends RepositorySnapshot {
  tree(revision: Revision): Promise<OpenedTree>;
  /** What the base branch changed since the head left it, without what the head has too (by a cherry-pick, for instance). */
  lostChanges(change: ChangeRequest): Promise<ChangedPaths>;
  /**
   * The lost changes that the merge may take off the base branch although the head does not differ from the merge base: a commit of the
   * head writes them. A rebase applies each commit by itself, and a head with several merge bases may differ from another one of them.
   * Unless `complete`, some commits of the head are not known, and these are all lost changes. @throws {RepositoryFailure}
   */
  hiddenChanges(change: ChangeRequest): Promise<HiddenChanges>;
  /** The paths that the change request changes: those that differ between the merge base and the head, and the hidden ones. */
  ownChanges(change: ChangeRequest): Promise<readonly string[]>;
  /** The inputs of an application at the commit with these entries, remembered or found. `others` are all other values that decide. */
  inputs(
    entries: readonly TreeEntry[],
    application: Application,
    others: readonly unknown[],
    find: () => Promise<FoundInputs>,
  ): Promise<FoundInputs>;
}

/** What a merge may take off the base branch although the plan's two commits do not differ there. */
export interface HiddenChanges {
  readonly paths: readonly string[];
  readonly complete: boolean;
}

/** The tree of a commit. Paths are clean. Symbolic links on the way are followed, except by `entryAt`. */
export interface RepositoryTree {
  hasFile(path: string): boolean;
  hasDirectory(path: string): boolean;
  /** The file, link or submodule at exactly this path. */
  entryAt(path: string): TreeEntry | undefined;
  /** The entries at or below a path, sorted by path; links among them are not followed. */
  entriesIn(path: string): readonly TreeEntry[];
  /** Paths of the symbolic links at or below a path. */
  linksIn(path: string): readonly string[];
  /** Whether a submodule is at, above or below a path. */
  touchesSubmodule(path: string): boolean;
  follow(path: string): Followed;
  /** The YAML documents of a file; undefined when it is missing, no text, too large, in Git LFS, or not all of it can be read. */
  readYaml(path: string): Promise<readonly Json[] | undefined>;
  /** The YAML documents of a text that a file holds; undefined when not all of it can be read. */
  parseYaml(text: string): Promise<readonly Json[] | undefined>;
  /** Texts of files by path; those that are missing, no text, too large or in Git LFS are absent. */
  readTexts(paths: readonly string[]): Promise<ReadonlyMap<string, string>>;
}

export interface OpenedTree extends RepositoryTree {
  /** A text for the content of a part of this tree, computed once per part. */
  digest(part: string, compute: () => string): string;
  /** The symbolic links that lead out of the repository. Argo CD renders nothing of a repository that has one. */
  readonly leadingOut: readonly string[];
}

/** Where a path leads when every symbolic link on the way is followed, as an operating system does. */
export interface Followed {
  /** The path without links; undefined when a link leads out of the repository, in a circle, or to an unreadable target. */
  readonly path: string | undefined;
  readonly links: readonly string[];
  /** Every path at which a link was looked for, in order. */
  readonly asked: readonly string[];
  /** The link whose target cannot be read. */
  readonly unreadable: string | undefined;
}
