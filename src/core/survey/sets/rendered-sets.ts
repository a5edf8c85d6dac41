import {
  type ChangedApplicationSet,
  compareGenerated,
  gitGenerators,
  hasSameLabels,
  mayMove,
  pinGitGenerators,
  readingHidden,
  readsChanges,
  tooManyChanges,
} from "../../detect/scan/application-sets.js";
import { choosesByPath } from "../../detect/scan/generators.js";
import type { RenderedSet } from "../../diff/diff-task.js";
import {
  type Application,
  type ApplicationSet,
  type ApplicationSpec,
  isRollingSync,
  projectOf,
  type SetId,
  specEqual,
} from "../../model/application.js";
import { applicationName, type ApplicationName, type Revision } from "../../model/brand.js";
import type { ChangeRequest } from "../../model/change-request.js";
import { groupedBy } from "../../model/collections.js";
import { GONE_FIRST, type ReachedBy } from "../../model/effect.js";
import { DeployerFailure, safeMessage } from "../../model/errors.js";
import type { JsonObject } from "../../model/json.js";
import type { SetFailure } from "../../model/plan/plan.js";
import type { LiveSubject } from "../../model/subject.js";
import type { Stoppable } from "../../ports/context.js";
import type { Deployer } from "../../ports/deployer.js";
import type { Previewed } from "../../render/preview.js";
import type { Reached, Surroundings } from "../children.js";
import { asChanged, autoSyncAmong, memberOf, operates, unknownMember } from "../members.js";
import { createPreviews, type PreviewOrder, readsOnlyKnown } from "../previews.js";
import type { Survey } from "../survey.js";
import { policyOf } from "./application-set-notes.js";
import { withheldBecause } from "./application-sets.js";
import { failureToCreate, failureToGenerate } from "./set-failure.js";
import { changedSettings, ownedIfChanged, withReads } from "./set-settings.js";

type PreviewsOf = Parameters<typeof createPreviews>;

/**
 * Takes from the parent's render what becomes of a running ApplicationSet for which the files do not show both sides, such as one in
 * a Helm template. A set that the parent applies as before is left out.
 */
export async function withSetsOfParents(
  found: Survey,
  why: PreviewsOf[0],
  context: PreviewsOf[1] & { readonly deployer: Pick<Deployer, "naming"> },
): Promise<Survey> {
  const { change, snapshot, deployer } = context;
  const doubtful = new Set(found.detection.applicationSets.filter(saysTooLittle));
  if (doubtful.size === 0) return found;
  const nameOf = await deployer.naming();
  // The checks run when it is planned.
  const previews = createPreviews(why, { ...context, checks: [] });
  const shown = new Map<LiveSubject, Promise<Previewed>>();
  const show = (parent: LiveSubject) => {
    const known = shown.get(parent) ?? previews.preview(orderOf(parent));
    shown.set(parent, known);
    return known;
  };
  const paths = await snapshot.changedPaths(change.mergeBase, change.headRevision);
  const trees = await Promise.all([snapshot.tree(change.mergeBase), snapshot.tree(change.headRevision)]);
  const readsHidden = await readingHidden(context);
  const decided = found.detection.applicationSets.map(async (set): Promise<readonly ChangedApplicationSet[]> => {
    const isNamed = (one: SetId) => nameOf(one.namespace, one.name) === set.name;
    const running = doubtful.has(set) ? found.everySet.find(isNamed) : undefined;
    const parent = found.subjects.find((one) => one.kind === "live" && one.name === running?.parent);
    if (running === undefined || parent?.kind !== "live") return [set];
    const { content, facts } = await show(parent);
    if (facts === undefined) {
      const cause = content.kind === "failed" ? `: ${content.reason}` : "";
      return [{ ...set, problem: `what ${parent.name} makes of it at the head is not known${cause}` }];
    }
    const rendered = [...facts.sets, ...facts.sameSets].find(isNamed);
    if (rendered === undefined) return [set];
    const isRead =
      [readsChanges, choosesByPath].some((reads) => reads(running, change, paths, trees)) || readsHidden(running);
    if (facts.sameSets.includes(rendered) && !isRead) return [];
    const sides = sidesOf(rendered);
    // A file that the target branch does not have gives no right to what the set generates.
    const sourceFile = set.base === undefined && sides.base !== undefined ? undefined : set.sourceFile;
    return [{ ...set, ...sides, sourceFile, problem: undefined }];
  });
  const applicationSets = (await Promise.all(decided)).flat();
  return { ...found, detection: { ...found.detection, applicationSets } };
}

