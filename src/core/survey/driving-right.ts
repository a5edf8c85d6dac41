import { matchesName } from "../../config/pattern.js";
import { withEachHost, withHost } from "../../config/repository-names.js";
import { LABELS, SERVER_FILE } from "../../names.js";
import { isOwnSource, movingPositions, ownSources } from "../detect/inputs/moving-sources.js";
import type { NotFollowing } from "../detect/scan/affected.js";
import { gitGenerators, readsRepository } from "../detect/scan/application-sets.js";
import { isOwnRepository } from "../detect/tree/repository-url.js";
import {
  type Application,
  type ApplicationSet,
  isAutoSynced,
  type LiveApplication,
  renderingSources,
  type Source,
  sourcesOf,
} from "../model/application.js";
import type { ApplicationName } from "../model/brand.js";
import type { ChangeRequest } from "../model/change-request.js";
import { distinct } from "../model/collections.js";
import type { Member } from "../model/effect.js";
import { safeMessage } from "../model/errors.js";
import { type HostWords, listed } from "../model/host-words.js";
import { isJsonObject } from "../model/json.js";
import type { NotDeployed } from "../model/plan/plan.js";
import type { DefinedIn, Settings } from "../model/settings.js";
import type { CommandContext } from "../ports/context.js";
import type { Deployer, Naming } from "../ports/deployer.js";
import { withoutCredentials } from "../secrets/hide-in-text.js";

/** What is needed to decide whether a repository may drive an application. */
export type DrivingSource = Pick<CommandContext, "change" | "settings" | "hostWords" | "deployer" | "signal">;

interface NamedClaim {
  readonly live: Application;
  readonly change: ChangeRequest;
  readonly settings: Settings;
}

interface Claim extends NamedClaim {
  /** The base branch contains the Application resource, or that of the ApplicationSet that generates it. */
  readonly holdsResource: boolean;
  /** The ApplicationSet that owns the live Application, as Argo CD runs it; undefined if there is none or it was not read. */
  readonly owner: ApplicationSet | undefined;
  /** Contains the parent, if Argo CD lists it. */
  readonly everyApplication: readonly Application[];
  readonly words: HostWords;
}

export interface DrivingClaim extends Claim {
  readonly live: LiveApplication;
}

/**
 * Why this repository may not drive the application, not even with its live definition, with the cure; undefined if it may.
 * Decided on the live object alone, never on the change request's copy. A mapping by `paths` gives no right.
 */
export function drivingObstacle(claim: Claim): string | undefined {
  const { live, change } = claim;
  if (ownSources(live.spec, change).length > 0 || ownsDefinition(claim)) return undefined;
  return `no source of the live Application points at ${change.repository}. ${unclearAnnotation(claim)}To let this repository deploy it, ${cure(claim)}`;
}

/**
 * Why a change request may not change the definition, with the cure; undefined if it may. A repository that holds only
 * values, or one of several sources that render manifests, must not rewrite what the others deploy. Anybody with write
 * access can create a branch with other definitions and target that, so only the default branch may change them, and
 * branches from which the live Application or its parent renders manifests.
 */
export function definitionObstacle(claim: DrivingClaim): string | undefined {
  const { live, change, words } = claim;
  if (!ownsDefinition(claim)) {
    return (
      `this ${words.short} changes its definition, which ${change.repository} does not own: the live Application renders manifests from elsewhere, ` +
      `and nothing here defines its parent or its ApplicationSet. svc does not apply the change and deploys nothing of this application ` +
      `from here. ${unclearAnnotation(claim)}Take the definition out of this ${words.short}; or, to let this repository define it, ${cure(claim)}`
    );
  }
  if (change.baseBranch === change.defaultBranch || rendersBase(live, change)) return undefined;
  const parent = parentOf(claim);
  if (parent !== undefined && rendersBase(parent, change)) return undefined;
  return (
    `neither the live Application nor its parent follows ${change.baseBranch}, so its definition is not changed from there. ` +
    `Merge the change of the definition into ${change.defaultBranch} instead`
  );
}

