/** An import as a Jsonnet file names it. */
export interface JsonnetImport {
  /** Undefined when it cannot be told: a comment before the text, or escapes other than of quotes and slashes in it. */
  readonly path: string | undefined;
  /** Read as Jsonnet, and not only as text or bytes. */
  readonly code: boolean;
}

// No path that a file can have is longer than this; the limit also keeps hostile texts cheap.
const ESCAPED = String.raw`"((?:[^"\\]|\\[\s\S]){0,4096})"|'((?:[^'\\]|\\[\s\S]){0,4096})'`;
const VERBATIM = String.raw`@"((?:[^"]|""){0,4096})"(?!")|@'((?:[^']|''){0,4096})'(?!')`;
const COMMENT = String.raw`#|/[/*]`;
const IMPORT = String.raw`(?<![\w$])import(str|bin)?(?!\w)\s*(?:${ESCAPED}|${VERBATIM}|${COMMENT})`;

/**
 * Every `import`, `importstr` and `importbin` of a Jsonnet text. What stands in comments and strings counts as well:
 * too much is looked at, never too little, since Jsonnet takes only a literal text after these words
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
