import { notMovingReason } from "../detect/inputs/moving-sources.js";
import type { RenderedChild, RenderFacts } from "../diff/render-facts.js";
import { isAutoSynced, specEqual, isHydrated } from "../model/application-spec.js";
import type { Application } from "../model/application.js";
import type { ApplicationName } from "../model/brand.js";
import type { AppliedChild, DefinitionChange, Member, ReachedBy } from "../model/effect.js";
import type { AllHostWords } from "../model/host-words.js";
import { allInTurns } from "../model/in-turns.js";
import { isPlanOf, type NotDeployed, type Plan } from "../model/plan.js";
import type { LiveSubject, Subject, UnreadableSubject } from "../model/subject.js";
import type { Commits, OpenedChange } from "../ports/context.js";
import type { Deployer, Naming } from "../ports/deployer.js";
import { definitionObstacle } from "./driving-right.js";
import { digestOf, memberOf, unknownMember } from "./members.js";
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
}

/** The child Applications that a sync of `parent` creates, changes or removes. */
export function reachedChildren(
  parent: ApplicationName,
  { children }: RenderFacts,
  around: Surroundings,
): readonly Reached[] {
  return children.flatMap((child) => reachedChild(child, { kind: "child", of: parent }, around));
}

/** Every child that a sync applies, to find out later whether one of them was changed in Argo CD. */
export function appliedChildren({ children }: RenderFacts, { nameOf }: Surroundings): readonly AppliedChild[] {
  return children.flatMap(({ name, namespace, head }) =>
    head === undefined || name === "" ? [] : [{ application: nameOf(namespace, name), digest: digestOf(head) }],
  );
}

function reachedChild(child: RenderedChild, reachedBy: ReachedBy, { live, nameOf }: Surroundings): readonly Reached[] {
  const { base, head, changed, operates } = child;
  const application = nameOf(child.namespace, child.name === "" ? GENERATED : child.name);
  const running = live.get(application);
  if (head === undefined) {
    const before = [base, running?.spec].filter((spec) => spec !== undefined);
    return [{ member: memberOf({ application, head, before, reachedBy }), deploysItself: false }];
  }
  if (!changed && !operates && running !== undefined && specEqual(head, running.spec)) return [];
  const before = running === undefined ? [] : [base, running.spec].filter((spec) => spec !== undefined);
  const member = memberOf({ application, head, before, reachedBy });
  const definition = operates ? withOperation(member.definition) : asChanged(member.definition);
  return [{ member: { ...member, definition }, deploysItself: isAutoSynced(head) || operates }];
}

/** Counts a definition as changed although its spec is the same. */
export function asChanged(definition: DefinitionChange): DefinitionChange {
  return definition.kind === "unchanged" ? { kind: "changed", moves: [] } : definition;
}

/** Counts an operation in the manifest as auto-sync: both deploy at once. */
function withOperation(definition: DefinitionChange): DefinitionChange {
  const changed = asChanged(definition);
  if (changed.kind !== "changed") return changed;
  return { kind: "changed", moves: [...changed.moves, { what: "auto-sync", from: "off", to: "an operation" }] };
}

/** Placeholder for a name that Kubernetes generates; no application can have it. */
const GENERATED = "(generated)";

/** The applications that one application applies. */
export interface Applied {
  /** Undefined if it was not rendered at the head with the definition of this digest. */
  readonly digest: string | undefined;
  readonly reached: readonly Reached[];
}

/**
 * Adds what the reached applications apply in turn, as far as Argo CD deploys them by itself. One that was not rendered with
 * the definition that it gets has a `problem`: what it applies is not known.
 * @param running the children that Argo CD runs, by their parent.
 */
export function reachedInTurn(
  first: readonly Reached[],
  appliedBy: ReadonlyMap<ApplicationName, Applied>,
  running: ReadonlyMap<ApplicationName, readonly Application[]>,
): readonly Member[] {
  const found = new Map<string, Member>();
  const queue = [...first];
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const { member, deploysItself } = next;
    const key = JSON.stringify([member.application, member.reachedBy]);
    if (found.has(key)) continue;
    const applied = appliedBy.get(member.application);
    const known = applied?.digest !== undefined && applied.digest === member.digest;
    const hidden = deploysItself && !known && member.problem === undefined;
    found.set(key, hidden ? { ...member, problem: NOT_RENDERED } : member);
    if (deploysItself && known) queue.push(...applied.reached);
    if (member.definition.kind === "removed") {
      queue.push(...(running.get(member.application) ?? []).map((one) => removedWith(member.application, one)));
    }
  }
  return [...found.values()];
}

/** Argo CD deletes what a removed application has deployed, if that has the finalizer for it. */
function removedWith(of: ApplicationName, { name, spec }: Application): Reached {
  const member = memberOf({ application: name, head: undefined, before: [spec], reachedBy: { kind: "child", of } });
  return { member, deploysItself: false };
}

const NOT_RENDERED = "Argo CD deploys it by itself, and what it would deploy was not rendered";

/** Applications of which only the names are known. */
export function reachedUnknown(
  names: readonly ApplicationName[],
  reachedBy: ReachedBy,
  problem: string,
): readonly Reached[] {
  return names.map((name) => ({ member: unknownMember(name, reachedBy, problem), deploysItself: false }));
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
  const autoSynced = isAutoSynced(live.spec) || isAutoSynced(spec);
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
    const autoSynced = isAutoSynced(subject.live.spec) || isAutoSynced(spec);
    const [head, before] = await Promise.all([sideOf(spec, context), sideOf(base, context)]);
    return { ...subject, head: head.side, base: before.side, autoSynced, definedBy: parent };
  });
  return {
    ...found,
    subjects: subjects.flatMap((one) => ("reason" in one ? [] : [one])),
    notDeployed: [...found.notDeployed, ...subjects.flatMap((one) => ("reason" in one ? [one] : []))],
  };
}
