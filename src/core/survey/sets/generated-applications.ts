import { HYDRATED, sideOf } from "../../detect/inputs/moving-sources.js";
import { type ChangedApplicationSet, firstOf } from "../../detect/scan/application-sets.js";
import {
  type Application,
  type ApplicationSet,
  isAutoSynced,
  isHydrated,
  type LiveApplication,
  specEqual,
} from "../../model/application.js";
import type { ApplicationName } from "../../model/brand.js";
import { sameChangeRequest } from "../../model/change-request.js";
import type { Check } from "../../model/check.js";
import { allInTurns } from "../../model/collections.js";
import { isOfReplaced } from "../../model/deployment.js";
import { safeMessage, unlessAborted } from "../../model/errors.js";
import type { ApplicationSetPreview, NotDeployed, Preview, PreviewOrigin } from "../../model/plan/plan.js";
import type { LiveSubject, Subject } from "../../model/subject.js";
import type { Commits } from "../../ports/context.js";
import { uncheckedPreview } from "../../render/check-manifests.js";
import { definedHere, drivingObstacle, type DrivingSource } from "../driving-right.js";
import { regenerated } from "../ignored-fields.js";
import { isOwnedBy, syncingSetOf, unreadSet } from "../members.js";
import type { PreviewOrder, Previews, Removed, ShownPreview } from "../previews.js";
import type { Survey } from "../survey.js";
import { type Expansion, policyOf } from "./application-set-notes.js";

/** Whether the plan has room for an application that only a set changes; asked once for each. */
export type HasRoom = (name: ApplicationName) => boolean;

/** A survey with what ApplicationSets do to the applications that they own. */
interface Applied {
  readonly found: Survey;
  /** Changed applications for which the plan has no room. */
  readonly beyond: readonly Preview[];
}

/** What decides how ApplicationSets change the applications of a plan. */
export interface AppliedSource extends DrivingSource, Commits {
  readonly checks: readonly Check[];
  readonly previewLimit: number;
}

/**
 * Applies what ApplicationSets do to the applications that they own. One whose generated definition changes is shown and
 * not deployed, since the set would revert a sync; one that is no longer generated is left out. What a set generates
 * unchanged stays as it was found, and so does everything if it is ambiguous which set Argo CD runs. Applications that
 * nothing else affects become subjects as far as there is room for them.
 */
export async function applyExpansions(
  found: Survey,
  expansions: readonly Expansion[],
  hasRoom: HasRoom,
  context: AppliedSource,
): Promise<Applied> {
  const generated = new Set(expansions.flatMap(({ head }) => head.map(({ name }) => name)));
  const certain = expansions.filter(({ set }) => set.alsoIn.length === 0);
  const known: Known = {
    found,
    subjects: new Map(found.subjects.map((subject) => [subject.name, subject])),
    live: new Set(found.everyApplication.map(({ name }) => name)),
  };
  const removed = certain.flatMap(({ set, comparison }) =>
    comparison.removed.filter((name) => !generated.has(name)).map((name) => removedFrom(set, name, known)),
  );
  const running = certain.flatMap((one) => changedBy(one, known.live));
  const looked = new Set(running.filter(({ application: { name } }) => known.subjects.has(name) || hasRoom(name)));
  const changed = await allInTurns([...looked], (one) => changedSubject(one, known, context));
  const verdicts = new Map(
    [...removed, ...changed].flatMap((one) =>
      one === undefined ? [] : [["reason" in one ? one.application : one.name, one] as const],
    ),
  );
  const decided = [...verdicts.values()];
  return {
    found: {
      ...found,
      subjects: [
        ...found.subjects.filter(({ name }) => !verdicts.has(name)),
        ...decided.flatMap((one) => ("reason" in one ? [] : [one])),
      ],
      notDeployed: [
        ...found.notDeployed.filter(({ application }) => !verdicts.has(application)),
        ...decided.flatMap((one) => ("reason" in one ? [one] : [])),
      ],
    },
    beyond: running
      .filter((one) => !looked.has(one))
      .map(({ application: { name }, set }) => ({
        application: name,
        origin: { kind: "generated", of: set.name, change: "changed" },
        content: uncheckedPreview(name, { kind: "beyond-limit", limit: context.previewLimit }, context),
      })),
  };
}

interface Known {
  readonly found: Survey;
  readonly subjects: ReadonlyMap<ApplicationName, Subject>;
  /** Everything that Argo CD lists. */
  readonly live: ReadonlySet<ApplicationName>;
}

