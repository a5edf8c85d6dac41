import { type ChangedApplicationSet, firstOf } from "../detect/scan/application-sets.js";
import type { RenderedChild, RenderedSet, RenderFacts } from "../diff/diff-task.js";
import {
  type Application,
  type ApplicationSet,
  destinationOf,
  IN_CLUSTER,
  isRollingSync,
  projectOf,
  specEqual,
} from "../model/application.js";
import type { ApplicationName } from "../model/brand.js";
import { allInTurns } from "../model/collections.js";
import { sameCluster } from "../model/effect.js";
import type { JsonObject } from "../model/json.js";
import type { ManifestDiff } from "../model/plan/manifest-diff.js";
import type { ApplicationPlan, Preview, PreviewOrigin, SetFailure } from "../model/plan/plan.js";
import type { AnnouncedSubject, LiveSubject, Subject } from "../model/subject.js";
import type { Deployer, Naming } from "../ports/deployer.js";
import type { Previewed } from "../render/preview.js";
import type { DefinedChild } from "./children.js";
import type { DrivingSource } from "./driving-right.js";
import { regenerated } from "./ignored-fields.js";
import { type PreviewOrder, type Previews, readsOnlyKnown, type Removed, type ShownPreview } from "./previews.js";
import { policyOf, UNLESS_OVERRULED } from "./sets/application-set-notes.js";
import {
  changesToPreview,
  previewOrder,
  type SurveyWithSets,
  type ChangeToPreview,
} from "./sets/generated-applications.js";
import { expansionOf, failureOfSet } from "./sets/rendered-sets.js";
import { compareOwned, ownedIfChanged } from "./sets/set-settings.js";
import { withMissing } from "./survey-afresh.js";
import type { Survey } from "./survey.js";

/** An application, and what its renders say about others. */
type Parent = readonly [ApplicationName, RenderFacts];

/** The applications whose children are known, those to come included. */
export async function parentsOf(
  subjects: readonly Subject[],
  facts: ReadonlyMap<ApplicationName, RenderFacts>,
  start: { readonly previewed: (subject: AnnouncedSubject) => Promise<Previewed> | undefined },
  { everyApplication, everySet }: Survey,
): Promise<readonly Parent[]> {
  const tracking = new Set([...everyApplication, ...everySet].map(({ parent }) => parent));
  const found = await allInTurns(subjects, async (subject): Promise<readonly Parent[]> => {
    const { kind, name } = subject;
    const announced = kind === "new" || kind === "deleted" ? await start.previewed(subject) : undefined;
    const known = facts.get(name) ?? announced?.facts;
    if (known === undefined) return [];
    if (kind !== "live" || tracking.has(name) || !staysElsewhere(subject)) return [[name, known]];
    // In another cluster, where Argo CD tracks none of them, another Argo CD runs them: what is there and stays is not new.
    const there = new Set(subject.live.syncedChildren);
    const children = known.children.flatMap((child): readonly RenderedChild[] => {
      const isThere = there.has(`argoproj.io/Application ${child.namespace}/${child.name}`);
      if (isThere && !child.changed && !child.operates) return [];
      return [isThere || subject.ownRecord !== undefined ? { ...child, elsewhere: true } : child];
    });
    const sets = known.sets.map((set) => ({ ...set, elsewhere: true as const }));
    return [[name, { ...known, children, sets }]];
  });
  return found.flat();
}

/** Whether it deploys to a cluster that is not Argo CD's own, and goes on to do so. */
function staysElsewhere({ live, head }: LiveSubject): boolean {
  const from = destinationOf(live.spec);
  return from.cluster !== IN_CLUSTER && sameCluster(from, destinationOf(head.spec)) === "yes";
}

