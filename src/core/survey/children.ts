import { type Branches, HYDRATED, sideOf } from "../detect/inputs/moving-sources.js";
import type { RenderedChild, RenderFacts } from "../diff/diff-task.js";
import {
  type Application,
  type ApplicationSet,
  destinationOf,
  type GivenDefinition,
  IN_CLUSTER,
  isAutoSynced,
  isHydrated,
  type LiveApplication,
  specEqual,
} from "../model/application.js";
import type { ApplicationName } from "../model/brand.js";
import { sameChangeRequest } from "../model/change-request.js";
import { allInTurns } from "../model/collections.js";
import { isOfReplaced } from "../model/deployment.js";
import type { Member } from "../model/effect.js";
import { unlessAborted } from "../model/errors.js";
import type { AllHostWords } from "../model/host-words.js";
import { type ApplicationPlan, isPlanOf, type NotDeployed, type Plan } from "../model/plan/plan.js";
import { type LiveSubject, type Subject, unreadableBy, type UnreadableSubject } from "../model/subject.js";
import type { Commits, OpenedChange, Stoppable } from "../ports/context.js";
import type { Deployer, Naming } from "../ports/deployer.js";
import { definedElsewhere, definitionObstacle } from "./driving-right.js";
import { isOwnedBy, syncingSetOf, unreadSet } from "./members.js";
import type { Survey } from "./survey.js";

/** An application that a deployment creates, changes or removes; what it applies in turn is not yet known. */
export interface Reached {
  readonly member: Member;
  /** Whether Argo CD deploys it as soon as its definition is applied. */
  readonly deploysItself: boolean;
  /** The sync deletes it first, with what it has deployed. */
  readonly recreated?: boolean;
}

export interface Surroundings {
  /** Every application that Argo CD shows. */
  readonly live: ReadonlyMap<ApplicationName, Application>;
  readonly everySet: readonly ApplicationSet[];
  readonly nameOf: Naming;
  readonly change: Branches;
}

/** A child as the two renders of a parent define it. */
export interface DefinedChild
  extends Pick<RenderedChild, "name" | "base" | "head">, Partial<Pick<RenderedChild, "changed" | "operates">> {
  readonly namespace: string | undefined;
  /** The ApplicationSet among the parent's objects that generates it; undefined if the parent applies it itself. */
  readonly set?: string;
}

/** By parent. */
type DefinedChildren = ReadonlyMap<ApplicationName, readonly DefinedChild[]>;

/** What decides which children get the definition that their parent gives them. */
interface FollowedSource extends OpenedChange {
  readonly deployer: Pick<Deployer, "naming" | "findApplication" | "listApplications">;
  readonly hostWords: AllHostWords;
  readonly signal: Stoppable["signal"];
}

/**
 * The subjects whose definition the head of another one changes, with the one that they get: a sync deploys the parent
 * first. Without those that have it already, and those whose definition this change request may not change. Those whose file is gone
 * or says too little, and that their parent applies, from a template for instance, are planned by its render; without that, nobody
 * can tell what becomes of them. Of what `-a` leaves out, those count whose resource the sync of a planned parent writes or deletes.
 */