/** Adds a warning to the applications of sets that could not be previewed. */
export function warnOfUnpreviewed(
  found: Survey,
  sets: readonly { readonly set: ChangedApplicationSet; readonly fails: boolean }[],
): Survey {
  const subjects = found.subjects.map((subject): Subject => {
    if (subject.kind !== "live") return subject;
    const one = sets.find(({ set }) => isOwnedBy(subject.live, set));
    if (one === undefined) return subject;
    const named = `its ApplicationSet ${labelOf(one.set)}`;
    const warning = one.fails
      ? `${named} will fail after the merge: the definition of this application stays as it is until that is fixed`
      : `${named} changes and could not be previewed: the definition of this application may change at the merge`;
    return { ...subject, warnings: [...subject.warnings, warning] };
  });
  return { ...found, subjects };
}

interface Regenerated {
  readonly application: Application;
  readonly set: ChangedApplicationSet;
  readonly head: ApplicationSet;
}

function changedBy({ set, comparison, ...sides }: Expansion, live: Known["live"]): readonly Regenerated[] {
  const { head } = set;
  if (head === undefined || !policyOf(head).updates) return [];
  const generated = firstOf(sides.head);
  return comparison.changed.flatMap((name) => {
    const application = live.has(name) ? generated.get(name) : undefined;
    return application === undefined ? [] : [{ application, set, head }];
  });
}

async function changedSubject(
  { application, set, head }: Regenerated,
  { found, subjects }: Known,
  context: DrivingSource & Commits,
): Promise<LiveSubject | NotDeployed | undefined> {
  const { change } = context;
  const { name } = application;
  const known = subjects.get(name);
  if (known !== undefined && known.kind !== "live") return undefined;
  const live = known?.live ?? (await readLive(name, context));
  if (live !== undefined && "reason" in live) return live;
  if (live === undefined || !isOwnedBy(live, set)) return undefined;
  const spec = regenerated(application, live.spec, head);
  if (specEqual(spec, live.spec)) return undefined;
  const obstacle =
    (await generatedObstacle(live, set, found, context)) ?? ([spec, live.spec].some(isHydrated) ? HYDRATED : undefined);
  if (obstacle !== undefined) return { application: name, reason: obstacle };
  const records = found.records.filter((record) => record.application === name && !isOfReplaced(record, live));
  const syncingSet = syncingSetOf(live, [set]);
  return {
    kind: "live",
    name,
    sourceFile: undefined,
    live,
    head: (await sideOf(spec, context)).side,
    base: known?.base ?? (await sideOf(live.spec, context)).side,
    ownRecord: records.find((record) => sameChangeRequest(record.change, change)),
    foreignRecords: records.filter((record) => !sameChangeRequest(record.change, change)),
    autoSynced: isAutoSynced(live.spec) || isAutoSynced(spec) || syncingSet !== undefined,
    syncingSet,
    hasChildren: found.everyApplication.some(({ parent }) => parent === name),
    notDriven: `its ApplicationSet ${labelOf(set)} changes its definition: it takes effect at the merge`,
    warnings: unreadSet(live),
  };
}

async function readLive(
  name: ApplicationName,
  { deployer, signal }: Pick<DrivingSource, "deployer" | "signal">,
): Promise<LiveApplication | NotDeployed | undefined> {
  const unread = "its definition changes at the merge, and it could not be read";
  const failed = (error: unknown) => ({ application: name, reason: `${unread}: ${safeMessage(error)}` });
  return deployer.findApplication(name, signal).catch(unlessAborted(signal, failed));
}

/** Generated applications are shown only if this repository may drive them, because every set can render foreign sources. */
async function generatedObstacle(
  live: LiveApplication,
  set: ChangedApplicationSet,
  { everyApplication }: Survey,
  { change, settings, deployer, hostWords, signal }: DrivingSource,
): Promise<string | undefined> {
  const holdsResource = set.base !== undefined && set.sourceFile !== undefined;
  const claim = {
    live,
    holdsResource,
    owner: undefined,
    everyApplication,
    change,
    settings,
    words: hostWords[change.host],
  };
  const obstacle = drivingObstacle(claim);
  if (obstacle === undefined || set.base === undefined || !holdsResource) return obstacle;
  const owner = await deployer.findApplicationSet(set.base, signal).catch(unlessAborted(signal, () => undefined));
  return drivingObstacle({ ...claim, owner });
}

function removedFrom(set: ChangedApplicationSet, name: ApplicationName, { subjects }: Known): NotDeployed | undefined {
  const known = subjects.get(name);
  if (known?.kind !== "live" || !isOwnedBy(known.live, set)) return undefined;
  return { application: name, reason: removalReason(set) };
}

function removalReason(set: ChangedApplicationSet): string {
  if (set.head === undefined) return `its ApplicationSet ${labelOf(set)} is removed, and Argo CD deletes it with that`;
  const { name, deletes } = policyOf(set.head);
  const what = deletes ? "Argo CD deletes it at the merge" : `its policy ${name} keeps it: it runs on as it is`;
  return `its ApplicationSet ${labelOf(set)} no longer generates it, and ${what}`;
}

