import { ApiError, codes, quoted } from "../api-error.js";
import { isObject, type JsonObject } from "../json.js";
import { baseName, folderOf, globToRegExp } from "../render/paths.js";
import type { Repositories, Tree } from "../repository.js";
import type { GitGenerator } from "../schemas/application-set.js";
import { readYaml } from "../yaml.js";
import { flattened, type TemplateStyle } from "./render-template.js";

/** Parameters of a git generator: one set for each folder or file that matches its patterns. */
export async function gitParameters(
  generator: GitGenerator,
  repositories: Repositories,
  style: TemplateStyle,
): Promise<JsonObject[]> {
  const { repoURL, revision, directories = [], files = [] } = generator;
  const repository = repositories.at(repoURL);
  const [commit, tree] = await checkout();
  if (directories.length > 0) {
    return chosen(foldersOf(tree), directories).map((path) => withPath({}, path, undefined, style));
  }
  const paths = chosen([...tree.keys()], files);
  const texts = await repository.read(commit, paths);
  return paths.flatMap((path) => {
    const content: unknown = readYaml(texts.get(path) ?? "");
    const items = Array.isArray(content) ? (content as unknown[]) : [content];
    return items.filter(isObject).map((item) => withPath(item, folderOf(path), path, style));
  });

  async function checkout(): Promise<[string, Tree]> {
    try {
      const resolved = await repository.resolve(revision);
      return [resolved, await repository.tree(resolved)];
    } catch (error) {
      const reason = error instanceof ApiError ? error.message : quoted(error);
      throw new ApiError(
        codes.internal,
        `unable to checkout git repo ${repoURL} with revision ${revision ?? "HEAD"}: ${reason}`,
      );
    }
  }
}

/** Every folder with a file somewhere below it, except hidden ones. */
function foldersOf(tree: Tree): string[] {
  const folders = new Set<string>();
  for (const path of tree.keys()) {
    for (let folder = folderOf(path); folder !== ""; folder = folderOf(folder)) folders.add(folder);
  }
  return [...folders].filter((folder) => !folder.split("/").some((part) => part.startsWith("."))).sort();
}

function chosen(paths: readonly string[], patterns: readonly { path: string; exclude?: boolean }[]): string[] {
  const matches = (path: string, exclude: boolean): boolean =>
    patterns.some((pattern) => (pattern.exclude ?? false) === exclude && globToRegExp(pattern.path).test(path));
  return paths.filter((path) => matches(path, false) && !matches(path, true));
}

function normalized(name: string): string {
  return name
    .toLowerCase()
    .replace(/[^a-z0-9.-]/g, "-")
    .replace(/^[-.]+|[-.]+$/g, "");
}

function withPath(content: JsonObject, folder: string, file: string | undefined, style: TemplateStyle): JsonObject {
  const [name, segments] = [baseName(folder), folder.split("/")];
  const ofFile: Record<string, string> =
    file === undefined ? {} : { filename: baseName(file), filenameNormalized: normalized(baseName(file)) };
  if (style.goTemplate) {
    const path = { path: folder, basename: name, basenameNormalized: normalized(name), segments, ...ofFile };
    return { ...content, path };
  }
  const flat: JsonObject = { path: folder, "path.basename": name, "path.basenameNormalized": normalized(name) };
  for (const [part, value] of Object.entries(ofFile)) flat[`path.${part}`] = value;
  for (const [index, segment] of segments.entries()) flat[`path[${index}]`] = segment;
  return { ...flattened(content), ...flat };
}
