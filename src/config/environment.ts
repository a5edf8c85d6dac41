import { type ConfigProblem, keyPath } from "./problem.js";
import { Expanded } from "./schema-parts.js";
import type { ConfigTree, MapTree } from "./yaml-tree.js";

export type Environment = Readonly<Record<string, string | undefined>>;

/** Variables that child processes inherit: where programs are, and how to reach the network. */
const PASSED_ON = [
  "PATH",
  "TMPDIR",
  "http_proxy",
  "https_proxy",
  "no_proxy",
  "HTTP_PROXY",
  "HTTPS_PROXY",
  "NO_PROXY",
  "SSL_CERT_FILE",
  "SSL_CERT_DIR",
  "GIT_SSL_CAINFO",
] as const;

/** Replaces `${NAME}` in parsed values by environment variables; `$${` stands for `${`. Problems never contain a value. */
export function expandEnvironment(tree: MapTree, env: Environment) {
  const problems: ConfigProblem[] = [];
  return { tree: expandMap(tree, [], env, problems), problems };
}

function expandMap(tree: MapTree, path: readonly PropertyKey[], env: Environment, problems: ConfigProblem[]): MapTree {
  const entries = [...tree.entries].map(
    ([key, { keyAt, value }]) => [key, { keyAt, value: expand(value, [...path, key], env, problems) }] as const,
  );
  return { ...tree, entries: new Map(entries) };
}

function expand(
  tree: ConfigTree,
  path: readonly PropertyKey[],
  env: Environment,
  problems: ConfigProblem[],
): ConfigTree {
  if (tree.kind === "map") return expandMap(tree, path, env, problems);
  if (tree.kind === "list") {
    return { ...tree, items: tree.items.map((item, index) => expand(item, [...path, index], env, problems)) };
  }
  const { value } = tree;
  if (typeof value !== "string" || !value.includes("${")) return tree;
  const report = (message: string): string => {
    problems.push({ ...tree.at, key: keyPath(path), message });
    return "";
  };
  const expanded = value.replace(
    /\$?\$\{(?:([A-Za-z_][A-Za-z0-9_]*)\})?/g,
    (found: string, name: string | undefined) => {
      if (found.startsWith("$$")) return found.slice(1);
      if (name === undefined) {
        return report("`${` must be followed by a variable's name and `}`; `$${` stands for itself");
      }
      const known = Object.hasOwn(env, name) ? env[name] : undefined;
      return known ?? report(`the environment variable ${name} is not set`);
    },
  );
  return { ...tree, value: new Expanded(expanded) };
}

/** The environment of child processes. They inherit nothing else, so no secret reaches them. */
export function childEnvironment(): Readonly<Record<string, string>> {
  return Object.fromEntries(
    PASSED_ON.flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value] as const];
    }),
  );
}
