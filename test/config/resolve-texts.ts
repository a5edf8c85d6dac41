import {
  NO_FILE,
  parseRepositoryConfig,
  type RepositoryConfigResult,
} from "../../src/config/repository/repository-schema.js";
import { resolveSettings, type Resolution } from "../../src/config/rules/settings.js";

/** Resolves the settings from the texts of the repository files, as a run does. */
export function resolveTexts(
  defaults: Parameters<typeof resolveSettings>[0],
  server: Partial<Parameters<typeof resolveSettings>[1]>,
  files: {
    readonly base: string | undefined;
    readonly head: string | undefined;
    /** An earlier text of the base branch's file that could be read. */
    readonly earlier?: string;
    /** Of the default branch, if the base branch is another one; null if it has no file. */
    readonly defaultBranch?: string | null;
  },
): Resolution {
  const base = read(files.base, ".svc.yaml (base branch)");
  const head = files.head === files.base ? base : read(files.head, ".svc.yaml");
  const earlier = read(files.earlier, "earlier");
  const sides = {
    base: {
      file: base,
      earlier: files.earlier !== undefined && earlier.kind === "valid" ? earlier.config : undefined,
    },
    defaultBranch:
      files.defaultBranch === undefined
        ? undefined
        : { file: read(files.defaultBranch ?? undefined, ".svc.yaml (default branch)"), earlier: undefined },
    head,
    changed: files.head !== files.base,
  };
  return resolveSettings(
    defaults,
    { applicationRepositories: [], projects: {}, syncRequirements: [], ...server },
    sides,
    "hosta",
  );
}

function read(text: string | undefined, name: string): RepositoryConfigResult {
  return text === undefined ? NO_FILE : parseRepositoryConfig(text, name);
}
