import type { Settings } from "../../config/rules/settings.js";
import type { Reviewed } from "../../core/facts/read-facts.js";
import type { ChangeRequest } from "../../core/model/change-request.js";
import { LeaseLost } from "../../core/model/errors.js";
import type { CommandResult } from "../../core/model/result.js";
import { adviceAfter, type Advice } from "../../core/policy/advice.js";
import { openChange, type SettingsSource } from "../line/context.js";
import type { Finished } from "../line/outcome.js";
import type { Run } from "../line/run.js";
import { setsStatus } from "./results.js";
import { readStanding } from "./standing.js";
import { hasCommitStatus } from "./status.js";

/** What to do next, and what the host was asked for it, which the commit status needs as well. */
export interface Advised {
  readonly advice?: Advice | undefined;
  readonly reviewed?: Reviewed | undefined;
}

/** Works out the next step of an answer. The answer does not fail if that cannot be read. */
export async function advise(
  { result, settings, problems }: Pick<Finished, "result" | "settings" | "problems">,
  change: ChangeRequest,
  run: Run,
): Promise<Advised> {
  if (!isAdvised(result)) return {};
  // A push or a close stops a plan. Other answers are given in any case, most of all the one that says what was stopped.
  const asking = result.kind === "planned" ? run : { ...run, signal: undefined };
  try {
    const known = settings ?? (await settingsOfClosed(change, asking));
    if (known === undefined) return {};
    const planned = result.kind === "planned" ? { plan: result.plan } : {};
    const followed = hasCommitStatus(run) && change.state === "open" && setsStatus(result);
    const review = followed ? ("required" as const) : ("rules" as const);
    const { facts } = await readStanding(change, known, asking, { ...planned, problems, review });
    const advice = adviceAfter(result, facts);
    if (!followed) return { advice };
    const { approval, missingForRules } = facts;
    return { advice, reviewed: facts.untold.approval === undefined ? { approval, missingForRules } : undefined };
  } catch (error) {
    if (error instanceof LeaseLost) throw error;
    asking.signal?.throwIfAborted();
    run.log.warn({ err: error }, "could not work out the next step of an answer");
    return {};
  }
}

/** Refusals that nothing was read for say by themselves what to do; others carry their next step. */
function isAdvised(result: CommandResult): boolean {
  if (result.kind !== "refused") return result.kind !== "help" && result.kind !== "closed";
  const { reason } = result.refusal;
  return reason === "nothing-locked" || reason === "not-locked" || reason === "closed" || reason === "repository-file";
}

/** A command on a closed change request is refused before its settings are read. */
async function settingsOfClosed(change: ChangeRequest, run: SettingsSource): Promise<Settings | undefined> {
  return change.state === "open" ? undefined : (await openChange(change, run)).settings;
}
