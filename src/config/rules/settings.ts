import { isDeepStrictEqual } from "node:util";
import { distinct } from "../../core/model/collections.js";
import {
  type AccessCommand,
  type AccessRule,
  type OwnSettings,
  type RuledApplication,
  UPDATE_BRANCH,
  DEFAULT_SENSITIVE_KINDS,
} from "../../core/model/settings.js";
import type { Stage } from "../../core/model/stage.js";
import { HOST_IDS, type HostId, REPOSITORY_FILE, SERVER_RULES } from "../../names.js";
import { isPattern, matchesName } from "../pattern.js";
import { namesOn } from "../repository-names.js";
import {
  NO_REPOSITORY_CONFIG,
  type RepositoryConfig,
  type RepositoryConfigResult,
} from "../repository/repository-schema.js";
import type { ServerConfig, ServerDefaults } from "../server/server.js";
import type { ConfigProblem } from "../yaml-tree.js";
import { accessRulesOf, requirementsIn } from "./requirements.js";
import { describeSelectors, SELECTORS } from "./rule-match.js";

export interface Resolution {
  /** Valid even if a file is broken, for commands that still work then: unlock, rollback, help. */
  readonly settings: OwnSettings;
  readonly problems: readonly ConfigProblem[];
  /** Which file is broken; `base` if both are. Plans and syncs are refused then, unless `repairs`. */
  readonly brokenAt: "head" | "base" | undefined;
  /** The head repairs or deletes the base branch's broken file: plans and syncs work, but need an approval. */
  readonly repairs: boolean;
}

/** The repository file at the tip of a branch. */
export interface BranchFile {
  readonly file: RepositoryConfigResult;
  /** If the file is broken, the newest readable version on the branch, if any. */
  readonly earlier: RepositoryConfig | undefined;
}

/** The repository files that decide about a change request. */
export interface PolicyFiles {
  readonly base: BranchFile;
  /** The file of the default branch, if the base branch is another one. */
  readonly defaultBranch: BranchFile | undefined;
  /** The same object as the base branch's if the head does not change it. */
  readonly head: RepositoryConfigResult;
  /** Whether merging changes the base branch's file in any way. */
  readonly changed: boolean;
}

/** What the server's file says besides `defaults`. */
type ServerRules = Pick<
  ServerConfig,
  "applicationRepositories" | "projects" | "syncRequirements" | "sensitiveKinds" | HostId
>;

const NEVER_DELETED = ["main", "master", "develop", "development"] as const;

/**
 * Combines the server's defaults with the repository files. Policy comes from the base and the default branch, and the
 * stricter one holds: neither the head nor a base branch of the author's choice can loosen it. `applications` and
 * `cr_paths` are the union of all sides, so a change request can only add to what svc examines. While a branch's file
 * is broken, its last readable version holds and every application needs approval.
 */
