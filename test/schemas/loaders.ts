import { type Environment, expandEnvironment } from "../../src/config/environment.js";
import { repositorySchema } from "../../src/config/repository/repository-schema.js";
import { renameSections } from "../../src/config/server/section-names.js";
import { serverSchema } from "../../src/config/server/server-schema.js";
import { serverRules } from "../../src/config/server/server.js";
import { readYaml, validate } from "../../src/config/yaml-tree.js";
import { rsaKey } from "../config/rsa-key.js";

const PEM = rsaKey();
/** Built once: building it is most of what a load costs. Files that keys name are a private key, whatever their path, and every variable is set. */
const SERVER = serverSchema(
  () => PEM,
  () => "any value",
);
const REPOSITORY = repositorySchema();
const LARGEST = 1024 * 1024;

/** Whether the service takes this text as its own file, with these variables set. */
export function serverTakes(text: string, env: Environment): boolean {
  const { tree, problems } = readYaml(text, "svc.yaml", LARGEST);
  if (tree === undefined || problems.length > 0) return false;
  const renamed = renameSections(tree);
  const expanded = expandEnvironment(renamed.tree, env);
  if (renamed.problems.length > 0) return false;
  if (expanded.problems.length > 0 || serverRules(expanded.tree).length > 0) return false;
  return validate(expanded.tree, SERVER).kind === "valid";
}

/** Whether the service takes this text as a repository's file. */
export function repositoryTakes(text: string): boolean {
  const { tree, problems } = readYaml(text, ".svc.yaml", LARGEST);
  return tree !== undefined && problems.length === 0 && validate(tree, REPOSITORY).kind === "valid";
}