function rendersBase({ spec }: Application, change: ChangeRequest): boolean {
  const moving = new Set(movingPositions(spec, change));
  return renderingSources(spec).some(({ position }) => moving.has(position));
}

function cure({ change, settings }: NamedClaim): string {
  const name = settings.namesNeedHost ? withEachHost([change.host], change.repository) : change.repository;
  return (
    `set the annotation ${LABELS.repository}: ${name} on the live Application in Argo CD, or list the repository ` +
    "under application_repositories in the server's configuration"
  );
}

/** Why an annotation that seems to name this repository gives no right: whoever has that name on another host has it, too. */
function unclearAnnotation({ live, change, settings }: NamedClaim): string {
  const annotated = (live.annotations[LABELS.repository] ?? "").trim().toLowerCase();
  if (!settings.namesNeedHost || annotated !== change.repository.toLowerCase()) return "";
  return `Its annotation ${LABELS.repository} names no host, and svc serves several, so it gives no right. `;
}

function ownsDefinition(claim: Claim): boolean {
  const { live, change, holdsResource, owner } = claim;
  if (isRenderedFrom(live, change) || isNamed(claim)) return true;
  if (!holdsResource) return false;
  const parent = parentOf(claim);
  return (
    (owner !== undefined && readsRepository(owner, change)) || (parent !== undefined && isRenderedFrom(parent, change))
  );
}

/** Whether every source that renders manifests is in the change request's repository. */
function isRenderedFrom({ spec }: Application, change: ChangeRequest): boolean {
  const rendering = renderingSources(spec);
  return rendering.length > 0 && rendering.every((source) => isOwnSource(source, change));
}

/** The applications that run whose definitions a change request of this repository may change, decided on what runs. */
export function definedHere(
  everyApplication: readonly Application[],
  change: ChangeRequest,
  settings: Settings,
): readonly Application[] {
  const rendered = new Set(everyApplication.flatMap((one) => (isRenderedFrom(one, change) ? [one.name] : [])));
  return everyApplication.filter((live) => {
    if (rendered.has(live.name) || isNamed({ live, change, settings })) return true;
    return live.parent !== undefined && rendered.has(live.parent);
  });
}

function parentOf({ live, everyApplication }: Claim): Application | undefined {
  return everyApplication.find(({ name }) => name === live.parent);
}

function isNamed({ live, change, settings }: NamedClaim): boolean {
  const means = (text: string, matches: typeof matchesName) =>
    meansRepository(text, change, settings.namesNeedHost, matches);
  const annotated = live.annotations[LABELS.repository]?.trim();
  if (annotated !== undefined && means(annotated, (name, own) => name === own)) return true;
  return settings.applicationRepositories.some(
    (entry) => matchesName(entry.application, live.name) && entry.repositories.some((text) => means(text, matchesName)),
  );
}

/** Whether a name with a host's prefix, or an address, means the change request's repository. The hosts ignore the case of names. */
function meansRepository(
  text: string,
  change: Pick<ChangeRequest, "host" | "repository" | "repositoryUrls">,
  namesNeedHost: boolean,
  matches: typeof matchesName,
): boolean {
  const { host, name } = withHost(text);
  if (host === undefined && name.includes(":")) return isOwnRepository(change, name);
  const isHost = host === undefined ? !namesNeedHost : host === change.host;
  return isHost && matches(name.toLowerCase(), change.repository.toLowerCase());
}

/** Who else writes the definition of an application, and whether it would revert ours. */
interface DefinitionOwner {
  readonly reverts: boolean;
  readonly sentence: string;
}

/** Who owns an application's definition: an ApplicationSet or a parent with self-heal reverts a change (Argo CD v3.5), another parent does not. */
export function definitionOwner(
  live: LiveApplication,
  everyApplication: readonly Application[],
): DefinitionOwner | undefined {
  if (live.owningSet !== undefined) {
    return {
      reverts: true,
      sentence: `its definition belongs to the ApplicationSet ${live.owningSet}, which would revert a change: the change takes effect at the merge`,
    };
  }
  if (live.parent === undefined) return undefined;
  const parent = everyApplication.find(({ name }) => name === live.parent);
  // A parent that the token may not see could self-heal, so it counts as reverting.
  if (parent === undefined || selfHeals(parent)) {
    return {
      reverts: true,
      sentence: `its definition belongs to the application ${live.parent}, which ${parent === undefined ? "svc cannot see and which may" : "has self-heal and would"} revert a change: the change takes effect at the merge`,
    };
  }
  return {
    reverts: false,
    sentence: `its definition belongs to the application ${live.parent}, which shows OutOfSync until the merge`,
  };
}

