import { readFileSync } from "node:fs";
import { SERVER_FILE } from "../../names.js";
import { camelKeys } from "../camel-keys.js";
import { type Environment, expandEnvironment } from "../environment.js";
import type { ConfigFile } from "../files.js";
import { type ConfigProblem, orderedProblems } from "../problem.js";
import { validate } from "../validate.js";
import { type ConfigTree, type MapTree, readYaml } from "../yaml-tree.js";
import { renameSections } from "./section-names.js";
import type { ServerConfig } from "./server-config.js";
import type { ReadFile } from "./server-parts.js";
import { serverRules, serverWarnings } from "./server-rules.js";
import { serverSchema } from "./server-schema.js";

export type { ServerConfig, ServerDefaults } from "./server-config.js";

const LARGEST_FILE = 1024 * 1024;

export type ServerConfigResult =
  | { readonly kind: "valid"; readonly config: ServerConfig; readonly warnings: readonly string[] }
  | { readonly kind: "invalid"; readonly problems: readonly ConfigProblem[] };

/** Merges files, later ones over earlier ones key by key. `readFile` reads the files that keys name, such as certificates. */
export function loadServerConfig(
  files: readonly ConfigFile[],
  env: Environment,
  readFile: ReadFile = (path) => readFileSync(path, "utf8"),
): ServerConfigResult {
  const names = files.map((file) => file.name);
  const invalid = (problems: readonly ConfigProblem[]): ServerConfigResult => ({
    kind: "invalid",
    problems: orderedProblems(problems, names),
  });
  const read = files.map((file) => readYaml(file.text, file.name, LARGEST_FILE));
  const trees = read.flatMap(({ tree }) => (tree === undefined ? [] : [tree]));
  const mistakes = read.flatMap(({ problems }) => problems);
  if (trees.length < files.length) return invalid(mistakes);

  const renamed = trees.map(renameSections);
  const expanded = renamed.map(({ tree }) => expandEnvironment(tree, env));
  const unset = expanded.flatMap(({ problems }) => problems);
  const tree = expanded.map((each) => each.tree).reduce(mergeTrees, emptyTree(names.at(-1) ?? SERVER_FILE));
  const readVariable = (name: string) => (Object.hasOwn(env, name) ? env[name] : undefined);
  const checked = validate(tree, serverSchema(readFile, readVariable));
  const found = checked.kind === "invalid" ? checked.problems : [];
  // An unset variable is already reported; a second problem for the missing value would not help.
  const said = new Set(unset.map(standing));
  const more = found.filter((problem) => !said.has(standing(problem)));
  const broken = serverRules(tree).filter((problem) => !said.has(standing(problem)));
  const asWritten = new Map(renamed.map((one) => [one.tree.at.file, one.asWritten]));
  const problems = [
    ...mistakes,
    ...renamed.flatMap((one) => one.problems),
    ...[...unset, ...more, ...broken].map((problem) => asWritten.get(problem.file)?.(problem) ?? problem),
  ];
  if (checked.kind === "invalid" || problems.length > 0) return invalid(problems);
  const config: ServerConfig = camelKeys(checked.value);
  return { kind: "valid", config, warnings: serverWarnings(config) };
}

/** Merges maps key by key at every depth; a later list or single value replaces an earlier one. */
function mergeTrees(earlier: MapTree, later: MapTree): MapTree {
  const entries = new Map(earlier.entries);
  for (const [key, entry] of later.entries) {
    const before = entries.get(key);
    entries.set(key, before === undefined ? entry : { ...entry, value: mergeValues(before.value, entry.value) });
  }
  return { ...later, entries };
}

function mergeValues(earlier: ConfigTree, later: ConfigTree): ConfigTree {
  if (earlier.kind === "map" && later.kind === "map") return mergeTrees(earlier, later);
  // An empty section overrides nothing.
  const emptySection = earlier.kind === "map" && later.kind === "scalar" && later.value === null;
  return emptySection ? earlier : later;
}

function emptyTree(file: string): MapTree {
  return { kind: "map", at: { file, line: 1, column: 1 }, entries: new Map() };
}

function standing({ file, line, column }: ConfigProblem): string {
  return `${file}:${line}:${column}`;
}
