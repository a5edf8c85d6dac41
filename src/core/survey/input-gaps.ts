import { GENERATE_PATHS_ANNOTATION, uncoveredByGeneratePaths } from "../detect/inputs/generate-paths.js";
import { inputsOf } from "../detect/inputs/inputs.js";
import type { Application } from "../model/application.js";
import type { Revision } from "../model/brand.js";
import type { InputSet } from "../model/input-set.js";
import type { LiveSubject } from "../model/subject.js";
import type { CommandContext } from "../ports/context.js";
import { behindSentence, listed } from "./behind-base.js";

/** Problems with what an application reads: a plan warns of them, and a sync may be refused for them. */
export interface InputGaps {
  /** The annotation does not cover the change: Argo CD would report a success that applied nothing. */
  readonly uncovered: string | undefined;
  /** A sync would revert what the base branch got since the head branched off. */
  readonly behind: string | undefined;
}

const MAX_NAMED = 5;

/** Reads trees only; renders nothing. */
export async function findInputGaps(subject: LiveSubject, context: CommandContext): Promise<InputGaps> {
  const { change, snapshot } = context;
  const application: Application = { ...subject.live, spec: subject.head.spec };
  const read = (at: Revision) => inputsOf(application, subject.head.positions, snapshot, at);
  const [base, head] = await Promise.all([read(change.baseRevision), read(change.headRevision)]);
  const inputs = [...base, ...head];
  const [uncovered, behind] = await Promise.all([
    uncoveredSentence(subject, inputs, context),
    behindSentence(inputs, change, snapshot),
  ]);
  return { uncovered, behind };
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
