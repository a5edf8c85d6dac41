import { NO_FILE, parseRepositoryConfig, type RepositoryConfigResult } from "../../src/config/repository.js";
import { resolveSettings, type Resolution } from "../../src/config/settings.js";

/** Resolves the settings from the texts of the repository files, as a run does. */
export function resolveTexts(
  defaults: Parameters<typeof resolveSettings>[0],
  server: Parameters<typeof resolveSettings>[1],
  files: { readonly base: string | undefined; readonly head: string | undefined },
): Resolution {
  const base = read(files.base, ".svc.yaml (base branch)");
  return resolveSettings(defaults, server, {
    base,
    head: files.head === files.base ? base : read(files.head, ".svc.yaml"),
  });
}

function read(text: string | undefined, name: string): RepositoryConfigResult {
  return text === undefined ? NO_FILE : parseRepositoryConfig(text, name);
}
