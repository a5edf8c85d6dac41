import type { Source } from "../../model/application.js";
import { parseJson } from "../../model/json.js";
import type { RepositoryTree } from "../../ports/snapshot.js";
import { cleanPath, parentOf } from "../tree/repository-path.js";
import { type InputCollector, MAX_DEPTH, MAX_FILES } from "./input-set.js";

/** One file may stand at thousands of places. */
const MAX_CHARACTERS = 32 * 1024 * 1024;
/** Each import may be in each library. */
const MAX_PLACES = 100_000;

/**
 * Adds what the Jsonnet files in a directory import, recursively: each import relative to the importing file, the directory
 * and every library root, whether it exists there or not. Library roots are clean paths from the repository's root and
 * count as a whole. Arguments that are Jsonnet code are read like files; a variable in one of their imports is not known.
 */
export async function addJsonnetInputs(
  directory: string,
  { libraries, code: snippets }: Source["jsonnet"],
  tree: RepositoryTree,
  into: InputCollector,
): Promise<void> {
  const files = tree.entriesIn(directory).filter(({ path, kind }) => kind !== "submodule" && isCode(path));
  if (files.length === 0) return;
  for (const library of libraries) into.addPath(library);
  const roots = new Set([directory, ...libraries]);
  let [places, characters] = [0, 0];
  const problem = await followImports();
  if (places > MAX_PLACES) into.addWhole("its Jsonnet files import more than svc looks up");
  else if (problem !== undefined) into.addWhole(problem);

  /** Returns why the imports are unknown, or undefined. */
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
        characters += text.length;
        if (characters > MAX_CHARACTERS) return "its Jsonnet files are larger than svc reads";
        if (file.endsWith(".json") && parseJson(text) !== undefined) continue; // Whatever its strings say.
        const imported = importedBy(text, [parentOf(file), parentOf(tree.follow(file).path ?? file)]);
        if (imported === undefined) return `an import in the Jsonnet file ${file} cannot be read`;
        for (const one of imported) if (!seen.has(one)) next.add(one);
      }
      for (const one of next) seen.add(one);
      level = [...next];
    }
    return undefined;
  }

  /** Adds all that a text imports from the repository and returns the Jsonnet files; undefined if an import is unknown. */
  function importedBy(text: string, ownPlaces: readonly string[]): readonly string[] | undefined {
    const imports = jsonnetImports(text);
    places += imports.length * (ownPlaces.length + roots.size);
    if (places > MAX_PLACES) return undefined;
    const found: string[] = [];
    for (const { path, code } of imports) {
      if (path === undefined || (ownPlaces.length === 0 && path.includes("$"))) return undefined;
      if (path.startsWith("/")) continue;
      for (const root of new Set([...ownPlaces, ...roots])) {
        const place = cleanPath(root, path);
        into.addPath(place);
        if (code && tree.hasFile(place)) found.push(place);
      }
    }
    return found;
  }
}

function isCode(path: string): boolean {
  return /\.(?:jsonnet|libsonnet)$/.test(path);
}

/** An import as a Jsonnet file names it. */
interface JsonnetImport {
  /** Undefined if unknown: a comment comes before the literal, or it is very long or has escapes other than of quotes and slashes. */
  readonly path: string | undefined;
  /** Imported as Jsonnet, not as text or bytes. */
  readonly code: boolean;
}

/** The limit bounds the cost of hostile texts. No file's path is longer, but what is imported may be shortened to one. */
const ESCAPED = String.raw`"((?:[^"\\]|\\[\s\S]){0,4096})"|'((?:[^'\\]|\\[\s\S]){0,4096})'`;
const VERBATIM = String.raw`@"((?:[^"]|""){0,4096})"(?!")|@'((?:[^']|''){0,4096})'(?!')`;
const COMMENT = String.raw`#|/[/*]`;
const TOO_LONG = String.raw`@?["'][\s\S]{4096}`;
const IMPORT = String.raw`(?<![\w$])import(str|bin)?(?!\w)\s*(?:${ESCAPED}|${VERBATIM}|${COMMENT}|${TOO_LONG})`;

/**
 * Every `import`, `importstr` and `importbin` of a Jsonnet text. Those in comments and strings count too: that finds too
 * much and never too little, since Jsonnet allows only a literal after these words
 * (https://jsonnet.org/ref/spec.html).
 */
export function jsonnetImports(text: string): readonly JsonnetImport[] {
  const imports: JsonnetImport[] = [];
  const pattern = new RegExp(IMPORT, "g");
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    const [, kind, double, single, verbatimDouble, verbatimSingle] = match;
    const escaped = double ?? single;
    const verbatim = verbatimDouble?.replaceAll('""', '"') ?? verbatimSingle?.replaceAll("''", "'");
    imports.push({ path: escaped === undefined ? verbatim : unescaped(escaped), code: kind === undefined });
    // The text of one in a comment may hold another.
    pattern.lastIndex = match.index + "import".length;
  }
  return imports;
}

function unescaped(text: string): string | undefined {
  if (/\\[^"'\\/]/.test(text.replaceAll("\\\\", ""))) return undefined;
  return text.replace(/\\(["'\\/])/g, "$1");
}
