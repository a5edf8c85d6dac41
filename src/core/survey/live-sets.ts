import type { ApplicationSet } from "../model/application.js";
import { safeMessage } from "../model/errors.js";
import type { CommandContext } from "../ports/context.js";

/** The ApplicationSets that Argo CD shows, and a sentence for people where they could not be read. */
export interface LiveSets {
  readonly found: readonly ApplicationSet[];
  readonly notes: readonly string[];
}

/** A failure hides no application, and is told. */
export async function readLiveSets({ deployer, signal, log }: CommandContext): Promise<LiveSets> {
  try {
    return { found: await deployer.listApplicationSets(signal), notes: [] };
  } catch (error) {
    signal.throwIfAborted();
    log.warn({ err: error }, "the ApplicationSets could not be listed");
    const advice = "Plan again before the merge: whether ApplicationSets of other repositories read what changes here";
    return { found: [], notes: [`${advice} could not be told. ${safeMessage(error)}`] };
  }
}
