import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";
import type { HostId } from "../../src/names.js";
import {
  caseFile,
  effectFile,
  planFile,
  type CaseFile,
  type ExpectedEffect,
  type ExpectedPlan,
} from "./case-schema.js";
import { readTree, type Tree } from "./read-tree.js";

const CASES = fileURLToPath(new URL("cases", import.meta.url));

/** One folder of the corpus, read but not yet bound to a host: `REPO_URL` and `OTHER_URL` still stand in its texts. */
export interface Case extends CaseFile {
  /** The folder's name. */
  readonly name: string;
  readonly hosts: readonly HostId[];
  readonly base: Tree;
  readonly head: Tree;
  /** The base branch after somebody else's commit, made while the change request is open. */
  readonly baseLater: Tree | undefined;
  /** The repository that `OTHER_URL` names. */
  readonly other: Tree | undefined;
  /** YAML texts with several documents each. */
  readonly cluster: { readonly applications: string; readonly objects: string };
  /** What Argo CD renders, by application and revision. */
  readonly manifests: readonly WrittenManifests[];
  readonly plan: ExpectedPlan;
  readonly effect: ExpectedEffect;
}

export interface WrittenManifests {
  /** `web`, or `<namespace>_<name>` outside the control-plane namespace. */
  readonly application: string;
  /** `base`, `head`, `later`, or a revision as it is, such as a chart's version. */
  readonly revision: string;
  /** Several YAML documents. */
  readonly text: string;
}

/** Names of all cases, in their order. */
export function caseNames(): readonly string[] {
  return readdirSync(CASES).sort();
}

/** @throws {Error} that names the case, for a folder that does not follow the README. */
export function loadCase(name: string): Case {
  try {
    return load(name, join(CASES, name));
  } catch (error) {
    throw new Error(`test/corpus/cases/${name} cannot be read`, { cause: error });
  }
}

function load(name: string, folder: string): Case {
  const file = caseFile.parse(parse(readFileSync(join(folder, "case.yaml"), "utf8")));
  const expected = (one: string): unknown => parse(readFileSync(join(folder, "expected", one), "utf8"));
  return {
    ...file,
    name,
    hosts: hostsOf(name, file.host),
    base: withSubmodules(readTree(join(folder, "base")), file.submodules.base),
    head: withSubmodules(readTree(join(folder, "head")), file.submodules.head),
    baseLater: existsSync(join(folder, "base-later")) ? readTree(join(folder, "base-later")) : undefined,
    other: existsSync(join(folder, "other")) ? readTree(join(folder, "other")) : undefined,
    cluster: {
      applications: textOf(join(folder, "cluster", "applications.yaml")),
      objects: textOf(join(folder, "cluster", "objects.yaml")),
    },
    manifests: manifestsIn(join(folder, "manifests")),
    plan: planFile.parse(expected("plan.yaml")),
    effect: effectFile.parse(expected("effect.yaml")),
  };
}

function hostsOf(name: string, host: CaseFile["host"]): readonly HostId[] {
  if (host === "both") return ["hosta", "hostb"];
  if (host !== undefined) return [host];
  const number = Number(/^(\d+)-/.exec(name)?.[1]);
  if (Number.isNaN(number)) throw new Error("a case's name begins with its number");
  return [number % 2 === 1 ? "hosta" : "hostb"];
}

function withSubmodules(tree: Tree, submodules: Readonly<Record<string, string>>): Tree {
  const links = Object.entries(submodules).map(([path, submodule]) => [path, { submodule }] as const);
  return { ...tree, ...Object.fromEntries(links) };
}

function textOf(path: string): string {
  return existsSync(path) ? readFileSync(path, "utf8") : "";
}

function manifestsIn(folder: string): readonly WrittenManifests[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder).map((file) => {
    const [, application, revision] = /^([^@]+)@(.+)\.yaml$/.exec(file) ?? [];
    if (application === undefined || revision === undefined) {
      throw new Error(`${file} is not <application>@<revision>.yaml`);
    }
    return { application, revision, text: readFileSync(join(folder, file), "utf8") };
  });
}
