import type { Settings } from "../../config/rules/settings.js";
import type { ApprovalContext } from "../../core/facts/approval.js";
import { readFacts, type FactOptions, type FactSource, type ReadFacts } from "../../core/facts/read-facts.js";
import type { ChangeRequest } from "../../core/model/change-request.js";
import { openChange, type SettingsSource } from "../line/context.js";

/** Where the facts of a change request are read. */
export type StandingSource = SettingsSource & Omit<FactSource, "change" | "settings" | "snapshot">;

/** Reads where a change request stands now. */
export function readStanding(
  change: ChangeRequest,
  settings: Settings,
  run: StandingSource,
  options?: FactOptions,
): Promise<ReadFacts> {
  return readFacts({ ...run, change, settings, snapshot: opensWhenAsked(change, run) }, options);
}

/** Most approvals can be judged without the commits. */
export function opensWhenAsked(change: ChangeRequest, run: SettingsSource): ApprovalContext["snapshot"] {
  let opened: ReturnType<typeof openChange> | undefined;
  const open = async () => (await (opened ??= openChange(change, run))).snapshot;
  return {
    commitsBetween: async (from, to) => (await open()).commitsBetween(from, to),
    isCleanMerge: async (commit) => (await open()).isCleanMerge(commit),
  };
}