export async function followedChildren(
  { subjects, evaluated }: { readonly subjects: readonly Subject[]; readonly evaluated: readonly ApplicationPlan[] },
  children: DefinedChildren,
  found: Survey,
  context: FollowedSource,
): Promise<ReadonlyMap<Subject, Subject>> {
  const nameOf = await context.deployer.naming();
  const planned = new Map(subjects.map((one) => [one.name, one]));
  const affected = new Map(found.subjects.map((one) => [one.name, one]));
  const given = new Map<LiveSubject, { readonly parent: LiveSubject; readonly child: DefinedChild }>();
  const asTheyAre = new Map<Subject, Subject>();
  const kept: (Below & { readonly subject: Subject })[] = [];
  for (const parent of subjects) {
    if (parent.kind !== "live") continue;
    const isWritten = takesEffectWith(parent) === undefined;
    for (const child of children.get(parent.name) ?? []) {
      const name = nameOf(child.namespace, child.name);
      const subject = planned.get(name) ?? (isWritten ? affected.get(name) : undefined);
      if (subject === undefined || subject === parent) continue;
      if (subject.kind === "live" && !given.has(subject)) {
        if (!isChild(subject, parent, child)) continue;
        if (isGiven(subject, parent, child, found.everyApplication, context)) given.set(subject, { parent, child });
        else if (!planned.has(name) && isRewritten(subject, child)) asTheyAre.set(subject, subject);
      } else if (aboveUnknown(subject) === parent.name && child.set === undefined) {
        if (child.head !== undefined) kept.push({ subject, name: subject.name, parent, child });
        else if (!planned.has(name)) asTheyAre.set(subject, subject);
      }
    }
  }
  const followed = await allInTurns([...given], async ([subject, { parent, child }]) => {
    return [subject, await withDefinition(subject, parent, child, context)] as const;
  });
  const stay = await allInTurns(kept, async ({ subject, ...one }) => {
    const now = await subjectBelow(one, found, context);
    if ("reason" in now) return [];
    const isSame = now.kind === "live" && specEqual(now.head.spec, now.live.spec);
    if (isSame && !planned.has(subject.name)) return [];
    return [[subject, isSame ? { ...now, definedBy: undefined } : now] as const];
  });
  const unknown = new Set(evaluated.filter(({ kind }) => kind === "unevaluated").map(({ application }) => application));
  const undecided = subjects.flatMap((subject) => {
    const parent = aboveUnknown(subject);
    if (subject.kind !== "deleted" || parent === undefined || !unknown.has(parent)) return [];
    const { name, sourceFile, definedIn, definition } = subject;
    const problem = `only the render of ${parent} tells whether it is deleted, and ${parent} could not be evaluated`;
    return [[subject, { kind: "unreadable", name, sourceFile, definedIn, definition, problem }] as const];
  });
  return new Map<Subject, Subject>([...asTheyAre, ...followed, ...stay.flat(), ...undecided]);
}

/** Whether a sync of its parent writes or deletes the resource of a child that a sync of its own deploys. */
function isRewritten({ live, autoSynced, notDriven }: LiveSubject, { head, ...child }: DefinedChild): boolean {
  const isSame = head !== undefined && specEqual(head, live.spec) && child.changed !== true && child.operates !== true;
  return !isSame && !autoSynced && notDriven === undefined;
}

/** The parent of a running application whose own file is gone or says too little: only the parent's render tells its definition. */
export function aboveUnknown(subject: Subject | undefined): ApplicationName | undefined {
  switch (subject?.kind) {
    case "deleted":
      return subject.live?.parent;
    case "unreadable":
      return subject.below;
    case "live":
    case "new":
    case undefined:
      return undefined;
  }
}

/**
 * The children that run without auto-sync, that nothing but a new definition of a parent reaches, and that nobody would deploy:
 * a sync of the parent writes the definition alone. Without those whose definition this change request may not change.
 * @param found what the change request affects without its parents.
 */
export async function givenChildren(
  subjects: readonly Subject[],
  children: DefinedChildren,
  found: Survey,
  context: FollowedSource,
): Promise<readonly (LiveSubject | UnreadableSubject)[]> {
  const nameOf = await context.deployer.naming();
  const running = new Map(found.everyApplication.map((one) => [one.name, one]));
  const known = new Set([...subjects, ...found.subjects].map(({ name }) => name));
  const given = subjects.flatMap((parent) => {
    if (parent.kind !== "live" || takesEffectWith(parent) !== undefined) return [];
    return (children.get(parent.name) ?? []).flatMap((child) => {
      const live = child.name === "" ? undefined : running.get(nameOf(child.namespace, child.name));
      if (live === undefined || known.has(live.name) || !changesWaiting(live, child, parent)) return [];
      known.add(live.name);
      return { parent, child, live };
    });
  });
  const looked = await allInTurns(given, async ({ parent, child, live }) => {
    const subject = await subjectBelow({ name: live.name, parent, child }, found, context);
    if ("reason" in subject) return [];
    return subject.kind === "live" && (subject.autoSynced || !isChild(subject, parent, child)) ? [] : [subject];
  });
  return looked.flat();
}

