import { type AffectedApplication, detect, type Detection, scanSides } from "../detect/scan/affected.js";
import { isSameSet } from "../detect/scan/application-sets.js";
import { isNeverPruned } from "../diff/cautions.js";
import type { RenderedChild, RenderedSet, RenderFacts } from "../diff/diff-task.js";
import {
  type Application,
  type ApplicationSet,
  type ApplicationSpec,
  digestOf,
  specEqual,
} from "../model/application.js";
import type { ApplicationName } from "../model/brand.js";
import type { ChangeRequest } from "../model/change-request.js";
import { allInTurns, mapInTurns, nextTurn } from "../model/collections.js";
import { isDeployedAt } from "../model/deployment.js";
import { type Effect, NO_EFFECT } from "../model/effect.js";
import { DeployerFailure, only } from "../model/errors.js";
import { jsonEqual, type JsonObject } from "../model/json.js";
import type { Danger, ManifestDiff, NameChanges } from "../model/plan/manifest-diff.js";
import { type ApplicationPlan, isPlanOf, type Plan } from "../model/plan/plan.js";
import type { LiveSubject, Subject } from "../model/subject.js";
import type { OpenedChange, Stoppable } from "../ports/context.js";
import type { Deployer } from "../ports/deployer.js";
import type { PlanStore } from "../ports/stores.js";
import { NO_SETS, readLiveSets, survey, type Survey, type SurveyOptions, type SurveySource } from "./survey.js";

/** A survey for an answer such as "no applications are affected", by a fresh list of them. @param isEnough Whether the answer needs none. */
export async function surveyAfresh(
  context: SurveySource,
  options: SurveyOptions,
  isEnough: (found: Survey) => boolean,
): Promise<Survey> {
  const { deployer, signal } = context;
  const found = await survey(context, options);
  await nextTurn();
  const parents = found.subjects.flatMap((one) => (one.kind === "live" ? (one.live.parent ?? []) : []));
  if (isEnough(found) && !lacks(found, parents)) return found;
  const [applications, sets] = await Promise.all([
    deployer.listApplications(signal, found.since),
    options.withLiveSets === true ? readLiveSets(context, found.since) : NO_SETS,
  ]);
  const isSame = sets.notes.length === 0 && (await isSameList(applications, found)) && areSameSets(sets.found, found);
  return isSame ? { ...found, everyApplication: applications, everySet: sets.found } : survey(context, options);
}

/** Whether Argo CD lists what it listed before, whatever became of its health: then another survey finds the same. */
async function isSameList(now: readonly Application[], { everyApplication }: Survey): Promise<boolean> {
  return now.length === everyApplication.length && (await otherThan(everyApplication, now)).length === 0;
}

/** The applications that are new or defined otherwise since an earlier list. */
async function otherThan(
  earlier: readonly Application[],
  now: readonly Application[],
): Promise<readonly Application[]> {
  const before = new Map(earlier.map((one) => [one.name, one]));
  const others = await mapInTurns(now, (one) => {
    const old = before.get(one.name);
    const same = old?.parent === one.parent && jsonEqual(old?.annotations, one.annotations);
    return same && old !== undefined && specEqual(old.spec, one.spec) ? [] : [one];
  });
  return others.flat();
}

/** The affected applications that the head's plan does not name, but for those that a sync created as planned; undefined if there are none. */
export function lackedBy(
  plan: Plan | undefined,
  { applications }: Pick<Detection, "applications">,
  change: ChangeRequest,
): readonly ApplicationName[] | undefined {
  if (!isPlanOf(plan, change)) return undefined;
  const named = new Set([...plan.applications, ...plan.notDeployed].map(({ application }) => application));
  const members = [...plan.applications.map(({ effect }) => effect), ...plan.applicationSets].flatMap(
    (one) => one.members,
  );
  const isStarted = ({ name, live }: AffectedApplication) => {
    const digest = live && digestOf(live.spec);
    return digest !== undefined && members.some((one) => one.application === name && one.digest === digest);
  };
  const lacks = applications.filter((one) => !named.has(one.name) && !isStarted(one)).map(({ name }) => name);
  return lacks.length === 0 ? undefined : lacks;
}

/** Notes in a plan what it lacks, so that its next step and the commit status say so until it is made again. */
export async function noteLacked(
  plan: Plan | undefined,
  lacks: Plan["lacks"],
  { plans, change }: Pick<OpenedChange, "change"> & { readonly plans: Pick<PlanStore, "find" | "save"> },
): Promise<void> {
  if (!isPlanOf(plan, change) || JSON.stringify(plan.lacks) === JSON.stringify(lacks)) return;
  const stored = await plans.find(change);
  if (isPlanOf(stored, change)) await plans.save({ ...stored, lacks });
}

