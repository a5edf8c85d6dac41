import type { Application, ApplicationSet } from "../application.js";
import type { Revision } from "../brand.js";
import { compareGenerated, pinGitGenerators, type ChangedApplicationSet } from "../detect/application-sets.js";
import { safeMessage } from "../errors.js";
import type { ApplicationSetPreview } from "../plan.js";
import type { CommandContext } from "./context.js";

/** Asks Argo CD what changed ApplicationSets generate on both sides; what cannot be previewed says why. */
export async function previewApplicationSets(
  sets: readonly ChangedApplicationSet[],
  context: CommandContext,
): Promise<readonly ApplicationSetPreview[]> {
  return Promise.all(sets.map((set) => preview(set, context)));
}

async function preview(set: ChangedApplicationSet, context: CommandContext): Promise<ApplicationSetPreview> {
  const { change, signal } = context;
  const common = { name: set.name, sourceFile: set.sourceFile };
  try {
    const head = await generated(set.head, change.headRevision, context);
    const base = await generated(set.base, change.mergeBase, context);
    return { ...common, ...compareGenerated(base, head), problem: undefined };
  } catch (error) {
    signal.throwIfAborted();
    return { ...common, added: [], removed: [], changed: [], problem: safeMessage(error) };
  }
}

async function generated(
  set: ApplicationSet | undefined,
  at: Revision,
  { change, deployer, signal }: CommandContext,
): Promise<readonly Application[]> {
  return set === undefined ? [] : deployer.expandApplicationSet(pinGitGenerators(set, change, at), signal);
}
