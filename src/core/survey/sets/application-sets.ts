import {
  type ChangedApplicationSet,
  firstOf,
  gitGenerators,
  isTemplated,
  pinGitGenerators,
  readingHidden,
  readsChanges,
  tooManyChanges,
} from "../../detect/scan/application-sets.js";
import { choosesByPath } from "../../detect/scan/generators.js";
import type { Application, ApplicationSet } from "../../model/application.js";
import { applicationName, type ApplicationName, type Revision } from "../../model/brand.js";
import { allInTurns } from "../../model/collections.js";
import type { Member } from "../../model/effect.js";
import { DeployerFailure, safeMessage, unlessAborted } from "../../model/errors.js";
import { isJsonObject } from "../../model/json.js";
import type { ApplicationSetPreview, SetFailure } from "../../model/plan/plan.js";
import type { Stoppable } from "../../ports/context.js";
import { asChanged, memberOf, operates, unknownMember } from "../members.js";
import { readsOnlyKnown } from "../previews.js";
import { withMissing } from "../survey-afresh.js";
import type { Survey } from "../survey.js";
import { type Expansion, notesOf, type NoteSurroundings, policyOf } from "./application-set-notes.js";
import {
  type AppliedSource,
  applyExpansions,
  changesToPreview,
  type HasRoom,
  type SurveyWithSets,
  warnOfUnpreviewed,
} from "./generated-applications.js";
import { failureToCreate, failureToGenerate } from "./set-failure.js";
import { changedSettings, compareOwned, ownedIfChanged, withReads } from "./set-settings.js";

type Attempt = Expansion | Unpreviewed;

interface Unpreviewed {
  readonly withheld?: boolean;
  readonly set: ChangedApplicationSet;
  readonly problem: string;
  readonly failure?: SetFailure | undefined;
  readonly owned: readonly ApplicationName[];
}

interface Surroundings extends NoteSurroundings {
  readonly live: ReadonlyMap<ApplicationName, Application>;
  /** Applications that change and are beyond the plan's limit of previews. */
  readonly unseen: ReadonlySet<ApplicationName>;
}

type SetSource = AppliedSource & Stoppable;
type OwnedSource = Pick<SetSource, "change" | "deployer" | "snapshot" | "signal" | "log">;

/**
 * Previews what changed ApplicationSets generate on both sides. A set that cannot be previewed says why; so does one that
 * could show what its author may not read, as long as `why` gives a reason against it.
 */
export async function withApplicationSets(
  found: Survey,
  why: (applications: readonly ApplicationName[]) => Promise<string | undefined>,
  hasRoom: HasRoom,
  context: SetSource,
): Promise<SurveyWithSets> {
  const { change, snapshot } = context;
  const { applicationSets } = found.detection;
  if (applicationSets.length === 0) return { found, applicationSets: [], toPreview: [], beyond: [] };
  const live = await liveSets(applicationSets, context);
  const attempts = await Promise.all(
    applicationSets.map(async (set) => (await withheld(set, live, why, context)) ?? expand(set, found, context)),
  );
  const unpreviewed = attempts.flatMap((one) =>
    "problem" in one ? [{ set: one.set, fails: one.failure !== undefined }] : [],
  );
  const expansions = attempts.flatMap((one) => ("problem" in one ? [] : [one]));
  const newest = await withMissing(found, expansions.flatMap(namesIn), context);
  const applied = await applyExpansions(newest, expansions, hasRoom, context);
  const around: Surroundings = {
    live: firstOf(newest.everyApplication),
    unseen: new Set(applied.beyond.map(({ application }) => application)),
    change,
    baseChanges: await snapshot.changedPaths(change.mergeBase, change.baseRevision),
  };
  return {
    found: warnOfUnpreviewed(applied.found, unpreviewed),
    applicationSets: await Promise.all(attempts.map((one) => previewOf(one, around))),
    toPreview: changesToPreview(expansions, around.live),
    beyond: applied.beyond,
  };
}

const UNSEEN = "the plan changes more applications than it previews, and what this one would deploy was not rendered";

async function previewOf(attempt: Attempt, around: Surroundings): Promise<ApplicationSetPreview> {
  const { name, sourceFile } = attempt.set;
  if ("problem" in attempt) {
    const { problem, failure, owned, withheld } = attempt;
    const nothing = { added: [], removed: [], changed: [], notes: [] };
    return { name, sourceFile, ...nothing, members: unknownMembers(attempt), problem, failure, withheld, owned };
  }
  const notes = notesOf(attempt, around);
  const members = withReads(await generatedMembers(attempt, around), attempt.set, around.change);
  const failure = failureToCreate(attempt.head);
  const { head } = attempt.set;
  const policy = head && policyOf(head);
  const [keepsRemoved, keepsChanged] = [policy?.deletes === false, policy?.updates === false];
  const changes = { ...attempt.comparison, keepsRemoved, keepsChanged, members };
  return { name, sourceFile, ...changes, notes, problem: undefined, failure, owned: [] };
}

