import type { Environment } from "./environment.js";
import { type ConfigFile, isRepositoryFile } from "./files.js";
import { isPattern, matchesName } from "./pattern.js";
import { NO_REPOSITORY_CONFIG, parseRepositoryConfig, type RepositoryConfig } from "./repository/repository-schema.js";
import { describeSelectors, placeOf } from "./rules/rule-match.js";
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

function checkServer(files: readonly ConfigFile[], env: Environment, readFile?: ReadFile): CheckResult {
  const result = loadServerConfig(files, env, readFile);
  if (result.kind === "invalid") return { lines: result.problems.map(describeProblem), exitCode: 1 };
  const names = files.map((file) => file.name).join(", ");
  const warnings = result.warnings.map((warning) => `warning: ${warning}`);
  return { lines: [...warnings, ...emptyLists(result.config, names), `${names}: valid`], exitCode: 0 };
}

function checkRepository(file: ConfigFile): CheckResult {
  const result = parseRepositoryConfig(file.text, file.name);
  if (result.kind === "invalid") return { lines: result.problems.map(describeProblem), exitCode: 1 };
  const warnings = [...emptyLists(result.config, file.name), ...overlappingStages(result.config, file.name)];
  return { lines: [...warnings, `${file.name}: valid`], exitCode: 0 };
}

/** Warns of stages that an earlier one may take applications from. The last stage may take the rest with `*`. */
function overlappingStages({ stages = [] }: RepositoryConfig, fileName: string): readonly string[] {
  return stages.flatMap(({ name, applications }, index) => {
    const earlier = stages.slice(0, index).find((one) => mayOverlap(one.applications, applications));
    if (earlier === undefined || (applications === "*" && index === stages.length - 1)) return [];
    return [
      `warning: ${fileName}: stages: an application may match both ${earlier.name} (${earlier.applications}) and ${name} (${applications}): the first wins, so it is in ${earlier.name}`,
    ];
  });
}

/** Whether one name may match both patterns; it cannot if they begin or end differently. */
function mayOverlap(left: string, right: string): boolean {
  if (![left, right].some(isPattern)) return left === right;
  if (!isPattern(left) || !isPattern(right)) return matchesName(left, right) || matchesName(right, left);
  const ends = [left, right].map((pattern) => ({
    first: pattern.replace(/[*?{].*$/, ""),
    last: pattern.replace(/^.*[*?}]/, ""),
  }));
  const [one = { first: "", last: "" }, other = one] = ends;
  const begins = one.first.startsWith(other.first) || other.first.startsWith(one.first);
  return begins && (one.last.endsWith(other.last) || other.last.endsWith(one.last));
}

/** Warns of stages that none of the running applications is in. Files that are not valid have been told of. */
export function emptyStages(files: readonly ConfigFile[], applications: readonly string[]): readonly string[] {
  return files
    .filter(({ name }) => isRepositoryFile(name))
    .flatMap(({ name: fileName, text }) => {
      const result = parseRepositoryConfig(text, fileName);
      const { stages = [] } = result.kind === "valid" ? result.config : NO_REPOSITORY_CONFIG;
      return stages.flatMap(({ name, applications: pattern }, index) =>
        applications.some((one) => matchesName(pattern, one) && placeOf(one, stages) === index)
          ? []
          : [`warning: ${fileName}: stages: Argo CD has no application for stage ${name} (${pattern})`],
      );
    });
}

/** Warns of empty lists: they look as if they restricted nothing. */
function emptyLists(
  { syncRequirements }: Pick<RepositoryConfig, "syncRequirements">,
  fileName: string,
): readonly string[] {
  const empty = syncRequirements.filter(({ allowedUsers, allowedTeams }) => {
    const lists = [allowedUsers, allowedTeams].filter((list) => list !== undefined);
    return lists.length > 0 && lists.flat().length === 0;
  });
  return empty.map(
    (entry) =>
      `warning: ${fileName}: sync_requirements ${describeSelectors(entry)}: an empty list means that nobody may give these commands; remove the key to let everybody`,
  );
}
