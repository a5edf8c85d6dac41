import { type Branches, notMovingReason } from "../detect/inputs/moving-sources.js";
import type { RenderedChild, RenderFacts } from "../diff/diff-task.js";
import { type Application, isAutoSynced, isHydrated, specEqual } from "../model/application.js";
import type { ApplicationName } from "../model/brand.js";
import { allInTurns } from "../model/collections.js";
import type { DefinitionChange, Member } from "../model/effect.js";
import type { AllHostWords } from "../model/host-words.js";
import { isPlanOf, type NotDeployed, type Plan } from "../model/plan.js";
import type { LiveSubject, Subject, UnreadableSubject } from "../model/subject.js";
import type { Commits, OpenedChange } from "../ports/context.js";
import type { Deployer, Naming } from "../ports/deployer.js";
import { definitionObstacle } from "./driving-right.js";
import { sideOf } from "./sides.js";
import type { Survey } from "./survey.js";

/** An application that a deployment creates, changes or removes; what it applies in turn is not yet known. */
export interface Reached {
  readonly member: Member;
  /** Whether Argo CD deploys it as soon as its definition is applied. */
  readonly deploysItself: boolean;
}

export interface Surroundings {
  /** Every application that Argo CD shows. */
  readonly live: ReadonlyMap<ApplicationName, Application>;
  readonly nameOf: Naming;
  readonly change: Branches;
}

/** Counts a definition as changed although its spec is the same. */
export function asChanged(definition: DefinitionChange): DefinitionChange {
  return definition.kind === "unchanged" ? { kind: "changed", moves: [] } : definition;
}

/** What decides which children get the definition that their parent gives them. */
export interface FollowedSource extends OpenedChange {
  readonly deployer: Pick<Deployer, "naming">;
  readonly hostWords: AllHostWords;
}

/**
 * The subjects whose definition the head of another one changes, with the one that they get: a sync deploys the parent
 * first. Without those that have it already, and those whose definition this change request may not change.
 */
export async function followedChildren(
  subjects: readonly Subject[],
  facts: ReadonlyMap<ApplicationName, RenderFacts>,
  everyApplication: readonly Application[],
  context: FollowedSource,
): Promise<ReadonlyMap<Subject, LiveSubject | UnreadableSubject>> {
  const nameOf = await context.deployer.naming();
  const live = new Map(subjects.flatMap((one) => (one.kind === "live" ? [[one.name, one] as const] : [])));
  const found = new Map<LiveSubject, { readonly parent: LiveSubject; readonly child: RenderedChild }>();
  for (const parent of live.values()) {
    for (const child of facts.get(parent.name)?.children ?? []) {
      const subject = live.get(nameOf(child.namespace, child.name));
      if (subject === undefined || subject === parent || found.has(subject)) continue;
      if (isGiven(subject, parent, child, everyApplication, context)) found.set(subject, { parent, child });
    }
  }
  const followed = await allInTurns([...found], async ([subject, { parent, child }]) => {
    return [subject, await withDefinition(subject, parent, child, context)] as const;
  });
  return new Map(followed);
}

/** Whether the parent's head gives the subject another definition than it is planned with. */
function isGiven(
  { name, live, head, notDriven, definedBy }: LiveSubject,
  parent: LiveSubject,
  child: RenderedChild,
  everyApplication: readonly Application[],
  { change, settings, hostWords }: Pick<FollowedSource, "change" | "settings" | "hostWords">,
): boolean {
  if (child.name === "" || child.head === undefined || specEqual(child.head, head.spec)) return false;
  // What only Argo CD changed is no change of this one: its controller, or a person, may have written it on purpose. But a
  // file whose definition differs from what its parent makes of it is a template, or is patched.
  const changes = child.base === undefined || !specEqual(child.base, child.head);
  if (!changes && specEqual(head.spec, live.spec)) return false;
  if (definedBy !== undefined && definedBy !== parent.name) return false;
  if (notDriven !== undefined && specEqual(head.spec, live.spec)) return false;
  const words = hostWords[change.host];
  const holdsResource = child.base !== undefined && live.parent === parent.name;
  const claim = { live, holdsResource, owner: undefined, everyApplication, change, settings, words };
  return definitionObstacle(claim) === undefined && name !== parent.name;
}

async function withDefinition(
  subject: LiveSubject,
  parent: LiveSubject,
  { base: before, head: spec = {} }: RenderedChild,
  context: Commits,
): Promise<LiveSubject | UnreadableSubject> {
  const { name, sourceFile, live } = subject;
  const shown = { kind: "unreadable", name, sourceFile, definition: { ...live, spec } } as const;
  if (isHydrated(spec)) return { ...shown, problem: notMovingReason(spec, context.change) ?? "" };
  const { side, unclear } = await sideOf(spec, context);
  const autoSynced = isAutoSynced(live.spec) || isAutoSynced(spec) || subject.syncingSet !== undefined;
  const given = !specEqual(spec, live.spec);
  const notDriven = subject.notDriven ?? (given ? takesEffectWith(parent) : undefined);
  if (unclear !== undefined && !autoSynced && notDriven === undefined) return { ...shown, problem: unclear };
  // Else it is what the target branch's file says.
  const isLive = before === undefined || specEqual(subject.base.spec, live.spec);
  const base = isLive ? subject.base : (await sideOf(before, context)).side;
  const sentence = `planned with the definition that ${parent.name} gives it at this commit: a sync deploys ${parent.name} first`;
  const warnings = given ? [sentence] : [];
  return { ...subject, base, head: side, autoSynced, notDriven, warnings, definedBy: parent.name };
}

/** Why the definition that a parent gives does not come with a sync; undefined if it does. */
function takesEffectWith({ name, notDriven, autoSynced }: LiveSubject): string | undefined {
  if (notDriven === undefined && !autoSynced) return undefined;
  return `its definition comes from ${name}, which Argo CD deploys at the merge`;
}

/**
 * The survey with the definitions that the plan of this head was made with. Where such a definition is neither there nor
 * written by this sync, the application is left out.
 * @param deployed what the sync deploys.
 */
export async function withPlannedDefinitions(
  found: Survey,
  plan: Plan | undefined,
  deployed: readonly ApplicationName[],
  context: Commits,
): Promise<Survey> {
  if (!isPlanOf(plan, context.change)) return found;
  const planned = new Map(plan.applications.map((one) => [one.application, one.definedBy]));
  const subjects = await allInTurns(found.subjects, async (subject): Promise<Subject | NotDeployed> => {
    const given = planned.get(subject.name);
    if (given === undefined || subject.kind !== "live") return subject;
    const { parent, spec, base } = given;
    if (!deployed.includes(parent) && !specEqual(spec, subject.live.spec)) {
      const reason = `its plan is made with the definition that ${parent} gives it: sync ${parent} before it, or both together`;
      return { application: subject.name, reason };
    }
    const autoSynced = isAutoSynced(subject.live.spec) || isAutoSynced(spec) || subject.syncingSet !== undefined;
    const [head, before] = await Promise.all([sideOf(spec, context), sideOf(base, context)]);
    return { ...subject, head: head.side, base: before.side, autoSynced, definedBy: parent };
  });
  return {
    ...found,
    subjects: subjects.flatMap((one) => ("reason" in one ? [] : [one])),
    notDeployed: [...found.notDeployed, ...subjects.flatMap((one) => ("reason" in one ? [one] : []))],
  };
}