function selfHeals(application: Application): boolean {
  const policy = application.spec.syncPolicy;
  const automated = isJsonObject(policy) ? policy.automated : undefined;
  return isAutoSynced(application.spec) && isJsonObject(automated) && automated.selfHeal === true;
}

/** Whose right to introduce applications is asked. */
export interface ProjectClaim {
  readonly change: Pick<ChangeRequest, "host" | "repository" | "repositoryUrls">;
  readonly settings: Pick<Settings, "projectRepositories" | "namesNeedHost">;
}

const MOST_NAMED = 5;

/** Why a change request may not bring an application into this project, as a clause about it; undefined if it may. */
export function projectObstacle(project: string, claim: ProjectClaim): string | undefined {
  const closed = closedProjects(claim).find((one) => one.project === project);
  if (closed === undefined) return undefined;
  const may = closed.repositories.length === 0 ? "no repository" : `only ${listed(closed.repositories, MOST_NAMED)}`;
  return (
    `it would come into the project ${project}, into which ${may} may introduce applications. ` +
    `${SERVER_FILE} says so under projects: ask an administrator of svc to list ${claim.change.repository} there, or take it out`
  );
}

/** The first obstacle to what a deployment brings into projects; a clause about the application itself. */
export function introducing(
  { application, members }: { readonly application: ApplicationName; readonly members: readonly Member[] },
  claim: ProjectClaim,
): string | undefined {
  for (const member of members) {
    const obstacle = memberObstacle(member, claim);
    if (obstacle === undefined) continue;
    return member.application === application ? obstacle : `it brings ${member.application}, and ${obstacle}`;
  }
  return undefined;
}

/** Why one application of an effect may not come into its project. What svc cannot tell counts as coming into a project of others. */
function memberObstacle(member: Member, claim: ProjectClaim): string | undefined {
  const { definition, project, sources } = member;
  switch (definition.kind) {
    case "removed":
    case "unchanged":
      return undefined;
    case "new":
      return projectObstacle(project, claim);
    case "changed": {
      const move = definition.moves.find(({ what }) => what === "project");
      return move && projectObstacle(move.to, claim);
    }
    case "unknown": {
      if (sources.length > 0) return projectObstacle(project, claim);
      const names = closedProjects(claim).map((one) => one.project);
      if (names.length === 0) return undefined;
      return (
        `svc cannot tell into which project it would come, and this repository may introduce no applications into ` +
        `${listed(names, MOST_NAMED)}: ${SERVER_FILE} says so under projects`
      );
    }
  }
}

function closedProjects({ change, settings }: ProjectClaim): ProjectClaim["settings"]["projectRepositories"] {
  return settings.projectRepositories.filter(
    ({ repositories }) =>
      !repositories.some((text) => meansRepository(text, change, settings.namesNeedHost, matchesName)),
  );
}

/** What runs, to find where it is defined. */
interface Running {
  readonly live: ReadonlyMap<ApplicationName, Application>;
  readonly change: Pick<ChangeRequest, "repositoryUrls">;
}

/** Applications that define applications; more are taken for a cycle. */
const MAX_LEVELS = 8;

/** The other repositories that define a running application: those that its parent or its set reads, or else its own sources. */
export function definedElsewhere(
  application: Application | LiveApplication,
  running: Running,
  levels = MAX_LEVELS,
): readonly DefinedIn[] {
  const { parent } = application;
  const { owningSet, generatedBy } = { owningSet: undefined, generatedBy: undefined, ...application };
  const declared =
    owningSet === undefined
      ? parent && ofParent(parent, running, levels)
      : generatedBy === undefined
        ? [unknown(`svc cannot see the ApplicationSet ${owningSet}, which generates it`)]
        : ofSet(generatedBy, running, levels);
  return declared ?? elsewhere(gitSources(application), running);
}