/** Whether the files lack one of the sides. A set without a file has the running set on both sides, so they lack them there too. */
function saysTooLittle({ base, head, sourceFile, alsoIn }: ChangedApplicationSet): boolean {
  return alsoIn.length === 0 && (base === undefined || head === undefined || sourceFile === undefined);
}

function orderOf({ live, head, base }: LiveSubject): PreviewOrder {
  const withSpec = (spec: ApplicationSpec) => ({ ...live, spec, project: projectOf(spec) });
  return { kind: "rendered", application: withSpec(head.spec), replaced: withSpec(base.spec) };
}

/** Where Argo CD is asked what an ApplicationSet generates for a change request. */
interface ExpansionSource {
  readonly change: ChangeRequest;
  readonly deployer: Pick<Deployer, "applicationsOfSet" | "expandApplicationSet">;
  readonly signal: AbortSignal;
}

/** What decides whether a set may be expanded for its author to see. */
export interface ShowingSource extends ExpansionSource {
  /** Why nobody who may deploy these applications has approved the head; undefined if somebody has. */
  readonly why: (applications: readonly ApplicationName[]) => Promise<string | undefined>;
}

/** The applications that a set below a parent would generate, change or remove once a sync has applied its rendered resource. */
export async function reachedBySet(
  set: RenderedSet,
  around: Surroundings,
  context: ShowingSource & Stoppable & { readonly deployer: Pick<Deployer, "check"> },
): Promise<readonly Reached[]> {
  const { signal, log } = context;
  const name = around.nameOf(set.namespace, set.name);
  const reachedBy = { kind: "generated", by: name } as const;
  try {
    const withheld = await withholding(set, name, around, context);
    if (withheld !== undefined) return reachedUnknown([applicationName(name)], reachedBy, withheld);
    const { base, head } = await expansionOf(set, context);
    const syncsItself = await autoSyncAmong(
      head.map(({ spec }) => spec),
      context.deployer,
    );
    const named = (side: readonly Application[]) => groupedBy(side, (one) => one.name);
    const [old, young] = [named(base), named(head)];
    const sides = sidesOf(set);
    // Once the parent has applied the set, its controller deletes without pruning.
    const atOnce = sides.head !== undefined;
    const mayStay = sides.head !== undefined && set.recreated !== true && !policyOf(sides.head).deletes;
    const settings = changedSettings(sides);
    const owned = await ownedIfChanged(sides, context);
    const names = [...new Set([...old.keys(), ...young.keys(), ...owned])];
    const reads = withReads([], { ...sides, name }, context.change);
    const reached = names.flatMap((application): readonly Reached[] => {
      const running = around.live.get(application)?.spec;
      const earlier = old.get(application) ?? [];
      const replaced = earlier.map(({ spec }) => spec);
      const before = running === undefined ? [] : [...replaced, running];
      const after = young.get(application) ?? [];
      if (after.length === 0) {
        const member = memberOf({ application, head: undefined, before: [...replaced, ...before], reachedBy });
        return [{ member: { ...member, definition: { kind: "removed", mayStay, atOnce } }, deploysItself: false }];
      }
      return after.flatMap((one): readonly Reached[] => {
        const { spec } = one;
        const taken = replaced.length === 0;
        const kept = !taken && settings.length === 0 && earlier.every((before) => hasSameLabels(before, one));
        const same = kept && running !== undefined && before.every((other) => specEqual(other, spec));
        if (same && set.recreated !== true) return [];
        const member = memberOf({ application, head: spec, before, reachedBy, change: context.change });
        const begins = operates(one);
        const deploysItself = syncsItself(spec) || begins || (set.head !== undefined && isRollingSync(set.head));
        const definition = same ? GONE_FIRST : asChanged(member, begins).definition;
        return [{ member: { ...member, definition }, deploysItself, recreated: set.recreated }];
      });
    });
    return [...reached, ...reads.map((member) => ({ member, deploysItself: false }))];
  } catch (error) {
    signal.throwIfAborted();
    log.warn({ set: name, err: error }, "could not preview an ApplicationSet");
    return reachedUnknown(
      [applicationName(name)],
      reachedBy,
      `the ApplicationSet could not be previewed: ${safeMessage(error)}`,
    );
  }
}

