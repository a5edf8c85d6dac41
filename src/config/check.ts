import { basename } from "node:path";
import { REPOSITORY_FILE, SERVICE } from "../names.js";
import type { Environment } from "./environment.js";
import type { ConfigFile } from "./files.js";
import { parseRepositoryConfig, type RepositoryConfig } from "./repository/repository-schema.js";
import { describeSelectors } from "./rules/rule-match.js";
import type { ReadFile } from "./server/server-parts.js";
import { loadServerConfig } from "./server/server.js";
import { describeProblem } from "./yaml-tree.js";

export interface CheckResult {
  readonly lines: readonly string[];
  readonly exitCode: 0 | 1;
}

/** Checks each repository file on its own, and all other files together as the server's configuration. */
export function checkFiles(files: readonly ConfigFile[], env: Environment, readFile?: ReadFile): CheckResult {
  const repositoryFiles = files.filter((file) => isRepositoryFile(file.name));
  const serverFiles = serverFilesOf(files);
  const results = [
    ...(serverFiles.length === 0 ? [] : [checkServer(serverFiles, env, readFile)]),
    ...repositoryFiles.map(checkRepository),
  ];
  return {
    lines: results.flatMap((result) => result.lines),
    exitCode: results.some((result) => result.exitCode !== 0) ? 1 : 0,
  };
}

/** The files that make up the server's configuration. */
export function serverFilesOf(files: readonly ConfigFile[]): readonly ConfigFile[] {
  return files.filter((file) => !isRepositoryFile(file.name));
}

function isRepositoryFile(path: string): boolean {
  const name = basename(path);
  return name === REPOSITORY_FILE || (name.startsWith(`.${SERVICE}.`) && /\.ya?ml$/.test(name));
}

function checkServer(files: readonly ConfigFile[], env: Environment, readFile?: ReadFile): CheckResult {
  const result = loadServerConfig(files, env, readFile);
  if (result.kind === "invalid") return { lines: result.problems.map(describeProblem), exitCode: 1 };
  const names = files.map((file) => file.name).join(", ");
  return { lines: [...result.warnings.map((warning) => `warning: ${warning}`), `${names}: valid`], exitCode: 0 };
}

function checkRepository(file: ConfigFile): CheckResult {
  const result = parseRepositoryConfig(file.text, file.name);
  if (result.kind === "invalid") return { lines: result.problems.map(describeProblem), exitCode: 1 };
  return { lines: [...emptyLists(result.config, file.name), `${file.name}: valid`], exitCode: 0 };
}

/** Warns of empty lists: they look as if they restricted nothing. */
function emptyLists({ syncRequirements }: RepositoryConfig, fileName: string): readonly string[] {
  const empty = syncRequirements.filter(({ allowedUsers, allowedTeams }) => {
    const lists = [allowedUsers, allowedTeams].filter((list) => list !== undefined);
    return lists.length > 0 && lists.flat().length === 0;
  });
  return empty.map(
    (entry) =>
      `warning: ${fileName}: sync_requirements ${describeSelectors(entry)}: an empty list means that nobody may give these commands; remove the key to let everybody`,
  );
}
