import type { RenderedChild, RenderFacts } from "../diff/render-facts.js";
import { isAutoSynced } from "../model/application-spec.js";
import type { Application } from "../model/application.js";
import type { ApplicationName } from "../model/brand.js";
import type { AppliedChild, DefinitionChange, Member, ReachedBy } from "../model/effect.js";
import { specEqual } from "../model/spec-equality.js";
import type { Naming } from "../ports/deployer.js";
import { digestOf } from "./definition-change.js";
import { memberOf, unknownMember } from "./members.js";

/** A member that something applies, before it is known what that member applies in turn. */
export interface Reached {
  readonly member: Member;
  /** Argo CD deploys it as soon as its definition is there. */
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

/** Something differs besides the spec. */
export function asChanged(definition: DefinitionChange): DefinitionChange {
  return definition.kind === "unchanged" ? { kind: "changed", moves: [] } : definition;
}

/** An operation deploys as auto-sync does, whichever revision it names. */
function withOperation(definition: DefinitionChange): DefinitionChange {
  const changed = asChanged(definition);
  if (changed.kind !== "changed") return changed;
  return { kind: "changed", moves: [...changed.moves, { what: "auto-sync", from: "off", to: "an operation" }] };
}

/** Stands for a name that Kubernetes makes up; no application can have it. */
const GENERATED = "(generated)";

/** What is known of what one application applies. */
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

/** What is reached where nothing more than the names is known. */
export function reachedUnknown(
  names: readonly ApplicationName[],
  reachedBy: ReachedBy,
  problem: string,
): readonly Reached[] {
  return names.map((name) => ({ member: unknownMember(name, reachedBy, problem), deploysItself: false }));
}
