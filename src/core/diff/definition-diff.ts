import type { ApplicationSpec, Manifest } from "../model/application.js";
import { changeRequestKey } from "../model/change-request.js";
import { destinationOf } from "../model/destination.js";
import { jsonText, readJsonText, type JsonText } from "../model/json.js";
import { specEqual } from "../model/spec-equality.js";
import { computeIfLarge, tooMuch, type Task } from "../ports/compute.js";
import type { CommandContext } from "../ports/context.js";
import { diffManifests } from "./manifest-diff.js";

export interface DefinitionDiffInput extends Pick<CommandContext, "redact"> {
  readonly name: string;
  readonly from: JsonText<ApplicationSpec>;
  readonly to: JsonText<ApplicationSpec>;
  /** Commit of the change request: in neither definition its id is a change. */
  readonly commit: CommandContext["change"]["headRevision"];
}

/** Compares two definitions as manifests, so that everything is hidden in them that is hidden in manifests. */
export const definitionDiffTask: Task<DefinitionDiffInput, string | undefined> = {
  name: "definition-diff",
  run({ name, from, to, commit, redact }) {
    const [base, head] = [readJsonText(from), readJsonText(to)];
    const manifest = (spec: Manifest): Manifest => ({
      apiVersion: "argoproj.io/v1alpha1",
      kind: "Application",
      metadata: { name },
      spec,
    });
    const { namespace } = destinationOf(head);
    const { resources } = diffManifests({
      base: [manifest(base)],
      head: [manifest(head)],
      destinationNamespace: namespace,
      baseNamespace: namespace,
      syncOptions: [],
      placeholders: { base: commit, head: commit },
      redact,
    });
    return resources[0]?.diff;
  },
};

/** Milliseconds. */
const DEADLINE_MS = 30_000;

/** How an Application's definition changes, as hunks of YAML; undefined if both mean the same. */
export async function definitionDiff(
  name: string,
  { from, to }: { readonly from: ApplicationSpec; readonly to: ApplicationSpec },
  { change, redact, compute, signal }: Pick<CommandContext, "change" | "redact" | "compute" | "signal">,
): Promise<string | undefined> {
  if (specEqual(from, to)) return undefined;
  const texts = { from: jsonText(from), to: jsonText(to) };
  const limits = { owner: changeRequestKey(change), deadlineMs: DEADLINE_MS, signal };
  const input = { ...texts, name, commit: change.headRevision, redact };
  const size = texts.from.length + texts.to.length;
  const computed = await computeIfLarge(compute, definitionDiffTask, input, size, limits);
  return computed.kind === "done" ? computed.output : `# It is not shown: comparing it ${tooMuch(computed.limit)}.`;
}
