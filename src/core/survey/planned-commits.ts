import { touchedPaths, touches } from "../detect/inputs/input-set.js";
import { inputsAtEither } from "../detect/inputs/inputs.js";
import type { Application } from "../model/application.js";
import { shortRevision, type Revision } from "../model/brand.js";
import { ChangedPaths } from "../model/changed-paths.js";
import { RepositoryFailure, safeMessage } from "../model/errors.js";
import type { ApplicationPlan } from "../model/plan.js";
import type { PlannedSource } from "../model/planned-source.js";
import type { FixedSource, LiveSubject } from "../model/subject.js";
import type { CommandContext } from "../ports/context.js";
import { listed } from "./behind-base.js";

/** A subject whose sources have the commits that the plan showed, or a sentence on what moved since. */
export type AsPlanned =
  | { readonly kind: "as-planned"; readonly subject: LiveSubject }
  | { readonly kind: "moved"; readonly sentence: string };

const MAX_NAMED = 3;

/**
 * Takes the commits of a subject's other sources from its plan: what people have seen is deployed, not what those branches
 * have become since. One that has moved in what the application reads makes the plan stale. Others are not deployed from here.
 * @param planned the application in the plan of the head commit, if there is one.
 */
export async function asPlanned(
  subject: LiveSubject,
  planned: ApplicationPlan | undefined,
  context: CommandContext,
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
  { snapshot }: CommandContext,
): Promise<string | undefined> {
  const application: Application = { ...live, spec: head.spec };
  const [before, after] = [shortRevision(from), shortRevision(now.revision)];
  const what = `source ${now.position} follows ${nameOf(now)}, which moved from ${before} to ${after} since the plan`;
  try {
    const changed = new ChangedPaths(await snapshot.changedPaths(from, now.revision));
    const together = head.fixed.filter(({ revision }) => revision === now.revision);
    const positions = together.map(({ position }) => position);
    const inputs = await inputsAtEither(application, positions, snapshot, { from, to: now.revision, changed });
    if (!touches(inputs, changed)) return undefined;
    return `${what} and changed ${listed(touchedPaths(inputs, changed), MAX_NAMED)}, which it reads`;
  } catch (error) {
    if (!(error instanceof RepositoryFailure)) throw error;
    return `${what}, and the two could not be compared: ${safeMessage(error)}`;
  }
}