interface Below {
  readonly name: ApplicationName;
  readonly parent: LiveSubject;
  readonly child: DefinedChild;
}

/** An application that runs, with the definition that its parent gives it; or why a sync must not deploy it. */
async function subjectBelow(
  { name, parent, child }: Below,
  found: Pick<Survey, "everyApplication" | "records">,
  context: FollowedSource,
): Promise<LiveSubject | UnreadableSubject | NotDeployed> {
  try {
    const subject = await asSubject(name, { parent: parent.name, set: child.set }, found, context);
    if ("reason" in subject) return subject;
    // The live definition may be the head's already, since a sync of the parent alone writes it.
    const base = { ...subject.base, spec: child.base ?? subject.live.spec };
    return await withDefinition({ ...subject, base }, parent, child, context);
  } catch (error) {
    context.signal.throwIfAborted();
    const running = found.everyApplication.find((one) => one.name === name);
    const definition = running && { ...running, spec: child.head ?? running.spec };
    return { kind: "unreadable", name, sourceFile: undefined, definition, ...unreadableBy(error) };
  }
}

/** The changed ApplicationSets that the sync of a parent applies, each with that parent. */
export async function appliedSets(
  subjects: readonly Subject[],
  facts: ReadonlyMap<ApplicationName, RenderFacts>,
  { deployer }: { readonly deployer: Pick<Deployer, "naming"> },
): Promise<ReadonlyMap<string, ApplicationName>> {
  const nameOf = await deployer.naming();
  const driven = subjects.filter((one) => one.kind === "live" && takesEffectWith(one) === undefined);
  return new Map(
    driven.flatMap(({ name: parent }) =>
      (facts.get(parent)?.sets ?? []).map((set): [string, ApplicationName] => [
        nameOf(set.namespace, set.name),
        parent,
      ]),
    ),
  );
}

/** Whether the head of its parent gives a running child another definition, which waits for a sync of the child. */
function changesWaiting(live: Application, { base, head, set }: DefinedChild, parent: LiveSubject): boolean {
  if (base === undefined || head === undefined || specEqual(base, head)) return false;
  if ((set === undefined && live.parent !== parent.name) || live.name === parent.name) return false;
  return ![live.spec, head].some((spec) => isAutoSynced(spec) || isHydrated(spec));
}

/** A child that nothing but a parent changes, as it runs; or why a sync must not deploy it. @throws {DeployerFailure} */
async function asSubject(
  name: ApplicationName,
  from: Pick<GivenDefinition, "parent" | "set">,
  { everyApplication, records }: Pick<Survey, "everyApplication" | "records">,
  { change, settings, snapshot, deployer, hostWords, signal }: FollowedSource,
): Promise<LiveSubject | NotDeployed> {
  const live = await deployer.findApplication(name, signal);
  if (live === undefined) return { application: name, reason: "Argo CD does not know it any more" };
  const words = hostWords[change.host];
  const claim = { live, holdsResource: true, owner: undefined, everyApplication, change, settings, words };
  const obstacle = obstacleOf(live, from) ?? definitionObstacle(claim);
  if (obstacle !== undefined) return { application: name, reason: obstacle };
  const { side } = await sideOf(live.spec, { change, snapshot });
  const own = records.filter((one) => one.application === name && !isOfReplaced(one, live));
  const syncingSet = syncingSetOf(live);
  const running = new Map(everyApplication.map((one) => [one.name, one]));
  return {
    kind: "live",
    name,
    sourceFile: undefined,
    definedIn: definedElsewhere(live, { live: running, change }),
    live,
    head: side,
    base: side,
    ownRecord: own.find((one) => sameChangeRequest(one.change, change)),
    foreignRecords: own.filter((one) => !sameChangeRequest(one.change, change)),
    autoSynced: isAutoSynced(live.spec) || syncingSet !== undefined,
    syncingSet,
    hasChildren: everyApplication.some((one) => one.parent === name),
    notDriven: undefined,
    warnings: unreadSet(live),
  };
}