/** Why the set is not expanded: the names that it makes could tell its author what they may not read. */
async function withholding(
  set: RenderedSet,
  name: string,
  { nameOf, everySet }: Surroundings,
  { why, change, deployer, signal }: ShowingSource,
): Promise<string | undefined> {
  const live = everySet.find((one) => nameOf(one.namespace, one.name) === name);
  const { base, head } = sidesOf(set);
  if ([base, head].every((side) => readsOnlyKnown(side, live, change))) return undefined;
  const missing = await why(await deployer.applicationsOfSet(set, signal));
  return missing === undefined ? undefined : withheldBecause(missing);
}

interface RenderedExpansion {
  readonly base: readonly Application[];
  readonly head: readonly Application[];
}

const expansions = new WeakMap<RenderedSet, Promise<RenderedExpansion>>();

/** Asks Argo CD once for each set of a plan, for its effect and its previews alike. */
export function expansionOf(set: RenderedSet, context: ExpansionSource): Promise<RenderedExpansion> {
  const known = expansions.get(set) ?? expand(set, context);
  expansions.set(set, known);
  return known;
}

async function expand(set: RenderedSet, context: ExpansionSource): Promise<RenderedExpansion> {
  const { baseRevision, headRevision } = context.change;
  const base = await generated(set, set.base, baseRevision, context);
  const head = await generated(set, set.head, headRevision, context);
  const problem = tooManyChanges(compareGenerated(base, head));
  if (problem !== undefined) throw new DeployerFailure("failed", problem);
  return { base, head };
}

/** Why the controller would fail on the set as the head has it; undefined if it would not, or nobody knows. */
export async function failureOfSet(set: RenderedSet, context: ExpansionSource): Promise<SetFailure | undefined> {
  const { name, namespace, head } = set;
  if (head === undefined) return undefined;
  try {
    return failureToCreate((await expansionOf(set, context)).head);
  } catch {
    context.signal.throwIfAborted();
  }
  // It may be the set as it is now that fails.
  try {
    await generated(set, head, context.change.headRevision, context);
    return undefined;
  } catch (error) {
    context.signal.throwIfAborted();
    return failureToGenerate({ name, namespace, resource: head }, error);
  }
}

/** Before the merge its git generators read the base branch, and after it the head. */
async function generated(
  { name, namespace }: RenderedSet,
  resource: JsonObject | undefined,
  at: Revision,
  { change, deployer, signal }: ExpansionSource,
): Promise<readonly Application[]> {
  if (resource === undefined) return [];
  const set: ApplicationSet = { name, namespace, resource };
  const pinned = await deployer.expandApplicationSet(pinGitGenerators(set, change, at), change, signal);
  const moves = at === change.headRevision && gitGenerators(set).some((git) => mayMove(git, change));
  return moves ? [...pinned, ...(await deployer.expandApplicationSet(set, change, signal))] : pinned;
}

function sidesOf({ name, namespace, ...sides }: RenderedSet) {
  const as = (resource: JsonObject | undefined): ApplicationSet | undefined =>
    resource && { name, namespace, resource };
  return { base: as(sides.base), head: as(sides.head) };
}

function reachedUnknown(names: readonly ApplicationName[], reachedBy: ReachedBy, problem: string): readonly Reached[] {
  return names.map((name) => ({ member: unknownMember(name, reachedBy, problem), deploysItself: false }));
}