/** The survey with Argo CD's list of now if it lacks a child that one of these parents renders. */
export async function withChildren(
  found: Survey,
  parents: readonly Parent[],
  context: { readonly deployer: Pick<Deployer, "naming" | "listApplications">; readonly signal: AbortSignal },
): Promise<Survey> {
  const nameOf = await context.deployer.naming();
  const named = parents.flatMap(([, { children }]) => children.filter(({ name }) => name !== ""));
  return withMissing(
    found,
    named.map(({ namespace, name }) => nameOf(namespace, name)),
    context,
  );
}

/**
 * Previews the children that the heads of these parents, and of the applications that sets generate, add, change or remove,
 * what ApplicationSets among their objects make of that, and what such applications do to theirs, as far as the plan does
 * not show them already. Each is shown once, so that applications that define each other come to an end.
 * @returns the previews of generated applications, and then those of children.
 */
export async function childPreviews(
  parents: readonly Parent[],
  generated: readonly ShownPreview[],
  { found, applicationSets }: SurveyWithSets,
  previews: Previews,
  context: DrivingSource,
): Promise<readonly ShownPreview[]> {
  const nameOf = await context.deployer.naming();
  const seen = new Set<string>([
    ...found.subjects.map(({ name }) => name),
    ...applicationSets.flatMap(({ added, changed, removed }) => [...added, ...changed, ...removed]),
    ...applicationSets.flatMap(({ name, removed }) => removed.map((one) => eventOf(removedBy(name, one)))),
    ...generated.map(({ preview }) => eventOf(preview)),
  ]);
  const deleted = new Set(found.subjects.flatMap(({ kind, name }) => (kind === "deleted" ? [name] : [])));
  const ofGenerated = new Set(generated.map(({ preview }) => preview.application));
  const shown = [...generated];
  for (let level = [...parents, ...generated.flatMap(asParent)]; level.length > 0;) {
    const survey = await withChildren(found, level, context);
    const running = new Map(survey.everyApplication.map((one) => [one.name, one]));
    // The plan names the sets that generated applications apply, and goes no further: one may generate itself. Deletions come to an end.
    const sets = level.flatMap(([name, facts]) =>
      facts.sets.filter(({ head }) => head === undefined || !ofGenerated.has(name)),
    );
    const generatedBelow = await Promise.all(sets.map((set) => belowSet(set, survey, nameOf, context)));
    const children = level.flatMap((parent) => changedChildren(parent, running, nameOf, context));
    const below = [...children, ...generatedBelow.flat()].filter(isFirst);
    const looked = await allInTurns(below, async ({ application, origin, order }): Promise<ShownPreview> => {
      const { content, facts } = await previews.preview(order);
      const head = order.kind === "rendered" ? order.application : undefined;
      return { preview: { application, origin, content }, application: head, facts };
    });
    shown.push(...looked);
    level = looked.flatMap(asParent);
  }
  return shown;

  /** What is planned, or goes to another parent, may be deleted as well, and only whoever tracks it tells what goes with it. */
  function isFirst({ application, origin, order }: FoundBelow): boolean {
    const goes = order.kind === "unread";
    if (goes && deleted.has(application)) return false;
    const key = goes ? eventOf({ application, origin }) : application;
    const first = !seen.has(key);
    seen.add(key);
    return first;
  }
}

/** Names what becomes of an application by who does it. */
function eventOf({ application, origin: { kind, of, change } }: Pick<Preview, "application" | "origin">): string {
  return JSON.stringify([application, kind, of, change]);
}

function removedBy(set: string, application: ApplicationName) {
  return { application, origin: { kind: "generated", of: set, change: "removed" } } as const;
}

function asParent({ preview, facts }: ShownPreview): readonly Parent[] {
  return facts === undefined ? [] : [[preview.application, facts]];
}

