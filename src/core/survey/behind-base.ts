import { uncoveredByGeneratePaths } from "../detect/inputs/generate-paths.js";
import { GENERATE_PATHS_ANNOTATION, touchedPaths, touches } from "../detect/inputs/input-set.js";
import { inputsAtAny, inputsOf } from "../detect/inputs/inputs.js";
import type { Application } from "../model/application.js";
import { type ApplicationName, type Revision, shortRevision } from "../model/brand.js";
import type { ChangeRequest } from "../model/change-request.js";
import { allInTurns, ChangedPaths } from "../model/collections.js";
import { RepositoryFailure, safeMessage, only } from "../model/errors.js";
import { listed, type Message } from "../model/host-words.js";
import type { InputSet } from "../model/input-set.js";
import type { ApplicationPlan } from "../model/plan/plan.js";
import type { BehindBase, FixedSource, LiveSubject, PlannedSource } from "../model/subject.js";
import type { Commits } from "../ports/context.js";
import type { CommitRange, CommitSummary } from "../ports/repositories.js";
import type { Snapshot } from "../ports/snapshot.js";

const MAX_FILES = 3;
const MAX_COMMITS = 5;
/** Keeps the sentence within what a comment shows of a warning. */
const MAX_SUBJECT = 60;

/**
 * What a sync of the head would revert: files among `inputs`, or the file of the definition that it writes, that changed on
 * the base branch since the head branched off and differ from the head's, with the commits that changed them. Undefined if
 * there are none.
 * @param inputs what the application reads at the base branch's tip and at the head.
 */
export async function behindBase(
  inputs: InputSet,
  definition: string | undefined,
  change: ChangeRequest,
  snapshot: Snapshot,
): Promise<BehindBase | undefined> {
  if (change.mergeBase === change.baseRevision) return undefined;
  const changes = await snapshot.lostChanges(change);
  const written = definition !== undefined && changes.paths.includes(definition) ? [definition] : [];
  const lost = [...new Set([...written, ...touchedPaths(inputs, changes)])];
  if (lost.length === 0) return undefined;
  const range = await commitsOf(change, snapshot);
  const lostPaths = new Set(lost);
  const commits = range?.commits.filter(({ paths }) => paths.some((path) => lostPaths.has(path))) ?? [];
  const changed = `${changedBy(change)}${listed(lost, MAX_FILES)} since this branch left it`;
  if (range === undefined || commits.length === 0) {
    const span = `${change.mergeBase.slice(0, 8)} to ${change.baseRevision.slice(0, 8)}`;
    return sentences(`${changed} (${span})`, "that");
  }
  const which = commits.length === 1 && range.complete ? "this commit" : "these commits";
  const others = range.complete ? "" : " and perhaps others";
  const names = listed(commits.map(named), MAX_COMMITS);
  return sentences(changed, `${which}: ${names}${others}`);
}

function changedBy({ baseBranch }: Pick<ChangeRequest, "baseBranch">): string {
  return `the base branch ${baseBranch} changed `;
}

/** Whether a warning of a plan says what a sync would revert. */
export function saysBehind(warning: Message, change: Pick<ChangeRequest, "baseBranch">): boolean {
  return typeof warning === "string" && warning.startsWith(changedBy(change));
}

function sentences(changed: string, what: string): BehindBase {
  return {
    wouldRevert: `${changed}: a sync would revert ${what}. Update the branch first`,
    reverted: `${changed}: this sync reverted ${what}. Update the branch and sync again`,
  };
}

/** Undefined if the history could not be fetched: the sentence then names no commits. */
async function commitsOf(change: ChangeRequest, snapshot: Snapshot): Promise<CommitRange | undefined> {
  const range = snapshot.commitsBetween(change.headRevision, change.baseRevision);
  return await range.catch(only(RepositoryFailure, () => undefined));
}

function named({ id, subject }: CommitSummary): string {
  const short = Array.from(subject);
  const text = short.length > MAX_SUBJECT ? `${short.slice(0, MAX_SUBJECT).join("")}…` : subject;
  return `${id.slice(0, 8)} "${text}"`;
}

/** Problems with what an application reads: a plan warns of them, and a sync may be refused for them. */
interface InputGaps {
  /** The annotation does not cover the change: Argo CD would report a success that applied nothing. */
  readonly uncovered: string | undefined;
  /** A sync would revert what the base branch got since the head branched off. */
  readonly behind: BehindBase | undefined;
}

const NO_GAPS: InputGaps = { uncovered: undefined, behind: undefined };
const MAX_NAMED = 5;

/** Reads trees only; renders nothing. */
export async function findInputGaps(subject: LiveSubject, context: Commits): Promise<InputGaps> {
  const { change, snapshot } = context;
  const hasPaths = subject.live.annotations[GENERATE_PATHS_ANNOTATION] !== undefined;
  // Whatever the application reads, neither gap is possible here.
  if (!hasPaths && change.mergeBase === change.baseRevision) return NO_GAPS;
  const application: Application = { ...subject.live, spec: subject.head.spec };
  const read = (at: Revision) => inputsOf(application, subject.head.positions, snapshot, at);
  const [base, head] = await Promise.all([read(change.baseRevision), read(change.headRevision)]);
  const inputs = [...base, ...head];
  const [uncovered, behind] = await Promise.all([
    uncoveredSentence(subject, inputs, context),
    behindBase(inputs, subject.sourceFile, change, snapshot),
  ]);
  return { uncovered, behind };
}