/** What the head's plan lacks of applications that are new or changed since an earlier list; reads the repository only if there are any. */
export async function lackedSince(
  earlier: readonly Application[],
  now: readonly Application[],
  plan: Plan | undefined,
  context: Omit<SurveySource, "deployer"> & { readonly deployer: Pick<Deployer, "naming"> },
): Promise<Plan["lacks"]> {
  const live = await otherThan(earlier, now);
  if (live.length === 0 || !isPlanOf(plan, context.change)) return undefined;
  const nameOf = await context.deployer.naming();
  const sides = await scanSides({ ...context, nameOf });
  const { applications } = await detect({ ...context, nameOf, sides, live, liveSets: [] });
  const names = new Set(live.map(({ name }) => name));
  return lackedBy(plan, { applications: applications.filter(({ name }) => names.has(name)) }, context.change);
}

function areSameSets(now: readonly ApplicationSet[], { everySet }: Survey): boolean {
  return (
    now.length === everySet.length &&
    now.every((one, at) => jsonEqual(one.resource, everySet[at]?.resource) && one.parent === everySet[at]?.parent)
  );
}

function lacks({ everyApplication }: Survey, names: readonly ApplicationName[]): boolean {
  const listed = new Set(everyApplication.map(({ name }) => name));
  return names.some((name) => !listed.has(name));
}

/** The survey with the list of applications as it is now if one of these is missing in it: it may be newer than the list. */
export async function withMissing(
  found: Survey,
  names: readonly ApplicationName[],
  { deployer, signal }: Pick<Stoppable, "signal"> & { readonly deployer: Pick<Deployer, "listApplications"> },
): Promise<Survey> {
  if (!lacks(found, names)) return found;
  return { ...found, everyApplication: await deployer.listApplications(signal, found.since) };
}

type Rendered = readonly [ApplicationName, RenderFacts];

/** Adds the children and sets that a deployed, unmerged commit made below these parents, which a sync takes back. */
export async function withTakenBack(
  parents: readonly Rendered[],
  subjects: readonly Subject[],
  { since, everySet }: Pick<Survey, "since" | "everySet">,
  {
    deployer,
    change,
    signal,
  }: Stoppable & { readonly deployer: Pick<Deployer, "naming" | "listApplications">; readonly change: ChangeRequest },
): Promise<readonly Rendered[]> {
  const isOwnOlder = ({ ownRecord }: LiveSubject) => ownRecord && !isDeployedAt(ownRecord, change.headRevision);
  const runsOther = (one: Subject) => one.kind === "live" && (one.foreignRecords.length > 0 || isOwnOlder(one));
  const replacing = new Set(subjects.filter(runsOther).map(({ name }) => name));
  if (replacing.size === 0) return parents;
  const [nameOf, running] = [await deployer.naming(), await deployer.listApplications(signal, since)];
  return parents.map(([name, facts]): Rendered => {
    if (!replacing.has(name)) return [name, facts];
    const known = new Set([name, ...facts.children.map((child) => nameOf(child.namespace, child.name))]);
    const others = running.filter((one) => one.parent === name && !known.has(one.name));
    const children = others.map(({ resourceName, namespace = "" }): RenderedChild => {
      return { name: resourceName, namespace, base: undefined, head: undefined, changed: true, operates: false };
    });
    const rendered = new Map([...facts.sets, ...facts.sameSets].map((set) => [nameOf(set.namespace, set.name), set]));
    const sets = everySet.flatMap((live): readonly RenderedSet[] => {
      const { namespace = "", resource, parent } = live;
      const only = parent === name ? [{ name: live.name, namespace, base: resource, head: undefined }] : [];
      const set = rendered.get(nameOf(live.namespace, live.name));
      if (set === undefined) return only;
      const { base } = set;
      return base === undefined || isSameSet(live, { ...live, resource: base }) ? [] : [{ ...set, base: resource }];
    });
    return [name, { ...facts, children: [...facts.children, ...children], sets: [...facts.sets, ...sets] }];
  });
}

export interface KeptSource extends Pick<Stoppable, "signal"> {
  readonly deployer: Pick<Deployer, "findApplicationSet" | "listApplications" | "listApplicationSets" | "naming">;
}

/** An object in the cluster, and what takes the place of both sides where it stays; undefined if it could not be read. */
interface Below<Side> {
  readonly resource: JsonObject | undefined;
  readonly side: Side | undefined;
}

/**
 * The same with what Prune=false of the target branch keeps as it is in the cluster. What does not have that option there goes all the
 * same: Argo CD reads it there.
 */