export function resolveSettings(
  defaults: ServerDefaults,
  server: ServerRules,
  { base, defaultBranch, head, changed }: PolicyFiles,
  host: HostId,
): Resolution {
  const branches = [base, ...(defaultBranch === undefined ? [] : [defaultBranch])];
  const policies = branches.map(policyOf);
  const [policy = NO_REPOSITORY_CONFIG] = policies;
  const floor = floorOn(host, server);
  const everywhere = (key: "skipNoChanges" | "autoMerge" | "deleteSourceBranch") =>
    policies.every((one) => one[key] ?? defaults[key]);
  const broken = branches.some(({ file }) => file.kind === "invalid");
  const headConfig = head.kind === "valid" ? head.config : undefined;
  const settings: OwnSettings = {
    autoplan: policy.autoplan ?? defaults.autoplan,
    planDrafts: defaults.planDrafts,
    updateBranch:
      UPDATE_BRANCH.find((one) => policies.some(({ updateBranch = defaults.updateBranch }) => updateBranch === one)) ??
      "never",
    skipNoChanges: everywhere("skipNoChanges"),
    autoMerge: everywhere("autoMerge"),
    mergeMethod: policy.mergeMethod ?? defaults.mergeMethod,
    deleteSourceBranch: everywhere("deleteSourceBranch"),
    protectedBranches: [...new Set([...NEVER_DELETED, ...defaults.protectedBranches])],
    approvalFromCommitters: defaults.approvalFromCommitters,
    prune: defaults.prune,
    allowForks: defaults.allowForks,
    commandAccess: defaults.commandAccess,
    applications: unionOfApplications([...policies, ...(headConfig === undefined ? [] : [headConfig])]),
    crPaths: unionOfCrPaths([...branches.map(({ file }) => file), head]),
    namesNeedHost: HOST_IDS.every((host) => server[host] !== undefined),
    applicationRepositories: server.applicationRepositories,
    projectRepositories: Object.entries(server.projects).map(([project, one]) => ({ project, ...one })),
    sensitiveKinds: server.sensitiveKinds ?? DEFAULT_SENSITIVE_KINDS,
    requirementsFor: oncePerApplication((application, elsewhere?: "healthy") => {
      const own = elsewhere === undefined ? defaults : { ...defaults, requireHealthy: true };
      const all = requirementsIn(policies, application, floor, own);
      const because = defaultBranch?.file.kind === "invalid" ? { because: BROKEN_DEFAULT } : {};
      return broken ? { ...all, ...because, requireApproval: true, onApproval: undefined } : all;
    }),
    accessTo: oncePerApplication((application, command: AccessCommand) =>
      distinct([...policies, floor].flatMap((one) => accessRulesOf(application, command, one))),
    ),
    stages: distinct(policies.flatMap(({ stages }) => (stages === undefined ? [] : [stages.map(asStage)]))),
    needsAdministrator: branches.some(({ file, earlier }) => file.kind === "invalid" && earlier === undefined),
    rulesChange: changed ? { lists: distinct(policies.flatMap((one) => listsConcerned(one, headConfig))) } : undefined,
    notes: policyNotes(base.file.kind === "valid" ? base.file.config : base.earlier, base.file, head),
  };
  const problems = [...new Set([head, base.file])].flatMap((side) => (side.kind === "invalid" ? side.problems : []));
  const brokenAt = base.file.kind === "invalid" ? "base" : head.kind === "invalid" ? "head" : undefined;
  return { settings, problems, brokenAt, repairs: brokenAt === "base" && head.kind === "valid" };
}

const BROKEN_DEFAULT = `${REPOSITORY_FILE} is broken on the default branch, and every application requires one until it is put right there`;

/** Computes the answer once per application, because a plan asks a dozen times; `definedIn` only adds rules of other repositories. */
function oncePerApplication<Rest extends readonly (string | undefined)[], T>(
  answer: (application: RuledApplication, ...rest: Rest) => T,
): typeof answer {
  const known = new Map<string, { readonly answer: T }>();
  return (application, ...rest) => {
    const { name, project, cluster, namespaces } = application;
    const key = JSON.stringify([name, project, cluster, namespaces, rest]);
    const found = known.get(key) ?? { answer: answer(application, ...rest) };
    known.set(key, found);
    return found.answer;
  };
}

/** The server's own rules, with the people and teams of this host. */
function floorOn(host: HostId, { syncRequirements }: Pick<ServerConfig, "syncRequirements">): RepositoryConfig {
  const entries = syncRequirements.map(({ allowedUsers, allowedTeams, ...entry }) => ({
    ...entry,
    from: SERVER_RULES,
    allowedUsers: allowedUsers && [...namesOn(host, allowedUsers)],
    allowedTeams: allowedTeams && [...namesOn(host, allowedTeams)],
  }));
  return { ...NO_REPOSITORY_CONFIG, syncRequirements: entries };
}

function policyOf({ file, earlier }: BranchFile): RepositoryConfig {
  return file.kind === "valid" ? file.config : (earlier ?? NO_REPOSITORY_CONFIG);
}

function asStage({ soak = 0, ...stage }: NonNullable<RepositoryConfig["stages"]>[number]): Stage {
  return { ...stage, soak };
}

function unionOfApplications(sides: readonly RepositoryConfig[]): OwnSettings["applications"] {
  const paths = new Map<string, Set<string>>();
  for (const application of sides.flatMap((side) => side.applications)) {
    paths.set(application.name, new Set([...(paths.get(application.name) ?? []), ...application.paths]));
  }
  return [...paths].map(([name, patterns]) => ({ name, paths: [...patterns] }));
}

/** Returns none, which means all files, if any side says so or cannot be read. */
function unionOfCrPaths(sides: readonly RepositoryConfigResult[]): readonly string[] {
  const lists = sides.map((side) => (side.kind === "valid" ? (side.config.crPaths ?? []) : []));
  return lists.some((list) => list.length === 0) ? [] : [...new Set(lists.flat())];
}

type Entry = RepositoryConfig["syncRequirements"][number];