/** The applications that the controller adds, changes or removes; where the set's settings change, all that it owns. */
function generatedMembers(
  { set, base, head, comparison, settings, owned }: Expansion,
  { live, unseen, change }: Surroundings,
): Promise<readonly Member[]> {
  const [before, after] = [firstOf(base), firstOf(head)];
  const reachedBy = { kind: "generated", by: set.name } as const;
  const kept = settings.length === 0 ? [] : [...owned, ...before.keys(), ...after.keys()];
  const names = new Set([...comparison.added, ...comparison.changed, ...comparison.removed, ...kept]);
  // `memberOf` compares definitions alone, and takes one whose labels or annotations change for unchanged.
  const changed = new Set(settings.length === 0 ? comparison.changed : names);
  const removed = new Set(comparison.removed);
  const mayStay = set.head !== undefined && !policyOf(set.head).deletes;
  return allInTurns([...names], (application) => {
    const running = live.get(application)?.spec;
    const replaced = [before.get(application)?.spec, running].filter((spec) => spec !== undefined);
    const spec = removed.has(application) ? undefined : (after.get(application)?.spec ?? running);
    const all = memberOf({ application, head: spec, before: replaced, reachedBy, change });
    const known = spec === undefined ? { ...all, definition: { kind: "removed", mayStay } as const } : all;
    const one = after.get(application);
    const begins = one !== undefined && operates(one);
    const member = begins || changed.has(application) ? asChanged(known, begins) : known;
    return Promise.resolve(unseen.has(application) ? { ...member, problem: UNSEEN } : member);
  });
}

/** Unknown members for the applications that the set owns now, or for the set itself if it owns none. */
function unknownMembers({ set, problem, owned }: Unpreviewed): readonly Member[] {
  const reachedBy = { kind: "generated", by: set.name } as const;
  const names = owned.length > 0 ? owned : [applicationName(set.name)];
  return names.map((name) => unknownMember(name, reachedBy, problem));
}

async function withheld(
  set: ChangedApplicationSet,
  live: readonly ApplicationSet[],
  why: (applications: readonly ApplicationName[]) => Promise<string | undefined>,
  context: OwnedSource,
): Promise<Unpreviewed | undefined> {
  // A file may name Argo CD's own namespace, or none for it.
  const nameOf = await context.deployer.naming();
  const running = live.find(({ name, namespace }) => nameOf(namespace, name) === set.name);
  if ([set.base, set.head].every((side) => readsOnlyKnown(side, running, context.change))) return undefined;
  const owned = await ownedNow(set, context);
  const missing = await why(owned);
  if (missing === undefined) return undefined;
  return { set, problem: withheldBecause(missing), owned, withheld: true };
}

/** @param missing Why no approval lifts it. */
export function withheldBecause(missing: string): string {
  return (
    "it is not previewed before somebody who may deploy its applications has approved this commit: it is not the set that Argo CD runs, " +
    `and its generators read more than lists and this repository. ${missing}`
  );
}

/** The ApplicationSets that Argo CD runs; empty if it does not list them, so that none counts as running. */
async function liveSets(
  changed: readonly ChangedApplicationSet[],
  { change, deployer, signal }: Pick<SetSource, "change" | "deployer" | "signal">,
): Promise<readonly ApplicationSet[]> {
  const sides = changed.flatMap(({ base, head }) => [base, head]);
  if (sides.every((side) => readsOnlyKnown(side, undefined, change))) return [];
  return deployer.listApplicationSets(signal).catch(unlessAborted(signal, () => []));
}