/** The named children whose definition the parent's head changes, or a sync of it does. */
function changedChildren(
  [parent, { children }]: Parent,
  running: ReadonlyMap<ApplicationName, Application>,
  nameOf: Naming,
  context: Pick<DrivingSource, "deployer" | "signal">,
): readonly FoundBelow[] {
  return children.flatMap((child): readonly FoundBelow[] => {
    const { name, namespace, base, head, elsewhere } = child;
    if (name === "") return [];
    const application = nameOf(namespace, name);
    const runs = running.get(application);
    // A sync of the parent also writes what differs in Argo CD alone.
    const isKept = head !== undefined && runs !== undefined && specEqual(head, runs.spec);
    if (isKept && base !== undefined && specEqual(base, head)) return [];
    // Where the parent deployed it to another cluster, this name may mean another application here.
    if (head === undefined && (runs === undefined || (base === undefined && runs.parent !== parent))) return [];
    const isThere = runs !== undefined || (elsewhere === true && base !== undefined);
    const change = head === undefined ? "removed" : isThere ? "changed" : "added";
    const order = orderOf({ application, parent, child, running: runs, isThere }, context);
    return [{ application, origin: { kind: "child", of: parent, change }, order }];
  });
}

interface ChangedChild {
  readonly application: ApplicationName;
  readonly parent: ApplicationName;
  readonly child: RenderedChild;
  readonly running: Application | undefined;
  readonly isThere: boolean;
}

function orderOf(
  { application, parent, child: { name, namespace, base, head }, running, isThere }: ChangedChild,
  context: Pick<DrivingSource, "deployer" | "signal">,
): PreviewOrder {
  if (head === undefined) {
    return { kind: "unread", name: application, read: () => findRemoved(application, parent, context) };
  }
  const own = { namespace: application === name ? undefined : namespace, labels: {}, annotations: {} };
  const like = running ?? { ...own, name: application, resourceName: name };
  const before = base ?? running?.spec;
  const replaced = isThere && before !== undefined ? withSpec(like, before) : undefined;
  return { kind: "rendered", application: withSpec(like, head), replaced };
}

function withSpec(application: Omit<Application, "spec" | "project">, spec: Application["spec"]): Application {
  return { ...application, spec, project: projectOf(spec) };
}

/** Reads a removed child, only if Argo CD says that the parent applied it: its manifests could name any application. */
async function findRemoved(
  name: ApplicationName,
  parent: ApplicationName,
  { deployer, signal }: Pick<DrivingSource, "deployer" | "signal">,
): Promise<Removed | string> {
  const live = await deployer.findApplication(name, signal);
  if (live === undefined) return "Argo CD does not know it any more";
  return live.parent === parent
    ? { kind: "removed", live }
    : `${parent} does not track it in Argo CD, and so does not delete it`;
}

/** An application that a parent, or an ApplicationSet below it, adds, changes or removes. */
interface FoundBelow {
  readonly application: ApplicationName;
  readonly origin: PreviewOrigin;
  readonly order: PreviewOrder;
}

