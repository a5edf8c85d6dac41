import { camelKeys } from "./camel-keys.js";
import type { MergeMethod } from "./merge-method.js";
import { orderedProblems } from "./problem.js";
import type { ConfigProblem } from "./problem.js";
import { repositorySchema } from "./repository-schema.js";
import type { AccessEntry } from "./sync-access.js";
import { validate } from "./validate.js";
import { readYaml } from "./yaml-tree.js";

/** 64 KiB: the slowest texts found for the parser take about a second at this size. */
const LARGEST_FILE = 64 * 1024;
const SCHEMA = repositorySchema();

/** A repository's file, checked. What is undefined is the server's to say. */
export interface RepositoryConfig {
  readonly autoplan?: boolean;
  readonly skipNoChanges?: boolean;
  readonly autoMerge?: boolean;
  readonly mergeMethod?: MergeMethod;
  readonly deleteSourceBranch?: boolean;
  readonly requireApproval?: boolean;
  readonly requireUpToDate?: boolean;
  readonly applications: readonly ApplicationPaths[];
  /** Undefined or empty: all files. */
  readonly crPaths?: readonly string[];
  readonly syncRequirements: readonly SyncRequirement[];
}

/** Patterns of paths that belong to the applications of that name; the name may be a pattern itself. */
export interface ApplicationPaths {
  readonly name: string;
  readonly paths: readonly string[];
}

export interface SyncRequirement extends AccessEntry {
  readonly requireApproval?: boolean;
  readonly requireUpToDate?: boolean;
}

export type RepositoryConfigResult =
  | { readonly kind: "valid"; readonly config: RepositoryConfig }
  | { readonly kind: "invalid"; readonly problems: readonly ConfigProblem[] };

/** What holds in a repository without the file. */
export const NO_REPOSITORY_CONFIG: RepositoryConfig = { applications: [], syncRequirements: [] };

/** Reads a repository's file. The text may be hostile; `${NAME}` in it is plain text. */
export function parseRepositoryConfig(text: string, fileName: string): RepositoryConfigResult {
  const { tree, problems } = readYaml(text, fileName, LARGEST_FILE);
  if (tree === undefined) return { kind: "invalid", problems };
  const checked = validate(tree, SCHEMA);
  const found = checked.kind === "invalid" ? checked.problems : [];
  if (checked.kind === "invalid" || problems.length > 0) {
    return { kind: "invalid", problems: orderedProblems([...problems, ...found], [fileName]) };
  }
  return { kind: "valid", config: camelKeys(checked.value) };
}
