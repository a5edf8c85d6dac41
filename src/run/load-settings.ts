import { describeProblem } from "../config/problem.js";
import type { ServerConfig } from "../config/server-config.js";
import { resolveSettings, type Settings } from "../config/settings.js";
import type { ChangeRequest } from "../core/model/change-request.js";
import type { RepositorySnapshot } from "../core/ports/repositories.js";
import { REPOSITORY_FILE } from "../names.js";

export interface LoadedSettings {
  readonly settings: Settings;
  /** What is wrong with the repository file, one line each; not empty means: no plan and no sync. */
  readonly problems: readonly string[];
}

/** The settings of one change request: policy from the base branch's tip, mappings from base and head. */
export async function loadSettings(
  config: ServerConfig,
  change: ChangeRequest,
  snapshot: RepositorySnapshot,
): Promise<LoadedSettings> {
  const [base, before, after] = await Promise.all([
    readFile(snapshot, change.baseRevision),
    readFile(snapshot, change.mergeBase),
    readFile(snapshot, change.headRevision),
  ]);
  // An older branch that leaves the file alone neither breaks, repairs nor changes it: the merge keeps the base's.
  const head = after === before ? base : after;
  const resolved = resolveSettings(config.defaults, config, { base, head });
  const problems = resolved.repairs ? [] : resolved.problems.map(describeProblem);
  return { settings: resolved.settings, problems };
}

async function readFile(
  snapshot: RepositorySnapshot,
  revision: ChangeRequest["headRevision"],
): Promise<string | undefined> {
  const entry = (await snapshot.list(revision)).find(({ path }) => path === REPOSITORY_FILE);
  if (entry === undefined) return undefined;
  // A link, a binary or an oversized file is no configuration: an empty text would lift its rules in silence.
  return (await snapshot.read(revision, [REPOSITORY_FILE])).get(REPOSITORY_FILE) ?? "- not a readable file";
}