/**
 * Finds the allow lists that a change of the file concerns: those of changed entries and of entries that overlap them.
 * A change of general settings or of the order concerns every list. @param after Undefined if it cannot be read.
 */
function listsConcerned(before: RepositoryConfig, after: RepositoryConfig | undefined): readonly AccessRule[] {
  const changed = after === undefined ? undefined : changedEntries(before, after);
  const concerned = before.syncRequirements.filter(
    (entry) => changed === undefined || changed.some((other) => mayOverlap(entry, other)),
  );
  return concerned
    .filter(({ allowedUsers, allowedTeams }) => allowedUsers !== undefined || allowedTeams !== undefined)
    .map(({ allowedUsers, allowedTeams }) => ({ users: allowedUsers ?? [], teams: allowedTeams ?? [] }));
}

/** Undefined if more than single entries change. */
function changedEntries(before: RepositoryConfig, after: RepositoryConfig): readonly Entry[] | undefined {
  const rest = (config: RepositoryConfig) => ({ ...config, version: undefined, syncRequirements: [] });
  if (!isDeepStrictEqual(rest(before), rest(after))) return undefined;
  const [old, young] = [before.syncRequirements, after.syncRequirements];
  const lacks = (entries: readonly Entry[]) => (entry: Entry) => !entries.some((one) => isDeepStrictEqual(one, entry));
  const [removed, added] = [old.filter(lacks(young)), young.filter(lacks(old))];
  const kept = [old.filter((entry) => !removed.includes(entry)), young.filter((entry) => !added.includes(entry))];
  return isDeepStrictEqual(kept[0], kept[1]) ? [...removed, ...added] : undefined;
}

/** Whether an application may match both entries. Two different plain names never overlap. */
function mayOverlap(left: Entry, right: Entry): boolean {
  if (describeSelectors(left) === describeSelectors(right)) return true;
  if (left.name === undefined || right.name === undefined) return true;
  const [one, other] = [lastPart(left.name), lastPart(right.name)];
  return (isPattern(one) && isPattern(other)) || matchesName(one, other) || matchesName(other, one);
}

/** Drops the namespace: rules reach across namespaces. Alternatives with slashes of their own may mean any name. */
function lastPart(name: string): string {
  const last = name.replace(/^.*\/(?![^{]*\})/, "");
  return last.includes("/") ? "*" : last;
}

/** Plans cut long notes, and the first note must not crowd out the others. */
const LONGEST_NOTE = 400;
const MOST_NOTES = 10;

/** Describes what the change request changes in the repository's file. @param before undefined if no version of the base's could be read. */
export function policyNotes(
  before: RepositoryConfig | undefined,
  base: RepositoryConfigResult,
  head: RepositoryConfigResult,
): readonly string[] {
  if (head.kind === "invalid") return [];
  const repaired = base.kind === "valid" ? [] : [repairedSentence(before)];
  if (before === undefined) return repaired;
  const mapping = mappingChanges(before, head.config);
  const later = [...ruleChanges(before, head.config), ...mapping.later];
  const start = `${REPOSITORY_FILE}: takes effect only after the merge, because rules come from the base branch: `;
  return [
    ...repaired,
    ...joinedIn(later, start),
    ...(mapping.now.length === 0 ? [] : [`${REPOSITORY_FILE}: takes effect already: ${mapping.now.join(", ")}`]),
  ];
}

function repairedSentence(before: RepositoryConfig | undefined): string {
  const start = `${REPOSITORY_FILE} is broken on the base branch and repaired here: until the merge every application requires approval`;
  return before === undefined
    ? `${start} by an administrator of svc's pages, because no earlier version of the file could be read, and the server's defaults apply to the rest`
    : `${start}, and the rules of the last version that could be read hold`;
}

/** Joins the items behind `start`, in as many notes as they need. */
function joinedIn(items: readonly string[], start: string): readonly string[] {
  const notes: string[] = [];
  let note = "";
  for (const item of items) {
    const longer = note === "" ? item : `${note}, ${item}`;
    if (note !== "" && longer.length > LONGEST_NOTE - start.length) notes.push(start + note);
    note = notes.length > 0 && longer.length > LONGEST_NOTE - start.length ? item : longer;
  }
  if (note !== "") notes.push(start + note);
  const more = notes.length - MOST_NOTES;
  return more > 0 ? [...notes.slice(0, MOST_NOTES), `${REPOSITORY_FILE}: more rules change than fit here`] : notes;
}

