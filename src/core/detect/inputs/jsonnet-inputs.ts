import type { JsonnetOptions } from "../../model/application-spec.js";
import type { RepositoryTree } from "../../ports/snapshot.js";
import { cleanPath, parentOf } from "../tree/repository-path.js";
import type { InputCollector } from "./input-set.js";
import { jsonnetImports } from "./jsonnet-imports.js";

const MAX_DEPTH = 20;
const MAX_FILES = 2000;

/**
 * What the Jsonnet files in a directory import, and these files in turn: each import counts relative to the importing
 * file, to the directory and to every library root, whether it exists there or not. The library roots, clean paths from
 * the repository's root, count with all that is in them. Arguments that are Jsonnet texts are read like files.
 */
export async function addJsonnetInputs(
  directory: string,
  { libraries, code: snippets }: JsonnetOptions,
  tree: RepositoryTree,
  into: InputCollector,
): Promise<void> {
  const files = tree.entriesIn(directory).filter(({ path, kind }) => kind !== "submodule" && isCode(path));
  if (files.length === 0) return;
  for (const library of libraries) into.addPath(library);
  const problem = await followImports();
  if (problem !== undefined) into.addWhole(problem);

  /** Why the imports cannot be told. */
  async function followImports(): Promise<string | undefined> {
    const named = snippets.map((snippet) => importedBy(snippet, []));
    if (named.includes(undefined)) return "an import in its Jsonnet arguments cannot be read";
    let level = [...new Set([...files.map(({ path }) => path), ...named.flatMap((paths) => paths ?? [])])];
    const seen = new Set(level);
    for (let depth = 0; level.length > 0; depth += 1) {
      if (depth > MAX_DEPTH) return `its Jsonnet imports are nested more than ${MAX_DEPTH} deep`;
      if (seen.size > MAX_FILES) return `it reads more than ${MAX_FILES} Jsonnet files`;
      const texts = await tree.readTexts(level);
      const next = new Set<string>();
      for (const file of level) {
        const text = texts.get(file);
        if (text === undefined) return `the Jsonnet file ${file} cannot be read`;
        const imported = importedBy(text, [parentOf(file), parentOf(tree.follow(file).path ?? file)]);
        if (imported === undefined) return `an import in the Jsonnet file ${file} cannot be read`;
        for (const one of imported) if (!seen.has(one)) next.add(one);
      }
      for (const one of next) seen.add(one);
      level = [...next];
    }
    return undefined;
  }

  /** Adds all that a text imports and returns the Jsonnet files among it; undefined when one cannot be told. */
  function importedBy(text: string, ownPlaces: readonly string[]): readonly string[] | undefined {
    const imports = jsonnetImports(text);
    const found: string[] = [];
    for (const { path, code } of imports) {
      if (path === undefined) return undefined;
      // An absolute path is none of the repository.
      if (path.startsWith("/")) continue;
      for (const root of new Set([...ownPlaces, directory, ...libraries])) {
        const place = cleanPath(root, path);
        into.addPath(place);
        if (code && tree.hasFile(place) && !place.endsWith(".json")) found.push(place);
      }
    }
    return found;
  }
}

function isCode(path: string): boolean {
  return /\.(?:jsonnet|libsonnet)$/.test(path);
}
