import { readFileSync } from "node:fs";
import { SERVER_FILE } from "../names.js";
import { camelKeys } from "./camel-keys.js";
import { expandEnvironment } from "./environment.js";
import type { Environment } from "./environment.js";
import { mergeTrees } from "./merge-trees.js";
import { orderedProblems } from "./problem.js";
import type { ConfigProblem } from "./problem.js";
import type { ServerConfig } from "./server-config.js";
import type { ReadFile } from "./server-parts.js";
import { serverRules, serverWarnings } from "./server-rules.js";
import { serverSchema } from "./server-schema.js";
import { validate } from "./validate.js";
import { readYaml } from "./yaml-tree.js";
import type { MapTree } from "./yaml-tree.js";

export type { ServerConfig, ServerDefaults } from "./server-config.js";

const LARGEST_FILE = 1024 * 1024;

export interface ConfigFile {
  readonly name: string;
  readonly text: string;
}

export type ServerConfigResult =
  | { readonly kind: "valid"; readonly config: ServerConfig; readonly warnings: readonly string[] }
  | { readonly kind: "invalid"; readonly problems: readonly ConfigProblem[] };

/**
 * Makes one configuration of all files, later ones over earlier ones key by key, and finds every mistake at once.
 * `readFile` reads the files that keys name (private key, certificates), relative to the working folder.
 */
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

  const expanded = trees.map((tree) => expandEnvironment(tree, env));
  const unset = expanded.flatMap(({ problems }) => problems);
  const tree = expanded.map((each) => each.tree).reduce(mergeTrees, emptyTree(names.at(-1) ?? SERVER_FILE));
  const checked = validate(tree, serverSchema(readFile));
  const found = checked.kind === "invalid" ? checked.problems : [];
  // A value whose variable is not set was already reported; what the schema says of the hole helps nobody.
  const said = new Set(unset.map(standing));
  const problems = [
    ...mistakes,
    ...unset,
    ...found.filter((problem) => !said.has(standing(problem))),
    ...serverRules(tree),
  ];
  if (checked.kind === "invalid" || problems.length > 0) return invalid(problems);
  const config: ServerConfig = camelKeys(checked.value);
  return { kind: "valid", config, warnings: serverWarnings(config) };
}

function emptyTree(file: string): MapTree {
  return { kind: "map", at: { file, line: 1, column: 1 }, entries: new Map() };
}

function standing({ file, line, column }: ConfigProblem): string {
  return `${file}:${line}:${column}`;
}
