import { definitionDiff } from "../diff/definition-diff.js";
import type { Unevaluated } from "../model/plan.js";
import type { LiveSubject } from "../model/subject.js";
import type { WhyWithheld } from "../policy/lifting.js";
import type { CommandContext } from "../ports/context.js";
import { directMember } from "../survey/members.js";
import { newReadsOf } from "../survey/new-reads.js";

/** Why an application is not rendered yet; undefined if it may be. */
export async function withholdingOf(
  subject: LiveSubject,
  why: WhyWithheld,
  { change }: Pick<CommandContext, "change">,
): Promise<string | undefined> {
  const reads = newReadsOf(subject);
  if (reads.length === 0) return undefined;
  const missing = await why([{ application: subject.name, members: [directMember(subject, change)] }]);
  if (missing === undefined) return undefined;
  return (
    "it is not rendered before somebody who may deploy it has approved this commit: " +
    `its definition uses ${reads.join(", ")}, and the live Application does not. ${missing}`
  );
}

/** The plan of an application that is not rendered yet: only how its definition changes. */
export async function withheldPlan(
  { live, head }: LiveSubject,
  reason: string,
  context: CommandContext,
): Promise<Unevaluated> {
  const definition = await definitionDiff(live.resourceName, { from: live.spec, to: head.spec }, context);
  return { kind: "unevaluated", reason, withheld: true, definition: definition ?? ONLY_BASE };
}

const ONLY_BASE = "# The live definition stays as it is; the one on the target branch reads more.";
