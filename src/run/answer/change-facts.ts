import type { ApprovalContext } from "../../core/facts/approval.js";
import { type FactOptions, type FactSource, readFacts, type ReadFacts } from "../../core/facts/read-facts.js";
import type { ChangeRequest, ChangeRequestRef } from "../../core/model/change-request.js";
import type { NextStep } from "../../core/model/next-step.js";
import type { Settings } from "../../core/model/settings.js";
import type { Facts } from "../../core/policy/facts.js";
import { nextStep } from "../../core/policy/next-step.js";
import { type Dependencies, openChange, type SettingsSource } from "../line/run.js";

type ChangeFactSource = SettingsSource & Omit<FactSource, "change" | "settings" | "snapshot">;

export function readChangeFacts(
  change: ChangeRequest,
  settings: Settings,
  run: ChangeFactSource,
  options?: FactOptions,
): Promise<ReadFacts> {
  return readFacts({ ...run, change, settings, snapshot: opensWhenAsked(change, run) }, options);
}

/** The commits of a change request, opened when they are first asked for: most approvals need none. */
function opensWhenAsked(change: ChangeRequest, run: SettingsSource): ApprovalContext["snapshot"] {
  let opened: ReturnType<typeof openChange> | undefined;
  const open = async () => (await (opened ??= openChange(change, run))).snapshot;
  return {
    commitsBetween: async (from, to) => (await open()).commitsBetween(from, to),
    isCleanMerge: async (commit) => (await open()).isCleanMerge(commit),
  };
}

/** The head of a change request's page. */
export interface ChangeSummary extends Pick<Facts, "change" | "approval" | "missingForRules"> {
  /** The stored plan is one of the head. */
  readonly planned: boolean;
  readonly next: NextStep;
}

/**
 * Asks the host for a change request, and reads the repository's file. Undefined if the host is no longer configured.
 * @throws {HostFailure | RepositoryFailure | StoreUnavailable}
 */
export async function readSummary(ref: ChangeRequestRef, source: Dependencies): Promise<ChangeSummary | undefined> {
  const host = source.hosts[ref.host];
  if (host === undefined) return undefined;
  const asking = { ...source, host };
  const change = await host.getChangeRequest(ref);
  const { settings, problems } = await openChange(change, asking);
  const { facts } = await readChangeFacts(change, settings, asking, { problems });
  const { approval, missingForRules, plan } = facts;
  return { change, approval, missingForRules, planned: plan?.current === true, next: nextStep(facts) };
}
