import type { ChangeRequestRef } from "../../core/model/change-request.js";
import type { NextStep } from "../../core/model/next-step.js";
import type { Facts } from "../../core/policy/facts.js";
import { nextStep } from "../../core/policy/next-step.js";
import { openChange } from "../line/context.js";
import type { Dependencies } from "../line/run.js";
import { readStanding } from "./standing.js";

/** What the page of a change request says first. */
export interface LookedUp extends Pick<Facts, "change" | "approval" | "missingForRules"> {
  /** The stored plan is one of the head. */
  readonly planned: boolean;
  readonly next: NextStep;
}

/**
 * Asks the host for a change request, and reads the repository's file. Undefined if the host is no longer configured.
 * @throws {HostFailure | RepositoryFailure | StoreUnavailable}
 */
export async function lookUp(ref: ChangeRequestRef, source: Dependencies): Promise<LookedUp | undefined> {
  const host = source.hosts[ref.host];
  if (host === undefined) return undefined;
  const asking = { ...source, host };
  const change = await host.getChangeRequest(ref);
  const { settings, problems } = await openChange(change, asking);
  const { facts } = await readStanding(change, settings, asking, { problems });
  const { approval, missingForRules, plan } = facts;
  return { change, approval, missingForRules, planned: plan?.current === true, next: nextStep(facts) };
}
