import type { Application } from "./application.js";
import type { Revision } from "./brand.js";
import type { CommandContext } from "./commands/context.js";
import { GENERATE_PATHS_ANNOTATION, uncoveredByGeneratePaths } from "./detect/generate-paths.js";
import { touchedPaths, type InputSet } from "./detect/input-set.js";
import { inputsOf } from "./detect/inputs.js";
import type { LiveSubject } from "./survey.js";

/** What the plan warns of, and what a sync is refused for, by looking at what an application reads. */
export interface InputGaps {
  /** Argo CD would report a success that applied nothing: its annotation does not cover the change. */
  readonly uncovered: string | undefined;
  /** A sync would take back what the base branch got since the head branched off. */
  readonly behind: string | undefined;
}

const MAX_NAMED = 5;

/** Looks at one application; only trees are read, nothing is rendered. */
export async function findInputGaps(subject: LiveSubject, context: CommandContext): Promise<InputGaps> {
  const { change, snapshot } = context;
  const application: Application = { ...subject.live, spec: subject.head.spec };
  const read = (at: Revision) => inputsOf(application, subject.head.positions, snapshot, at);
  const [base, head] = await Promise.all([read(change.baseRevision), read(change.headRevision)]);
  const inputs = [...base, ...head];
  const [uncovered, behind] = await Promise.all([
    uncoveredSentence(subject, inputs, context),
    behindSentence(inputs, context),
  ]);
  return { uncovered, behind };
}

async function uncoveredSentence(
  subject: LiveSubject,
  inputs: InputSet,
  { change, snapshot }: CommandContext,
): Promise<string | undefined> {
  if (subject.live.annotations[GENERATE_PATHS_ANNOTATION] === undefined) return undefined;
  // Argo CD looks at what differs from the commit that it compared last.
  const comparedTip = subject.live.comparedRevisions.includes(change.baseRevision);
  const from = comparedTip ? change.baseRevision : change.mergeBase;
  const changed = await snapshot.changedPaths(from, change.headRevision);
  const gap = uncoveredByGeneratePaths(subject.live, inputs, changed);
  if (gap === undefined) return undefined;
  return (
    `the annotation manifest-generate-paths does not cover ${named(gap.files)}: Argo CD ignores this change and would ` +
    `report a sync that applied nothing. Add ${gap.missingEntry} to the annotation of the live Application`
  );
}

async function behindSentence(inputs: InputSet, { change, snapshot }: CommandContext): Promise<string | undefined> {
  if (change.mergeBase === change.baseRevision) return undefined;
  const changed = await snapshot.changedPaths(change.mergeBase, change.baseRevision);
  const touched = touchedPaths(inputs, changed);
  if (touched.length === 0) return undefined;
  return (
    `${change.baseBranch} changed ${named(touched)} since this branch left it (${change.mergeBase.slice(0, 8)} to ` +
    `${change.baseRevision.slice(0, 8)}): a sync would revert that. Bring the branch up to date first`
  );
}

function named(files: readonly string[]): string {
  const more = files.length - MAX_NAMED;
  const first = files.slice(0, MAX_NAMED).join(", ");
  return more > 0 ? `${first} and ${more} more` : first;
}
