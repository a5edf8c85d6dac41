import { describeProblem } from "../config/problem.js";
import { NO_FILE, type RepositoryConfigResult } from "../config/repository.js";
import type { ServerConfig } from "../config/server-config.js";
import { resolveSettings } from "../config/settings.js";
import { openSnapshot } from "../core/detect/inputs/snapshot.js";
import type { Reading } from "../core/detect/tree/foreign-text.js";
import { changeRequestKey, type ChangeRequest } from "../core/model/change-request.js";
import type { CommandContext, Reloaded } from "../core/ports/context.js";
import type { RepositorySnapshot } from "../core/ports/repositories.js";
import { readRepositoryFile } from "../core/survey/repository-file.js";
import { REPOSITORY_FILE } from "../names.js";
import type { Autoplan, GivenCommand } from "./asked.js";
import { hidingSecrets } from "./hide-secrets.js";
import type { Run } from "./run.js";

/** Drafts and forks are planned on command only. */
export function plansAutomatically(change: ChangeRequest, { defaults }: ServerConfig): boolean {
  return change.state === "open" && !change.fork && (!change.draft || defaults.planDrafts);
}

/** Where settings are read; an absent signal never stops. */
export type SettingsSource = Pick<Run, "config" | "host" | "repositories" | "detection" | "compute"> & {
  readonly signal?: AbortSignal;
};

/**
 * Opens the commits of a change request and reads the settings that hold for it: policy from the tip of the base branch,
 * mappings from base and head.
 * @throws {HeadMoved}
 */
export async function openChange(
  change: ChangeRequest,
  { config, host, repositories, detection, compute, signal }: SettingsSource,
): Promise<Reloaded> {
  const repository = await repositories.open(change, await host.cloneSource(change), signal);
  const reading = { compute, owner: changeRequestKey(change), signal: signal ?? NEVER };
  const snapshot = openSnapshot(repository, detection, reading);
  const [base, before, after] = await Promise.all([
    readFile(snapshot, change.baseRevision),
    readFile(snapshot, change.mergeBase),
    readFile(snapshot, change.headRevision),
  ]);
  // A head that leaves the file alone gets the file of the base branch, as a merge would give it.
  const head = after === before ? base : after;
  const baseFile = await readSide(base, `${REPOSITORY_FILE} (base branch)`, reading);
  const headFile = head === base ? baseFile : await readSide(head, REPOSITORY_FILE, reading);
  const resolved = resolveSettings(config.defaults, config, { base: baseFile, head: headFile });
  const problems = resolved.repairs ? [] : resolved.problems.map(describeProblem);
  return { settings: resolved.settings, problems, snapshot };
}

const NEVER = new AbortController().signal;

async function readSide(text: string | undefined, name: string, reading: Reading): Promise<RepositoryConfigResult> {
  return text === undefined ? NO_FILE : readRepositoryFile({ text, name }, reading);
}

async function readFile(
  snapshot: RepositorySnapshot,
  revision: ChangeRequest["headRevision"],
): Promise<string | undefined> {
  const entry = (await snapshot.list(revision)).find(({ path }) => path === REPOSITORY_FILE);
  if (entry === undefined) return undefined;
  // A link, a binary or an oversized file is invalid: reading it as empty would silently lift its rules.
  return (await snapshot.read(revision, [REPOSITORY_FILE])).get(REPOSITORY_FILE) ?? "- not a readable file";
}

/** For what no command asked for. */
export const AUTOMATIC = { by: undefined };
export const NOBODY = { id: "", login: "ghost", bot: false };

/** What a command of this run may read and act on. */
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
    },
  };
}