export async function keptAlive(
  facts: RenderFacts,
  parent: ApplicationName,
  { deployer, signal }: KeptSource,
): Promise<RenderFacts> {
  const kept = [...facts.children, ...facts.sameSets].filter(({ stays }) => stays !== undefined);
  if (kept.length === 0) return facts;
  const [nameOf, applications, sets] = await Promise.all([
    deployer.naming(),
    deployer.listApplications(signal),
    // A set that cannot be read counts as deleted.
    deployer.listApplicationSets(signal).catch(only(DeployerFailure, () => [])),
  ]);
  const children = applications.filter((one) => one.parent === parent);
  const below = new Map<string, Below<ApplicationSpec>>(
    children.map(({ name, annotations, spec }) => [name, { resource: { metadata: { annotations } }, side: spec }]),
  );
  const named = new Set(kept.map((one) => nameOf(one.namespace, one.name)));
  const listed = sets.filter((one) => one.parent === parent && named.has(nameOf(one.namespace, one.name)));
  // A list has no annotations of sets.
  const read = await allInTurns(listed, async ({ name, namespace }) => {
    const found = deployer.findApplicationSet({ name, namespace }, signal);
    const resource = (await found.catch(only(DeployerFailure, () => undefined)))?.resource;
    return [nameOf(namespace, name), { resource, side: resource }] as const;
  });
  const setsBelow = new Map(read);
  const looked = facts.sameSets.map((one) => asInCluster(one, setsBelow.get(nameOf(one.namespace, one.name))));
  return {
    ...facts,
    children: facts.children
      .map((one) => asInCluster(one, below.get(nameOf(one.namespace, one.name))))
      .map((one) => (one.head === undefined ? { ...one, changed: true } : one)),
    sets: [...facts.sets, ...looked.filter(({ head }) => head === undefined)],
    sameSets: looked.filter(({ head }) => head !== undefined),
  };
}

function asInCluster<Side, T extends Pick<RenderedChild, "stays"> & { readonly head: Side | undefined }>(
  one: T,
  live: Below<Side> | undefined,
): T {
  const { stays } = one;
  if (stays === undefined) return one;
  const side = isNeverPruned(live?.resource, stays) ? live?.side : undefined;
  if (side !== undefined) return { ...one, base: side, head: side };
  return { ...one, head: undefined, stays: live && stays };
}

/** The plan of an application with its effect, and with the sets that its sync changes although both sides define them in the same way. */
export function withEffect(
  planned: ApplicationPlan,
  effects: ReadonlyMap<ApplicationName, Effect>,
  facts: ReadonlyMap<ApplicationName, RenderFacts>,
): ApplicationPlan {
  const effect = effects.get(planned.application) ?? NO_EFFECT;
  if (planned.kind !== "evaluated") return { ...planned, effect };
  const { sets } = planned.diff;
  const rendered = facts.get(planned.application)?.sets ?? [];
  const written = rendered.flatMap(({ name, base, head }) => (base && head ? [name] : []));
  const changed = [...new Set([...sets.changed, ...written])];
  return { ...planned, effect, diff: { ...planned.diff, sets: { ...sets, changed } } };
}

/** Adds to a diff of the files the objects that `keptAlive` found to be deleted. A diff against the cluster has them already. */
export function withUnkept(diff: ManifestDiff, { children, sets }: RenderFacts): ManifestDiff {
  const isUnkept = ({ stays, head }: RenderFacts["sets"][number]) => stays !== undefined && head === undefined;
  const [applications, unkeptSets] = [children.filter(isUnkept), sets.filter(isUnkept)];
  const titled = (kind: string, some: readonly Pick<RenderedChild, "name" | "namespace">[]) =>
    some.map(({ name, namespace }) => `argoproj.io/${kind} ${namespace}/${name}`);
  const gone = [...titled("Application", applications), ...titled("ApplicationSet", unkeptSets)];
  if (gone.length === 0 || diff.basis.kind === "live") return diff;
  const namesOf = (known: NameChanges, some: readonly Pick<RenderedChild, "name">[]) => {
    return { ...known, deleted: [...known.deleted, ...some.map(({ name }) => name)] };
  };
  const why = "with --prune although the files say Prune=false, which it does not have in the cluster";
  const kept = diff.cautions.filter((one) => !gone.some((title) => one.startsWith(`keeps ${title} `)));
  const dangers = gone.map((title): Danger => ({ what: `deletes ${title}`, pruning: true, effect: "lost" }));
  return {
    ...diff,
    deleted: diff.deleted + gone.length,
    stay: (diff.stay ?? 0) - gone.length || undefined,
    children: namesOf(diff.children, applications),
    sets: namesOf(diff.sets, unkeptSets),
    cautions: [...gone.map((title) => `deletes ${title} ${why}`), ...kept],
    dangers: [...dangers, ...diff.dangers],
  };
}
