import type * as z from "zod";
import { camelKeys, type CamelKeys } from "../camel-keys.js";
import { type ConfigProblem, orderedProblems } from "../problem.js";
import { validate } from "../validate.js";
import { readYaml } from "../yaml-tree.js";
import { repositorySchema } from "./repository-schema.js";

/** The slowest known texts take the parser about a second at this size. */
const LARGEST_FILE = 64 * 1024;
const SCHEMA = repositorySchema();

/** A repository's file after validation. The server's defaults apply to what is undefined. */
export type RepositoryConfig = CamelKeys<z.infer<typeof SCHEMA>>;

export type RepositoryConfigResult =
  | { readonly kind: "valid"; readonly config: RepositoryConfig }
  | { readonly kind: "invalid"; readonly problems: readonly ConfigProblem[] };

/** The configuration of a repository without the file. */
export const NO_REPOSITORY_CONFIG: RepositoryConfig = { applications: [], syncRequirements: [] };

/** What holds where there is no file. */
export const NO_FILE: RepositoryConfigResult = { kind: "valid", config: NO_REPOSITORY_CONFIG };

/** Reads a repository's file. The text may be hostile, so `${NAME}` is not expanded. */
export function parseRepositoryConfig(text: string, fileName: string): RepositoryConfigResult {
  const { tree, problems } = readYaml(text, fileName, LARGEST_FILE);
  if (tree === undefined) return { kind: "invalid", problems };
  const checked = validate(tree, SCHEMA);
  const found = checked.kind === "invalid" ? checked.problems : [];
  if (checked.kind === "invalid" || problems.length > 0) {
    return { kind: "invalid", problems: orderedProblems([...problems, ...found], [fileName]) };
  }
  return { kind: "valid", config: camelKeys(checked.value) };
}
