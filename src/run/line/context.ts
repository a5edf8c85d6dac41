import { resolveSettings } from "../../config/rules/settings.js";
import type { ServerConfig } from "../../config/server/server.js";
import { describeProblem } from "../../config/yaml-tree.js";
import { openSnapshot } from "../../core/detect/inputs/snapshot.js";
import { type ChangeRequest, changeRequestKey } from "../../core/model/change-request.js";
import type { CommandContext, Reloaded } from "../../core/ports/context.js";
import { readPolicyFiles } from "../../core/survey/policy-files.js";
import { hidingSecrets } from "../around/hide-secrets.js";
import type { Autoplan, GivenCommand } from "./asked.js";
import type { Run } from "./run.js";

/** Drafts and forks are planned on command only. */
export function plansAutomatically(change: ChangeRequest, { defaults }: ServerConfig): boolean {
  return change.state === "open" && !change.fork && (!change.draft || defaults.planDrafts);
}

/** What settings are read from; without a signal the reading is never stopped. */
export type SettingsSource = Pick<Run, "config" | "host" | "repositories" | "detection" | "compute"> & {
  readonly signal?: AbortSignal;
};

/**
 * Opens the commits of a change request and reads the settings that hold for it: policy from the tips of the base
 * branch and the default branch, mappings from these and the head.
 * @throws {HeadMoved}
 */
export async function openChange(
  change: ChangeRequest,
  { config, host, repositories, detection, compute, signal }: SettingsSource,
): Promise<Reloaded> {
  const repository = await repositories.open(change, await host.cloneSource(change), signal);
  const reading = { compute, owner: changeRequestKey(change), signal: signal ?? NEVER };
  const snapshot = openSnapshot(repository, detection, reading);
  const resolved = resolveSettings(config.defaults, config, await readPolicyFiles(change, snapshot, reading));
  const problems = resolved.repairs ? [] : resolved.problems.map(describeProblem);
  return { settings: resolved.settings, problems, snapshot };
}

const NEVER = new AbortController().signal;

/** The author of a run that no command started. */
export const AUTOMATIC = { by: undefined };
export const NOBODY = { id: "", login: "ghost", bot: false };

/** The context of a command of this run. */
export function commandContext(
  { by }: Pick<GivenCommand | Autoplan, "by">,
  change: ChangeRequest,
  { settings, snapshot }: Pick<Reloaded, "settings" | "snapshot">,
  run: Run,
): CommandContext {
  return {
    ...run,
    deployer: hidingSecrets(run.deployer, { ...run, snapshot, change }),
    change,
    settings,
    snapshot,
    reload: (fresh) => openChange(fresh, run),
    user: by ?? change.author ?? NOBODY,
    automatic: by === undefined,
    progress: run.attempt.report,
    noteStarted: async (started, skipped) => {
      await run.ticket.confirm();
      await run.ticket.journal.write({ started, skipped });
      run.attempt.deploying(started, change);
    },
  };
}