/** The applications whose sync reverts something of the base branch. */
export async function behindOf(
  subjects: readonly LiveSubject[],
  context: Commits,
): Promise<ReadonlyMap<ApplicationName, BehindBase>> {
  const { mergeBase, baseRevision } = context.change;
  const some = mergeBase === baseRevision ? [] : subjects;
  const found = await allInTurns(some, async (subject) => ({
    name: subject.name,
    behind: (await findInputGaps(subject, context)).behind,
  }));
  return new Map(found.flatMap(({ name, behind }) => (behind === undefined ? [] : [[name, behind]])));
}

/** A name that git prints as it is (`core.quotePath` in git-config(1)). */
const PLAIN = /^[ !#-[\]-~]*$/;

async function uncoveredSentence(
  { live }: LiveSubject,
  inputs: InputSet,
  { change, snapshot }: Commits,
): Promise<string | undefined> {
  if (live.annotations[GENERATE_PATHS_ANNOTATION] === undefined) return undefined;
  const { baseRevision, mergeBase, headRevision } = change;
  const head = await snapshot.tree(headRevision);
  const changesSince = async (from: Revision) => {
    const paths = await snapshot.changedPaths(from, headRevision);
    const plain = paths.filter((path) => PLAIN.test(path) && head.entryAt(path) !== undefined);
    return { paths, plain, printed: () => snapshot.printedPaths(from, headRevision) };
  };
  const [sinceTip, sinceMergeBase] = await Promise.all([changesSince(baseRevision), changesSince(mergeBase)]);
  // Argo CD compares with the commit that it compared last, source by source. If that is not the base branch's tip, only
  // the change request's own changes are certain to count.
  const gap = await uncoveredByGeneratePaths(live, inputs, ({ position }) =>
    live.comparedRevisions[position - 1] === baseRevision ? sinceTip : sinceMergeBase,
  );
  if (gap === undefined) return undefined;
  const files = listed(gap.files, MAX_NAMED);
  if (gap.unnamed) {
    return (
      `git does not show ${files} to Argo CD by name, since it shows the new name only of a file that moved, and quotes special ` +
      `characters: Argo CD ignores this change and would report a sync that applied nothing. Change another file as well that the ` +
      `annotation manifest-generate-paths covers, such as one in the same folder`
    );
  }
  if (gap.missingEntry === undefined) {
    return (
      `the annotation manifest-generate-paths covers ${files} with spaces around an entry, which Argo CD before v3.4 takes for part of ` +
      `the path: it ignores this change and would report a sync that applied nothing. Remove the spaces from the annotation of the live Application`
    );
  }
  return (
    `the annotation manifest-generate-paths does not cover ${files}: Argo CD ignores this change and would ` +
    `report a sync that applied nothing. Add ${gap.missingEntry} to the annotation of the live Application`
  );
}

/** A subject whose sources have the commits that the plan showed, or a sentence on what moved since. */
type AsPlanned =
  | { readonly kind: "as-planned"; readonly subject: LiveSubject }
  | { readonly kind: "moved"; readonly sentence: string };

const MOST_PATHS = 3;

/**
 * Takes the commits of a subject's other sources from its plan: what people have seen is deployed, not what those branches
 * have become since. One that has moved in what the application reads makes the plan stale. Others are not deployed from here.
 * @param planned the application in the plan of the head commit, if there is one.
 */
export async function asPlanned(
  subject: LiveSubject,
  planned: ApplicationPlan | undefined,
  context: Pick<Commits, "snapshot">,
): Promise<AsPlanned> {
  if (subject.autoSynced || subject.notDriven !== undefined) return { kind: "as-planned", subject };
  const sources = planned?.kind === "evaluated" ? planned.sources : [];
  const fixed: FixedSource[] = [];
  for (const now of subject.head.fixed) {
    const then = sources.find((one) => isSame(one, now));
    if (then?.revision === undefined) {
      return moved(`the plan does not say which commit of ${nameOf(now)} is deployed`);
    }
    const commit = then.revision as Revision;
    const sentence = commit === now.revision ? undefined : await movedSentence(subject, now, commit, context);
    if (sentence !== undefined) return moved(sentence);
    fixed.push({ ...now, revision: commit });
  }
  return { kind: "as-planned", subject: { ...subject, head: { ...subject.head, fixed } } };
}

function isSame({ kind, position, follows }: PlannedSource, now: FixedSource): boolean {
  return kind === "fixed" && position === now.position && follows === now.follows;
}

function moved(sentence: string): AsPlanned {
  return { kind: "moved", sentence };
}

function nameOf({ follows }: FixedSource): string {
  return follows === "" ? "HEAD" : follows;
}

/** Undefined if nothing of it is read. */
async function movedSentence(
  { live, head }: LiveSubject,
  now: FixedSource,
  from: Revision,
  { snapshot }: Pick<Commits, "snapshot">,
): Promise<string | undefined> {
  const application: Application = { ...live, spec: head.spec };
  const [before, after] = [shortRevision(from), shortRevision(now.revision)];
  const what = `source ${now.position} follows ${nameOf(now)}, which moved from ${before} to ${after} since the plan`;
  try {
    const changed = new ChangedPaths(await snapshot.changedPaths(from, now.revision));
    const together = head.fixed.filter(({ revision }) => revision === now.revision);
    const positions = together.map(({ position }) => position);
    const inputs = await inputsAtAny(application, positions, snapshot, from, { to: now.revision, changed });
    if (!touches(inputs, changed)) return undefined;
    return `${what} and changed ${listed(touchedPaths(inputs, changed), MOST_PATHS)}, which it reads`;
  } catch (error) {
    if (!(error instanceof RepositoryFailure)) throw error;
    return `${what}, and the two could not be compared: ${safeMessage(error)}`;
  }
}