/** What the controller makes of the applications of a parent's set; nothing of one that may not be shown or could not be expanded. */
async function belowSet(
  rendered: RenderedSet,
  found: Survey,
  nameOf: Naming,
  context: DrivingSource,
): Promise<readonly FoundBelow[]> {
  const name = nameOf(rendered.namespace, rendered.name);
  const [base, head] = [rendered.base, rendered.head].map((resource) => resource && asSet(rendered, resource));
  if (!isShown(rendered, name, found, nameOf, context)) return [];
  const sides = { ...(base && { base }), ...(head && { head }) };
  const set: ChangedApplicationSet = { name, sourceFile: undefined, ...sides, alsoIn: [], problem: undefined };
  try {
    const expansion = await expansionOf(rendered, context);
    const running = firstOf(rendered.elsewhere ? expansion.base : found.everyApplication);
    const owned = rendered.elsewhere ? [] : await ownedIfChanged({ base, head }, context);
    const comparison = compareOwned({ base, head, owned, generated: expansion }, running);
    const policy = head && policyOf(head);
    const changed = policy?.updates === true ? comparison.changed : [];
    const kept = policy?.deletes === false ? comparison.removed.filter((one) => running.has(one)) : [];
    const toPreview = [
      ...kept.map((one): ChangeToPreview => ({ ...removedBy(name, one), set, head: undefined, base: undefined })),
      ...changesToPreview([{ set, ...expansion, comparison }], running),
      ...changed.flatMap((application): readonly ChangeToPreview[] => {
        const live = running.get(application);
        if (live === undefined) return [];
        const [before, after] = [expansion.base, expansion.head].map((side) => firstOf(side).get(application));
        // What it generates as before replaces what its policy has left alone so far.
        const isSame = before !== undefined && after !== undefined && specEqual(before.spec, after.spec);
        const origin = { kind: "generated", of: name, change: "changed" } as const;
        return [{ application, origin, set, head: after, base: isSame ? live : before }];
      }),
    ];
    const keeping = rendered.recreated === true || policy?.deletes !== false ? undefined : keptBy(policy.name);
    const why = keeping ?? (rendered.elsewhere && RUNS_ELSEWHERE);
    return toPreview.map((one): FoundBelow => {
      const [{ application, origin }, order] = [one, previewOrder(one, found, context)];
      const isTold = order.kind === "unread" && why !== undefined;
      return { application, origin, order: isTold ? { ...order, read: () => Promise.resolve(why) } : order };
    });
  } catch {
    context.signal.throwIfAborted();
    return [];
  }
}

const keptBy = (policy: string) => `the policy ${policy} of its set keeps it, ${UNLESS_OVERRULED}`;

/** Of this name, Argo CD may have an application of its own. */
const RUNS_ELSEWHERE =
  "another Argo CD runs it, in the cluster to which its parent deploys: what goes with it is not known here";

/** Adds to a parent's plan its sets on which Argo CD would fail, but for those that the plan shows by themselves or may not show. */
export async function failingSets(
  parents: readonly Parent[],
  { found, applicationSets }: SurveyWithSets,
  context: DrivingSource,
): Promise<(plan: ApplicationPlan) => ApplicationPlan> {
  const nameOf = await context.deployer.naming();
  const known = new Set(applicationSets.map((one) => one.name));
  const each = await allInTurns(parents, async ([parent, { sets }]) => {
    const looked = await allInTurns(sets, async (set) => {
      const name = nameOf(set.namespace, set.name);
      if (known.has(name) || !isShown(set, name, found, nameOf, context)) return [];
      const failure = await failureOfSet(set, context);
      return failure === undefined ? [] : [{ name, failure }];
    });
    // What a sync takes back of a set stands beside what the head changes of it.
    return [parent, [...new Map(looked.flat().map((one) => [one.name, one])).values()]] as const;
  });
  const failing = new Map(each);
  return (plan) => withFailing(plan, failing.get(plan.application) ?? []);
}

/**
 * The children of each parent, with the running applications to which an ApplicationSet among its objects gives another
 * definition as soon as the parent is synced. Not those that Argo CD syncs in steps, nor where nobody can tell the definition:
 * before the merge, git generators read the target branch.
 */
