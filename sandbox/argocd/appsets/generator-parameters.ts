import { unknown } from "../api-error.js";
import { isObject, listAt, sortedText, type Json, type JsonObject } from "../json.js";
import type { Repositories } from "../repository.js";
import type { Generator, GitGenerator } from "../schemas/application-set.js";
import { gitParameters } from "./git-generator.js";
import { flattened, renderTexts, type TemplateStyle } from "./render-template.js";

/** A generator at any level; a matrix or merge may nest another one. */
type AnyGenerator = Omit<Generator, "matrix" | "merge"> & {
  matrix?: JsonObject | Generator["matrix"];
  merge?: JsonObject | Generator["merge"];
};

/** Parameter sets of one generator. https://argo-cd.readthedocs.io/en/release-3.1/operator-manual/applicationset/Generators/ */
export async function generatorParameters(
  generator: AnyGenerator,
  repositories: Repositories,
  style: TemplateStyle,
): Promise<JsonObject[]> {
  const { list, git, clusters, matrix, merge } = generator;
  if (list !== undefined) {
    const elements = (list.elements ?? []) as Json[];
    return elements.filter(isObject).map((element) => (style.goTemplate ? element : flattened(element)));
  }
  if (git !== undefined) return gitParameters(git, repositories, style);
  if (clusters !== undefined) {
    return [{ name: "in-cluster", nameNormalized: "in-cluster", server: "https://kubernetes.default.svc" }];
  }
  if (matrix !== undefined) return matrixParameters(nested(matrix), repositories, style);
  if (merge !== undefined) {
    return mergeParameters(nested(merge), listAt(merge, "mergeKeys").map(String), repositories, style);
  }
  const [name = ""] = Object.keys(generator);
  throw unknown(`the sandbox runs no ${name} generator`);
}

function nested(holder: unknown): AnyGenerator[] {
  return listAt(holder, "generators") as unknown[] as AnyGenerator[];
}

/** Every pair. The second generator may refer to the first one's parameters. */
async function matrixParameters(
  generators: AnyGenerator[],
  repositories: Repositories,
  style: TemplateStyle,
): Promise<JsonObject[]> {
  const [first, second, ...more] = generators;
  if (first === undefined || second === undefined) {
    throw unknown("found less than two generators, Matrix support only two");
  }
  if (more.length > 0) throw unknown("found more than two generators, Matrix support only two");
  const pairs: JsonObject[] = [];
  for (const left of await generatorParameters(first, repositories, style)) {
    const git = second.git === undefined ? undefined : (renderTexts(second.git, left, style) as GitGenerator);
    const rendered = git === undefined ? second : { ...second, git };
    for (const right of await generatorParameters(rendered, repositories, style)) pairs.push({ ...left, ...right });
  }
  return pairs;
}

/** The first generator's parameters, overlaid with those of the others that have the same merge keys. */
async function mergeParameters(
  generators: AnyGenerator[],
  keys: string[],
  repositories: Repositories,
  style: TemplateStyle,
): Promise<JsonObject[]> {
  if (generators.length < 2) throw unknown("found less than two generators, Merge requires two or more");
  if (keys.length === 0) throw unknown("no merge keys were specified, Merge requires at least one");
  const identity = (one: JsonObject): string => {
    const flat = style.goTemplate ? flattened(one) : one;
    return sortedText(keys.map((key) => flat[key] ?? null));
  };
  const [base = [], ...overlays] = await Promise.all(
    generators.map((one) => generatorParameters(one, repositories, style)),
  );
  return base.map((one) =>
    overlays
      .flat()
      .reduce<JsonObject>(
        (merged, overlay) => (identity(overlay) === identity(one) ? { ...merged, ...overlay } : merged),
        one,
      ),
  );
}
