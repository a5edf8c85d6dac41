import { policyNotes } from "./policy-notes.js";
import type { ConfigProblem } from "./problem.js";
import { NO_REPOSITORY_CONFIG, type RepositoryConfig, type RepositoryConfigResult } from "./repository.js";
import {
  accessRulesOf,
  requirementsOf,
  type AccessCommand,
  type AccessRule,
  type Requirements,
} from "./requirements.js";
import type { RuledApplication } from "./rule-match.js";
import type { ServerConfig, ServerDefaults } from "./server-config.js";

export type { MergeMethod } from "./server-config.js";
export { describeProblem } from "./problem.js";

/** What holds for one change request: server defaults, overridden by the base branch's repository file. */
export interface Settings extends Omit<ServerDefaults, "allowedRepos" | "requireApproval" | "requireUpToDate"> {
  /** Patterns of further files that affect applications: union of base and head. */
  readonly applications: RepositoryConfig["applications"];
  /** Patterns that narrow the scan for Application resources: union of base and head; empty means all files. */
  readonly crPaths: readonly string[];
  /** Which repositories may drive which applications, from the server's file. */
  readonly applicationRepositories: ServerConfig["applicationRepositories"];
  /** What a sync of this application requires: exact entry, else wildcard entry, else repository, else server. */
  requirementsFor(application: RuledApplication): Requirements;
  /** Rules that each must allow a person this command for this application; if none, everyone who may give commands may. */
  accessTo(application: RuledApplication, command: AccessCommand): readonly AccessRule[];
  /** Sentences for a plan: what the change request changes in the repository's file, and when that takes effect. */
  readonly notes: readonly string[];
}

/** The settings of a change request, and what is wrong with its repository files. */
export interface Resolution {
  /** Also valid if a file is broken, for what still works then: unlock, rollback, help. */
  readonly settings: Settings;
  /** Mistakes in the broken files. */
  readonly problems: readonly ConfigProblem[];
  /** Which file is broken; `base` if both are. Plans and syncs are refused then, unless `repairs`. */
  readonly brokenAt: "head" | "base" | undefined;
  /** The head repairs or deletes the base branch's broken file: plans and syncs work, under approval. */
  readonly repairs: boolean;
}

/** Branches that are never deleted. */
const NEVER_DELETED = ["main", "master", "develop", "development"] as const;

/**
 * Combines the server's defaults with the repository files of base and head, which are one object if they are equal. Policy comes from the
 * base branch: a change request cannot loosen the rules that apply to it. `applications` and `cr_paths` are the union of
 * both sides, so it can only add to what svc examines. If the base branch's file is broken, the repository's policy is
 * unknown, so every application needs approval.
 */
export function resolveSettings(
  defaults: ServerDefaults,
  server: Pick<Settings, "applicationRepositories">,
  { base, head }: { readonly base: RepositoryConfigResult; readonly head: RepositoryConfigResult },
): Resolution {
  const sides = [base, head].flatMap((side) => (side.kind === "valid" ? [side.config] : []));
  const policy = base.kind === "valid" ? base.config : { ...NO_REPOSITORY_CONFIG, requireApproval: true };
  const settings: Settings = {
    autoplan: policy.autoplan ?? defaults.autoplan,
    skipNoChanges: policy.skipNoChanges ?? defaults.skipNoChanges,
    autoMerge: policy.autoMerge ?? defaults.autoMerge,
    mergeMethod: policy.mergeMethod ?? defaults.mergeMethod,
    deleteSourceBranch: policy.deleteSourceBranch ?? defaults.deleteSourceBranch,
    protectedBranches: [...new Set([...NEVER_DELETED, ...defaults.protectedBranches])],
    approvalFromCommitters: defaults.approvalFromCommitters,
    prune: defaults.prune,
    planDrafts: defaults.planDrafts,
    allowForks: defaults.allowForks,
    commandAccess: defaults.commandAccess,
    allowedBots: defaults.allowedBots,
    applications: unionOfApplications(sides),
    crPaths: unionOfCrPaths(sides),
    applicationRepositories: server.applicationRepositories,
    requirementsFor: (application) => requirementsOf(application, policy, defaults),
    accessTo: (application, command) => accessRulesOf(application, command, policy),
    notes: policyNotes(base, head),
  };
  const problems = [...new Set([head, base])].flatMap((side) => (side.kind === "invalid" ? side.problems : []));
  const brokenAt = base.kind === "invalid" ? "base" : head.kind === "invalid" ? "head" : undefined;
  return { settings, problems, brokenAt, repairs: brokenAt === "base" && head.kind === "valid" };
}

function unionOfApplications(sides: readonly RepositoryConfig[]): Settings["applications"] {
  const paths = new Map<string, Set<string>>();
  for (const application of sides.flatMap((side) => side.applications)) {
    const known = paths.get(application.name) ?? new Set();
    paths.set(application.name, new Set([...known, ...application.paths]));
  }
  return [...paths].map(([name, patterns]) => ({ name, paths: [...patterns] }));
}

/** Empty, which means all files, if either side says so or cannot be read. */
function unionOfCrPaths(sides: readonly RepositoryConfig[]): readonly string[] {
  const lists = sides.map((side) => side.crPaths ?? []);
  return lists.length < 2 || lists.some((list) => list.length === 0) ? [] : [...new Set(lists.flat())];
}