function obstacleOf(
  live: LiveApplication,
  { parent, set }: Pick<GivenDefinition, "parent" | "set">,
): string | undefined {
  if (set !== undefined) {
    return isOwnedBy(live, { name: set }) ? undefined : `the ApplicationSet ${set} no longer generates it: plan again`;
  }
  if (live.parent !== parent) return `${parent} no longer applies its definition: plan again`;
  if (live.owningSet === undefined) return undefined;
  return `its definition belongs to the ApplicationSet ${live.owningSet}, which would revert what ${parent} applies`;
}

/**
 * Whether the subject is this child of the parent, and not another Argo CD's application of that name in another cluster. A parent that
 * has children here deploys to Argo CD's own cluster, whatever address it has for that, unless it moves.
 */
function isChild({ live }: LiveSubject, parent: LiveSubject, { set }: DefinedChild): boolean {
  const tracked = set === undefined ? live.parent : live.generatedBy?.parent;
  const [from, to] = [destinationOf(parent.live.spec), destinationOf(parent.head.spec)];
  return tracked === parent.name || (parent.hasChildren && from.cluster === to.cluster) || to.cluster === IN_CLUSTER;
}

/** Whether the parent's head gives the subject another definition than it is planned with. */
function isGiven(
  { name, live, head, notDriven, definedBy }: LiveSubject,
  parent: LiveSubject,
  child: DefinedChild,
  everyApplication: readonly Application[],
  { change, settings, hostWords }: Pick<FollowedSource, "change" | "settings" | "hostWords">,
): boolean {
  if (child.name === "" || child.head === undefined) return false;
  const generated = child.set !== undefined;
  // The subject may have the definition already, as one that no sync deploys.
  if (specEqual(child.head, head.spec) && (!generated || definedBy === parent.name)) return false;
  if (generated && obstacleOf(live, { parent: parent.name, set: child.set }) !== undefined) return false;
  if (generated && (takesEffectWith(parent) !== undefined || [live.spec, child.head].some(isAutoSynced))) return false;
  // What only Argo CD changed is no change of this one: its controller, or a person, may have written it on purpose. But a
  // file whose definition differs from what its parent makes of it is a template, or is patched.
  const changes = child.base === undefined || !specEqual(child.base, child.head);
  if (!changes && specEqual(head.spec, live.spec)) return false;
  if (definedBy !== undefined && definedBy !== parent.name) return false;
  if (notDriven !== undefined && specEqual(head.spec, live.spec)) return false;
  const words = hostWords[change.host];
  const holdsResource = child.base !== undefined && (generated || live.parent === parent.name);
  const claim = { live, holdsResource, owner: undefined, everyApplication, change, settings, words };
  return definitionObstacle(claim) === undefined && name !== parent.name;
}