/** Describes changed rules, those that no longer hold first. */
function ruleChanges(base: RepositoryConfig, head: RepositoryConfig): readonly string[] {
  const apart = new Set(["version", "applications", "crPaths", "syncRequirements"]);
  const plain = changedKeys(base, head).filter((key) => !apart.has(key));
  const changes = [...plain.map((key) => keyChange(key, base, head)), ...requirementChanges(base, head)];
  return [...changes.filter((one) => one.includes(NO_LONGER)), ...changes.filter((one) => !one.includes(NO_LONGER))];
}

const NO_LONGER = "no longer";

function requirementChanges(base: RepositoryConfig, head: RepositoryConfig): readonly string[] {
  const sides = [base.syncRequirements, head.syncRequirements];
  const names = [...new Set(sides.flat().map(describeSelectors))];
  const changed = names.flatMap((name) => {
    const [old, now] = sides.map((entries) => entries.find((entry) => describeSelectors(entry) === name));
    return changedKeys(old, now)
      .filter((key) => !SELECTORS.some((one) => one === key))
      .map((key) => `${name}: ${keyChange(key, old, now)}`);
  });
  const isKept = (name: string) => sides.every((entries) => entries.some((entry) => describeSelectors(entry) === name));
  const [old, now] = sides.map((entries) => entries.map(describeSelectors).filter(isKept));
  return isDeepStrictEqual(old, now) ? changed : [...changed, "the order of sync_requirements"];
}

function keyChange(key: string, before: object | undefined, after: object | undefined): string {
  const [old, now] = [before, after].map((one) => new Map<string, unknown>(Object.entries(one ?? {})).get(key));
  switch (key) {
    case "requireApproval":
      return flagChange("approval", old, now);
    case "requireUpToDate":
      return flagChange("an up-to-date branch", old, now);
    case "requireHealthy":
      return flagChange("a healthy application", old, now);
    case "allowedUsers":
    case "allowedTeams":
      if (now === undefined) return `${NO_LONGER} restricted to ${snake(key)} ${listed(old)}`;
      return old === undefined
        ? `restricted to ${snake(key)} ${listed(now)}`
        : `${snake(key)} ${listed(now)} instead of ${listed(old)}`;
    default:
      return snake(key);
  }
}

function flagChange(what: string, old: unknown, now: unknown): string {
  if (now === true) return `${what} required`;
  return old === true || now === false ? `${what} ${NO_LONGER} required` : `${what} required as elsewhere`;
}

function listed(names: unknown): string {
  return (Array.isArray(names) ? names.map(String) : []).join(", ") || "nobody";
}

interface MappingChanges {
  readonly now: readonly string[];
  readonly later: readonly string[];
}

function mappingChanges(base: RepositoryConfig, head: RepositoryConfig): MappingChanges {
  const [before, after] = [pathsOf(base), pathsOf(head)];
  const [looked, looks] = [base.crPaths ?? [], head.crPaths ?? []];
  const crPaths = crPathsChange(looked, looks);
  return {
    now: [...added(before, after).map((one) => `applications ${one}`), ...crPaths.now],
    later: [...added(after, before).map((one) => `removal of applications ${one}`), ...crPaths.later],
  };
}

/** No `cr_paths` means all files, on either side. */
function crPathsChange(before: readonly string[], after: readonly string[]): MappingChanges {
  if (before.length > 0 && after.length === 0) {
    return { now: ["removal of cr_paths (all files are scanned)"], later: [] };
  }
  if (before.length === 0 && after.length > 0) return { now: [], later: ["cr_paths"] };
  return {
    now: added(before, after).map((one) => `cr_paths ${one}`),
    later: added(after, before).map((one) => `removal of cr_paths ${one}`),
  };
}

function pathsOf({ applications }: RepositoryConfig): readonly string[] {
  return applications.flatMap(({ name, paths }) => paths.map((path) => `${name} (${path})`));
}

function added(before: readonly string[], after: readonly string[]): readonly string[] {
  return [...new Set(after)].filter((one) => !before.includes(one));
}

function changedKeys(before: object | undefined, after: object | undefined): readonly string[] {
  const [old, now] = [new Map(Object.entries(before ?? {})), new Map(Object.entries(after ?? {}))];
  return [...new Set([...old.keys(), ...now.keys()])].filter((key) => !isDeepStrictEqual(old.get(key), now.get(key)));
}

function snake(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