export async function withGenerated(
  subjects: readonly Subject[],
  facts: ReadonlyMap<ApplicationName, RenderFacts>,
  found: Survey,
  context: DrivingSource,
): Promise<ReadonlyMap<ApplicationName, readonly DefinedChild[]>> {
  const nameOf = await context.deployer.naming();
  const running = new Map(found.everyApplication.map((one) => [one.name, one]));
  const all = await allInTurns([...facts], async ([parent, { children, sets }]) => {
    const generated = await allInTurns(sets, async (rendered): Promise<readonly DefinedChild[]> => {
      const { namespace, base, head } = rendered;
      const set = nameOf(namespace, rendered.name);
      if (base === undefined || head === undefined || [base, head].some(isRollingSync)) return [];
      if (!policyOf(asSet(rendered, head)).updates || !isShown(rendered, set, found, nameOf, context)) return [];
      const expanded = await expansionOf(rendered, context).catch(() => NOTHING);
      context.signal.throwIfAborted();
      const specIn = (side: readonly Application[], resource: JsonObject, { name, spec: live }: Application) => {
        const [first, ...others] = side.filter((one) => one.name === name);
        const certain = first !== undefined && others.every((one) => specEqual(one.spec, first.spec));
        return certain ? regenerated(first, live, asSet(rendered, resource)) : undefined;
      };
      return expanded.head.flatMap(({ name, resourceName }): readonly DefinedChild[] => {
        const live = running.get(name);
        if (live === undefined) return [];
        const sides = { base: specIn(expanded.base, base, live), head: specIn(expanded.head, head, live) };
        return sides.base === undefined ? [] : [{ name: resourceName, namespace, ...sides, set }];
      });
    });
    return [parent, [...children, ...generated.flat()]] as const;
  });
  const defined = new Map<ApplicationName, readonly DefinedChild[]>(all);
  for (const one of subjects) {
    const given = one.kind === "live" ? one.ownRecord?.given : undefined;
    if (one.kind !== "live" || given === undefined) continue;
    const { resourceName: name, namespace } = one.live;
    const known = defined.get(given.parent) ?? [];
    // A set that this commit no longer changes gives back what the target branch has.
    const back: DefinedChild = { name, namespace, base: one.base.spec, head: one.base.spec, set: given.set };
    if (!known.some((child) => child.name === name && child.set === given.set)) {
      defined.set(given.parent, [...known, back]);
    }
  }
  return defined;
}

const NOTHING = { base: [], head: [] };

/** Whether what the set generates shows nothing that its author may not read. */
function isShown(
  rendered: RenderedSet,
  name: string,
  found: Survey,
  nameOf: Naming,
  { change }: Pick<DrivingSource, "change">,
): boolean {
  const live = found.everySet.find((one) => nameOf(one.namespace, one.name) === name);
  return [rendered.base, rendered.head].every((side) => readsOnlyKnown(side && asSet(rendered, side), live, change));
}

function asSet({ name, namespace }: RenderedSet, resource: JsonObject): ApplicationSet {
  return { name, namespace, resource };
}

/** A set that fails once the sync of a parent has applied it. */
interface FailingSet {
  readonly name: string;
  readonly failure: SetFailure;
}

/** Adds sets that fail to what the plan of their parent warns of first. */
function withFailing(plan: ApplicationPlan, sets: readonly FailingSet[]): ApplicationPlan {
  if (sets.length === 0) return plan;
  if (plan.kind === "evaluated") return { ...plan, diff: withDangers(plan.diff, sets) };
  if (plan.kind !== "new" || plan.preview?.kind !== "compared") return plan;
  return { ...plan, preview: { ...plan.preview, diff: withDangers(plan.preview.diff, sets) } };
}

function withDangers(diff: ManifestDiff, sets: readonly FailingSet[]): ManifestDiff {
  return {
    ...diff,
    cautions: [...sets.map((one) => sentenceOf(one, MAX_CAUSE.caution)), ...diff.cautions],
    dangers: [...sets.map((one) => ({ what: sentenceOf(one, MAX_CAUSE.danger), pruning: false })), ...diff.dangers],
  };
}

/** Characters. A plan cuts a caution at 400 and a danger at 150, and the end of the sentence must survive that. */
const MAX_CAUSE = { caution: 250, danger: 50 };

const MAX_NAME = 30;

function sentenceOf({ name, failure: { why, then } }: FailingSet, most: number): string {
  return `the set ${cut(name, MAX_NAME)} will fail: ${cut(why, most)}; ${then}`;
}

function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most).replace(/[\uD800-\uDBFF]$/, "")}…`;
}