function labelOf({ name, sourceFile }: ChangedApplicationSet): string {
  return sourceFile === undefined ? name : `${name} (${sourceFile})`;
}

/** An application that an ApplicationSet changes and that the plan shows only as a preview. */
export interface ChangeToPreview {
  readonly application: ApplicationName;
  readonly origin: PreviewOrigin;
  readonly set: ChangedApplicationSet;
  /** Undefined for one that is removed. */
  readonly head: Application | undefined;
  readonly base: Application | undefined;
}

/** A survey, and what ApplicationSets do to applications that are no subjects of it. */
interface WithGenerated {
  readonly found: Survey;
  readonly toPreview: readonly ChangeToPreview[];
  /** Changed applications for which the plan has no room. */
  readonly beyond: readonly Preview[];
}

/**
 * The changes of sets that a plan shows as previews: what they add, delete or take over, and what they change of applications
 * that Argo CD does not list, or that belong to a set of which nobody knows whether Argo CD runs it. Applications that a set's
 * policy keeps are left out, since a note of the set explains them.
 */
export function changesToPreview(
  expansions: readonly Omit<Expansion, "settings" | "owned">[],
  live: ReadonlyMap<ApplicationName, Application>,
): readonly ChangeToPreview[] {
  return expansions.flatMap(({ set, comparison, ...sides }) => {
    // The controller of another set does not keep the first one from deleting what both generate.
    const namesakes = expansions.filter((one) => one.set.name === set.name);
    const generated = new Set(namesakes.flatMap((one) => one.head.map(({ name }) => name)));
    const [base, head] = [firstOf(sides.base), firstOf(sides.head)];
    const policy = set.head === undefined ? undefined : policyOf(set.head);
    const as = (change: PreviewOrigin["change"], names: readonly ApplicationName[], replaced = base) =>
      names.map((application) => ({
        application,
        origin: { kind: "generated", of: set.name, change } as const,
        set,
        head: head.get(application),
        base: replaced.get(application),
      }));
    const removed = policy === undefined || policy.deletes ? comparison.removed : [];
    const changed = policy?.updates === true ? comparison.changed : [];
    const { added } = comparison;
    const isTaken = (name: ApplicationName) => {
      const [running, generatedOne] = [live.get(name), head.get(name)];
      return running !== undefined && generatedOne !== undefined && !specEqual(running.spec, generatedOne.spec);
    };
    return [
      ...as(
        "removed",
        removed.filter((name) => live.has(name) && !generated.has(name)),
      ),
      ...as(
        "changed",
        changed.filter((name) => !live.has(name) || set.alsoIn.length > 0),
      ),
      // Whatever the set's policy is: that is about the applications that it owns.
      ...as("changed", added.filter(isTaken), live),
      ...as(
        "added",
        added.filter((name) => !live.has(name)),
      ),
    ];
  });
}

/** Shows what becomes of the applications that sets generate, or no longer do; the renders also tell whose rules hold. */
export async function previewGenerated(
  { found, toPreview, beyond }: WithGenerated,
  previews: Previews,
  context: DrivingSource,
): Promise<readonly ShownPreview[]> {
  const shown = await allInTurns(toPreview, async (one): Promise<ShownPreview> => {
    const { content, facts } = await previews.preview(previewOrder(one, found, context));
    const { application, origin, head } = one;
    return { preview: { application, origin, content }, application: head, facts };
  });
  return [...shown, ...beyond.map((preview) => ({ preview, application: undefined, facts: undefined }))];
}

/** The preview to make of one application of a set. */
export function previewOrder(one: ChangeToPreview, found: Survey, context: DrivingSource): PreviewOrder {
  const { application, set, head, base } = one;
  const { change, settings } = context;
  // What another repository defines is not shown, whoever takes it over.
  const isForeign = base && found.everyApplication.includes(base) && definedHere([base], change, settings).length === 0;
  if (head !== undefined) {
    return { kind: "rendered", application: head, replaced: isForeign === true ? undefined : base };
  }
  return { kind: "unread", name: application, read: () => findRemoved(application, set, found, context) };
}

/** What is deleted is shown only if this repository may drive it, as for any other application. */
async function findRemoved(
  name: ApplicationName,
  set: ChangedApplicationSet,
  found: Survey,
  context: DrivingSource,
): Promise<Removed | string> {
  const live = await context.deployer.findApplication(name, context.signal);
  if (live === undefined) return "Argo CD does not know it any more";
  if (!isOwnedBy(live, set)) return "the ApplicationSet does not own it in Argo CD, and so does not delete it";
  return { kind: "removed", live, hidden: await generatedObstacle(live, set, found, context) };
}

/** The survey includes what the sets do to the applications that they own. */
export interface SurveyWithSets extends WithGenerated {
  readonly applicationSets: readonly ApplicationSetPreview[];
}
