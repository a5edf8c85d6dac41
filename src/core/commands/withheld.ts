import { diffManifests } from "../diff/manifest-diff.js";
import type { Manifest } from "../model/application.js";
import { destinationOf } from "../model/destination.js";
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
    `it is not rendered before somebody who may deploy it has approved this commit: its definition reads what the live ` +
    `Application does not, which is ${reads.join(", ")}. ${missing}`
  );
}

/** The plan of an application that is not rendered yet: only how its definition changes. */
export function withheldPlan(
  { live, head }: LiveSubject,
  reason: string,
  { change: { headRevision }, redact }: Pick<CommandContext, "change" | "redact">,
): Unevaluated {
  const manifest = (spec: Manifest): Manifest => ({
    apiVersion: "argoproj.io/v1alpha1",
    kind: "Application",
    metadata: { name: live.resourceName },
    spec,
  });
  const { namespace } = destinationOf(head.spec);
  const { resources } = diffManifests({
    base: [manifest(live.spec)],
    head: [manifest(head.spec)],
    destinationNamespace: namespace,
    baseNamespace: namespace,
    syncOptions: [],
    placeholders: { base: headRevision, head: headRevision },
    redact,
  });
  return { kind: "unevaluated", reason, definition: resources[0]?.diff ?? ONLY_BASE };
}

const ONLY_BASE = "# The live definition stays as it is; the one on the target branch reads more.";