/** The same of an application that was only listed: a list does not tell which set generates it. */
export async function listedElsewhere(
  listed: Application,
  running: Running,
  { deployer, signal }: Pick<DrivingSource, "signal"> & { readonly deployer: Pick<Deployer, "findApplication"> },
): Promise<readonly DefinedIn[]> {
  try {
    return definedElsewhere((await deployer.findApplication(listed.name, signal)) ?? listed, running);
  } catch (error) {
    signal.throwIfAborted();
    return [unknown(safeMessage(error))];
  }
}

/** Adds the repositories whose rules hold for an application that the merge changes although no sync deploys it. */
export async function withDefinedIn(
  { byAddress, ...one }: NotFollowing,
  running: Running,
  source: Parameters<typeof listedElsewhere>[2],
): Promise<NotDeployed> {
  const listed = running.live.get(one.application);
  if (byAddress !== true || listed === undefined) return one;
  return { ...one, definedIn: await listedElsewhere(listed, running, source) };
}

/** The same of an application that a parent or a set defines; of a new one, those that will define it. */
export function reachedFrom(
  { application, reachedBy, definedIn = [] }: Member,
  running: Running & {
    readonly everySet: readonly ApplicationSet[];
    /** Those that run, and those that this change request starts. */
    readonly parents: Running["live"];
    readonly nameOf: Naming;
  },
): readonly DefinedIn[] {
  const now = running.live.get(application);
  switch (reachedBy.kind) {
    case "direct":
      return definedIn;
    case "child": {
      const before = now === undefined ? [] : definedElsewhere(now, running);
      return distinct([...before, ...ofParent(reachedBy.of, { ...running, live: running.parents }, MAX_LEVELS)]);
    }
    case "generated": {
      const set = running.everySet.find(({ namespace, name }) => running.nameOf(namespace, name) === reachedBy.by);
      const bySet = set && ofSet(set, running, MAX_LEVELS);
      return bySet ?? (now === undefined ? [] : definedElsewhere(now, running));
    }
  }
}

/** A chart's values may come from another source, and say what it defines, so that all sources count. */
function ofParent(name: ApplicationName, running: Running, levels: number): readonly DefinedIn[] {
  const parent = running.live.get(name);
  if (parent === undefined) {
    return [unknown(`svc cannot see the application ${name}, which Argo CD tracks as its parent`)];
  }
  const read = gitSources(parent);
  if (read.length > 0 || parent.parent === name) return elsewhere(read, running);
  // Only its definition says what its charts make of it.
  if (levels === 0) return [unknown(`the applications above ${name} define each other`)];
  return definedElsewhere(parent, running, levels - 1);
}

/** Undefined if neither a repository that svc knows nor a parent declares the set. */
function ofSet(set: ApplicationSet, running: Running, levels: number): readonly DefinedIn[] | undefined {
  const read = gitGenerators(set).flatMap(({ repoURL, revision }) =>
    typeof repoURL === "string" ? [{ repoURL, targetRevision: typeof revision === "string" ? revision : "" }] : [],
  );
  if (read.length === 0 && set.parent === undefined) return undefined;
  const byParent = set.parent === undefined ? [] : ofParent(set.parent, running, levels);
  const others = read.filter(({ repoURL }) => !isOwnRepository(running.change, repoURL));
  return distinct([...byParent, ...others.map(place)]);
}

function gitSources({ spec }: Application): readonly Source[] {
  return sourcesOf(spec).filter(({ chart, repoURL }) => chart === undefined && !/^\s*oci:/i.test(repoURL));
}

function elsewhere(sources: readonly Source[], { change }: Running): readonly DefinedIn[] {
  return distinct(sources.filter((source) => !isOwnSource(source, change)).map(place));
}

function place({ repoURL, targetRevision }: Pick<Source, "repoURL" | "targetRevision">): DefinedIn {
  return { kind: "repository", repoURL: withoutCredentials(repoURL, "every"), follows: targetRevision };
}

function unknown(reason: string): DefinedIn {
  return { kind: "unknown", reason };
}
