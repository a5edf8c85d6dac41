import type { ConfigProblem } from "../problem.js";
import { NO_REPOSITORY_CONFIG, type RepositoryConfig, type RepositoryConfigResult } from "../repository/repository.js";
import type { ServerConfig, ServerDefaults } from "../server/server-config.js";
import { policyNotes } from "./policy-notes.js";
import {
  accessRulesOf,
  requirementsOf,
  strictest,
  type AccessCommand,
  type AccessRule,
  type RequirementDefaults,
  type Requirements,
} from "./requirements.js";
import type { RuledApplication } from "./rule-match.js";
import { listsConcerned, type RulesChange } from "./rules-change.js";

export type { MergeMethod } from "../server/server-config.js";
export { describeProblem } from "../problem.js";

/** What holds for one change request: server defaults, overridden by the repository files of base branch and default branch. */
export interface Settings extends Omit<ServerDefaults, "allowedRepos" | keyof RequirementDefaults> {
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
  /** Only an approval by an administrator of the pages counts: no version of a broken file could be read. */
  readonly needsAdministrator: boolean;
  /** Set if the change request changes the repository's file. */
  readonly rulesChange: RulesChange | undefined;
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

/** The file at the tip of a branch whose rules hold. */
export interface BranchFile {
  readonly file: RepositoryConfigResult;
  /** While it is broken: the newest version on the branch that could be read, if any. */
  readonly earlier: RepositoryConfig | undefined;
}

/** The repository files that decide about a change request. */
export interface PolicyFiles {
  readonly base: BranchFile;
  /** Of the default branch, if the base branch is another one. */
  readonly defaultBranch: BranchFile | undefined;
  /** One object with the base branch's if the head does not change it. */
  readonly head: RepositoryConfigResult;
  /** Whether a merge changes the file of the base branch, in any way. */
  readonly changed: boolean;
}

/** Branches that are never deleted. */
const NEVER_DELETED = ["main", "master", "develop", "development"] as const;

/**
 * Combines the server's defaults with the repository files. Policy comes from the base branch and the default branch, and
 * the strictest of both holds: a change request can loosen the rules that apply to it neither by its head nor by a base
 * branch of its author's choice. `applications` and `cr_paths` are the union of all sides, so it can only add to what svc
 * examines. While the file of a branch is broken, the rules of its last readable version hold, and every application needs
 * approval.
 */
export function resolveSettings(
  defaults: ServerDefaults,
  server: Pick<Settings, "applicationRepositories">,
  { base, defaultBranch, head, changed }: PolicyFiles,
): Resolution {
  const branches = [base, ...(defaultBranch === undefined ? [] : [defaultBranch])];
  const policies = branches.map(policyOf);
  const [policy = NO_REPOSITORY_CONFIG] = policies;
  const everywhere = (key: "skipNoChanges" | "autoMerge" | "deleteSourceBranch") =>
    policies.every((one) => one[key] ?? defaults[key]);
  const broken = branches.some(({ file }) => file.kind === "invalid");
  const headConfig = head.kind === "valid" ? head.config : undefined;
  const settings: Settings = {
    autoplan: policy.autoplan ?? defaults.autoplan,
    skipNoChanges: everywhere("skipNoChanges"),
    autoMerge: everywhere("autoMerge"),
    mergeMethod: policy.mergeMethod ?? defaults.mergeMethod,
    deleteSourceBranch: everywhere("deleteSourceBranch"),
    protectedBranches: [...new Set([...NEVER_DELETED, ...defaults.protectedBranches])],
    approvalFromCommitters: defaults.approvalFromCommitters,
    prune: defaults.prune,
    planDrafts: defaults.planDrafts,
    allowForks: defaults.allowForks,
    commandAccess: defaults.commandAccess,
    allowedBots: defaults.allowedBots,
    applications: unionOfApplications([...policies, ...(headConfig === undefined ? [] : [headConfig])]),
    crPaths: unionOfCrPaths([...branches.map(({ file }) => file), head]),
    applicationRepositories: server.applicationRepositories,
    requirementsFor(application) {
      const required = strictest(policies.map((one) => requirementsOf(application, one, defaults)));
      return broken ? { ...required, requireApproval: true } : required;
    },
    accessTo: (application, command) => distinct(policies.flatMap((one) => accessRulesOf(application, command, one))),
    needsAdministrator: branches.some(({ file, earlier }) => file.kind === "invalid" && earlier === undefined),
    rulesChange: changed ? { lists: distinct(policies.flatMap((one) => listsConcerned(one, headConfig))) } : undefined,
    notes: policyNotes(base.file.kind === "valid" ? base.file.config : base.earlier, base.file, head),
  };
  const problems = [...new Set([head, base.file])].flatMap((side) => (side.kind === "invalid" ? side.problems : []));
  const brokenAt = base.file.kind === "invalid" ? "base" : head.kind === "invalid" ? "head" : undefined;
  return { settings, problems, brokenAt, repairs: brokenAt === "base" && head.kind === "valid" };
}

function policyOf({ file, earlier }: BranchFile): RepositoryConfig {
  return file.kind === "valid" ? file.config : (earlier ?? NO_REPOSITORY_CONFIG);
}

function distinct(rules: readonly AccessRule[]): readonly AccessRule[] {
  return [...new Map(rules.map((rule) => [JSON.stringify(rule), rule])).values()];
}

function unionOfApplications(sides: readonly RepositoryConfig[]): Settings["applications"] {
  const paths = new Map<string, Set<string>>();
  for (const application of sides.flatMap((side) => side.applications)) {
    const known = paths.get(application.name) ?? new Set();
    paths.set(application.name, new Set([...known, ...application.paths]));
  }
  return [...paths].map(([name, patterns]) => ({ name, paths: [...patterns] }));
}

/** Empty, which means all files, if any side says so or cannot be read. */
function unionOfCrPaths(sides: readonly RepositoryConfigResult[]): readonly string[] {
  const lists = sides.map((side) => (side.kind === "valid" ? (side.config.crPaths ?? []) : []));
  return lists.some((list) => list.length === 0) ? [] : [...new Set(lists.flat())];
}