async function withDefinition(
  subject: LiveSubject,
  parent: LiveSubject,
  { base: before, head: spec = {}, set }: DefinedChild,
  context: Commits,
): Promise<LiveSubject | UnreadableSubject> {
  const { name, sourceFile, definedIn, live } = subject;
  const shown = { kind: "unreadable", name, sourceFile, definedIn, definition: { ...live, spec } } as const;
  if (isHydrated(spec)) return { ...shown, problem: HYDRATED };
  const { side, unclear } = await sideOf(spec, context);
  const autoSynced = isAutoSynced(live.spec) || isAutoSynced(spec) || subject.syncingSet !== undefined;
  const given = !specEqual(spec, live.spec);
  // What a set gives takes effect at the sync of the parent, whatever keeps this one from writing it.
  const own = set === undefined ? subject.notDriven : undefined;
  const notDriven = own ?? (given ? takesEffectWith(parent) : undefined);
  if (unclear !== undefined && !autoSynced && notDriven === undefined) return { ...shown, problem: unclear };
  // A base that is not the live definition comes from the target branch's file: what the parent makes of that counts instead.
  const isLive = before === undefined || specEqual(subject.base.spec, live.spec);
  const base = isLive ? subject.base : (await sideOf(before, context)).side;
  return { ...subject, base, head: side, autoSynced, notDriven, definedBy: parent.name, definedBySet: set };
}

/** Why the definition that a parent gives does not come with a sync; undefined if it does. */
function takesEffectWith({ name, notDriven, autoSynced }: LiveSubject): string | undefined {
  if (notDriven === undefined && !autoSynced) return undefined;
  return `its definition comes from ${name}, which Argo CD deploys at the merge`;
}

/**
 * The survey with the definitions that the plan of this head was made with, and with the applications that nothing but such a
 * definition reaches. Where one is neither there nor written by this sync, the application is left out.
 * @param deployed what the sync deploys.
 */
export async function withPlannedDefinitions(
  found: Survey,
  plan: Plan | undefined,
  deployed: readonly ApplicationName[],
  context: FollowedSource,
): Promise<Survey> {
  if (!isPlanOf(plan, context.change)) return found;
  const planned = new Map(plan.applications.map((one) => [one.application, one.definedBy]));
  const stays = new Set(plan.applications.flatMap((one) => (one.kind === "evaluated" ? [one.application] : [])));
  const above = new Map(found.subjects.map((one) => [one.name, stays.has(one.name) ? aboveUnknown(one) : undefined]));
  // The survey takes what a set has written for what the set would revert, and does not know what a parent applies.
  const kept = found.subjects.filter(
    ({ name }) => planned.get(name)?.set === undefined && above.get(name) === undefined,
  );
  const surveyed = new Set([
    ...kept.map(({ name }) => name),
    ...found.notDeployed.map(({ application }) => application),
  ]);
  const added = await allInTurns(
    deployed.filter((name) => !surveyed.has(name)),
    async (name): Promise<readonly (Subject | NotDeployed)[]> => {
      const parent = above.get(name);
      const given = planned.get(name) ?? (parent && { parent });
      if (given === undefined) return [];
      const unread = { kind: "unreadable", name, sourceFile: undefined, definition: undefined } as const;
      const failed = unlessAborted(context.signal, (error) => ({ ...unread, ...unreadableBy(error) }));
      return [await asSubject(name, given, found, context).catch(failed)];
    },
  );
  const subjects = await allInTurns([...kept, ...added.flat()], async (subject): Promise<Subject | NotDeployed> => {
    if ("reason" in subject || subject.kind !== "live") return subject;
    const given = planned.get(subject.name);
    if (given === undefined) return subject;
    const { parent, spec, base, set } = given;
    if (!deployed.includes(parent) && !specEqual(spec, subject.live.spec)) {
      const reason = `its plan is made with the definition that ${parent} gives it: sync ${parent} before it, or both together`;
      return { application: subject.name, reason };
    }
    const autoSynced = isAutoSynced(subject.live.spec) || isAutoSynced(spec) || subject.syncingSet !== undefined;
    const [head, before] = await Promise.all([sideOf(spec, context), sideOf(base, context)]);
    return { ...subject, head: head.side, base: before.side, autoSynced, definedBy: parent, definedBySet: set };
  });
  return {
    ...found,
    subjects: subjects.flatMap((one) => ("reason" in one ? [] : [one])),
    notDeployed: [...found.notDeployed, ...subjects.flatMap((one) => ("reason" in one ? [one] : []))],
  };
}