async function expand(set: ChangedApplicationSet, found: Survey, context: OwnedSource): Promise<Attempt> {
  const { change, signal, log } = context;
  const unread = set.problem ?? (await unpinned(set, context));
  if (unread !== undefined) return { set, problem: unread, owned: await ownedNow(set, context) };
  let head: readonly Application[] | undefined;
  try {
    head = await generated(set.head, change.headRevision, context);
    const base = await generated(set.base, change.mergeBase, context);
    const settings = changedSettings(set);
    const owned = await ownedIfChanged(set, context);
    const { everyApplication } = await withMissing(found, namesIn({ base, head }), context);
    const comparison = compareOwned({ ...set, owned, generated: { base, head } }, firstOf(everyApplication));
    const all = [...comparison.changed, ...owned, ...namesIn({ base, head })];
    const touched = settings.length === 0 ? comparison : { ...comparison, changed: [...new Set(all)] };
    const problem = tooManyChanges(touched);
    return problem === undefined
      ? { set, base, head, comparison, settings, owned }
      : { set, problem, owned: await ownedNow(set, context) };
  } catch (error) {
    signal.throwIfAborted();
    log.warn({ set: set.name, err: error }, "could not preview an ApplicationSet");
    const owned = await ownedNow(set, context);
    const problem = problemOf(set, error);
    if (head !== undefined) {
      const failsNow = error instanceof DeployerFailure && error.reason === "ungenerated";
      return { set, problem: failsNow ? `${FAILS_BEFORE}: ${problem}` : problem, owned };
    }
    const failure = set.head === undefined || set.alsoIn.length > 0 ? undefined : failureToGenerate(set.head, error);
    return { set, problem, failure, owned };
  }
}

/** Why Argo CD cannot be asked what the set makes of the files of the head; undefined if it can. */
async function unpinned(
  { base, head }: ChangedApplicationSet,
  { change, snapshot }: Pick<SetSource, "change" | "snapshot">,
): Promise<string | undefined> {
  const { mergeBase, headRevision } = change;
  const sides = [base, head].filter((side) => side !== undefined);
  const trees = await Promise.all([snapshot.tree(mergeBase), snapshot.tree(headRevision)]);
  const paths = await snapshot.changedPaths(mergeBase, headRevision);
  if (sides.some((side) => choosesByPath(side, change, paths, trees))) return UNLISTED;
  if (sides.some(await readingHidden({ change, snapshot }))) return UNDONE;
  if (!sides.some((side) => gitGenerators(side).some(isTemplated))) return undefined;
  return sides.some((side) => readsChanges(side, change, paths, trees, isTemplated)) ? UNPINNED : undefined;
}

const UNDONE =
  "the base branch changed files that its generators read since this branch left it, and the merge may take that back: " +
  "update the branch";

const UNPINNED =
  "a git generator that reads what changes here has a template as its repository or revision, so that Argo CD reads it only " +
  "where that points at now: what it generates after the merge is not known. Give it a fixed repository and revision, or " +
  "review the files by hand";

const UNLISTED =
  "an SCM provider generator chooses repositories by a path that comes or goes here (pathsExist or pathsDoNotExist), and Argo CD " +
  "looks for it only where the code host has it now: whether it adds or removes the application of this repository after the " +
  "merge is not known. Review that by hand";

function namesIn({ base, head }: Pick<Expansion, "base" | "head">): readonly ApplicationName[] {
  return [...base, ...head].map(({ name }) => name);
}

const FAILS_BEFORE = "it fails on the target branch, so there is nothing to compare with";

async function generated(
  set: ApplicationSet | undefined,
  at: Revision,
  { change, deployer, signal }: Pick<SetSource, "change" | "deployer" | "signal">,
): Promise<readonly Application[]> {
  return set === undefined ? [] : deployer.expandApplicationSet(pinGitGenerators(set, change, at), change, signal);
}

function problemOf(set: ChangedApplicationSet, error: unknown): string {
  const message = safeMessage(error);
  if (!(error instanceof DeployerFailure) || error.reason !== "forbidden") return message;
  return `${message}. Argo CD asks for this permission on ${projectOf(set)}/${set.name} before it previews an ApplicationSet: give it to svc's token`;
}

function projectOf({ base, head }: ChangedApplicationSet): string {
  const spec = (head ?? base)?.resource.spec;
  const template = isJsonObject(spec) && isJsonObject(spec.template) ? spec.template.spec : undefined;
  const project = isJsonObject(template) ? template.project : undefined;
  return typeof project === "string" && project !== "" ? project : "default";
}

/** The applications that the set owns in Argo CD; empty if they cannot be listed. */
async function ownedNow(
  { base, head }: ChangedApplicationSet,
  { deployer, signal, log }: Pick<SetSource, "deployer" | "signal" | "log">,
): Promise<readonly ApplicationName[]> {
  const set = base ?? head;
  if (set === undefined) return [];
  try {
    return await deployer.applicationsOfSet(set, signal);
  } catch (error) {
    signal.throwIfAborted();
    log.warn({ set: set.name, err: error }, "could not list the applications of an ApplicationSet");
    return [];
  }
}
