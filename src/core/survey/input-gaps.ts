import { GENERATE_PATHS_ANNOTATION, uncoveredByGeneratePaths } from "../detect/inputs/generate-paths.js";
import { inputsOf } from "../detect/inputs/inputs.js";
import type { Application } from "../model/application.js";
import type { ApplicationName, Revision } from "../model/brand.js";
import { allInTurns } from "../model/in-turns.js";
import type { InputSet } from "../model/input-set.js";
import type { BehindBase, LiveSubject } from "../model/subject.js";
import type { CommandContext } from "../ports/context.js";
import { behindBase, listed } from "./behind-base.js";

/** Problems with what an application reads: a plan warns of them, and a sync may be refused for them. */
export interface InputGaps {
  /** The annotation does not cover the change: Argo CD would report a success that applied nothing. */
  readonly uncovered: string | undefined;
  /** A sync would revert what the base branch got since the head branched off. */
  readonly behind: BehindBase | undefined;
}

const NO_GAPS: InputGaps = { uncovered: undefined, behind: undefined };
const MAX_NAMED = 5;

/** Reads trees only; renders nothing. */
export async function findInputGaps(subject: LiveSubject, context: CommandContext): Promise<InputGaps> {
  const { change, snapshot } = context;
  const hasPaths = subject.live.annotations[GENERATE_PATHS_ANNOTATION] !== undefined;
  // Neither gap can be there, whatever the application reads.
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
  context: CommandContext,
): Promise<ReadonlyMap<ApplicationName, BehindBase>> {
  const { mergeBase, baseRevision } = context.change;
  const some = mergeBase === baseRevision ? [] : subjects;
  const found = await allInTurns(some, async (subject) => ({
    name: subject.name,
    behind: (await findInputGaps(subject, context)).behind,
  }));
  return new Map(found.flatMap(({ name, behind }) => (behind === undefined ? [] : [[name, behind]])));
}

async function uncoveredSentence(
  { live }: LiveSubject,
  inputs: InputSet,
  { change, snapshot }: CommandContext,
): Promise<string | undefined> {
  if (live.annotations[GENERATE_PATHS_ANNOTATION] === undefined) return undefined;
  const { baseRevision, mergeBase, headRevision } = change;
  const [sinceTip, sinceMergeBase] = await Promise.all([
    snapshot.changedPaths(baseRevision, headRevision),
    snapshot.changedPaths(mergeBase, headRevision),
  ]);
  // Argo CD compares with the commit that it compared last, source by source. If that is not the base branch's tip, only
  // the change request's own changes are certain to count.
  const gap = uncoveredByGeneratePaths(live, inputs, ({ position }) =>
    live.comparedRevisions[position - 1] === baseRevision ? sinceTip : sinceMergeBase,
  );
  if (gap === undefined) return undefined;
  return (
    `the annotation manifest-generate-paths does not cover ${listed(gap.files, MAX_NAMED)}: Argo CD ignores this change and would ` +
    `report a sync that applied nothing. Add ${gap.missingEntry} to the annotation of the live Application`
  );
}
