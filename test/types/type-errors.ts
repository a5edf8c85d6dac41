import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** A change of one source file: replaces `from`, which must stand in it, by `to`. */
export interface Edit {
  readonly path: string;
  readonly from: string;
  readonly to: string;
}

const parsed = new Map<string, ts.SourceFile>();
const { options, fileNames } = ts.parseJsonConfigFileContent(
  ts.readConfigFile(join(ROOT, "tsconfig.json"), (path) => ts.sys.readFile(path)).config,
  ts.sys,
  dirname(join(ROOT, "tsconfig.json")),
);

/** No edit changes an import, so each is resolved once. */
const resolutions = ts.createModuleResolutionCache(ROOT, (path) => path, options);

/** Every file of the service. */
export const SOURCES: readonly string[] = fileNames
  .map((path) => relative(ROOT, path))
  .filter((path) => path.startsWith("src/"));

/** What the compiler says of `files` after the edits, one text per error, beginning with the file's path. */
export function typeErrors(files: readonly string[], edits: readonly Edit[] = []): readonly string[] {
  const { program, fileOf } = compile(files, edits);
  return files.flatMap((file) =>
    program
      .getSemanticDiagnostics(fileOf(file))
      .map(({ messageText }) => `${file}: ${ts.flattenDiagnosticMessageText(messageText, " ")}`),
  );
}

interface Compiled {
  readonly program: ts.Program;
  readonly fileOf: (path: string) => ts.SourceFile;
}

/** The files after the edits. */
export function compile(files: readonly string[], edits: readonly Edit[] = []): Compiled {
  const host = ts.createCompilerHost(options);
  const read = host.getSourceFile.bind(host);
  host.getSourceFile = (path, language) => {
    const own = edits.filter((edit) => join(ROOT, edit.path) === path);
    if (own.length > 0) return ts.createSourceFile(path, edited(path, own), language, true);
    const known = parsed.get(path) ?? read(path, language);
    if (known !== undefined) parsed.set(path, known);
    return known;
  };
  host.resolveModuleNameLiterals = (literals, from, redirected, opts, file) =>
    literals.map((literal) => {
      const mode = ts.getModeForUsageLocation(file, literal, opts);
      return ts.resolveModuleName(literal.text, from, opts, host, resolutions, redirected, mode);
    });
  const program = ts.createProgram(
    files.map((file) => join(ROOT, file)),
    { ...options, noEmit: true },
    host,
  );
  return {
    program,
    fileOf: (path) => {
      const file = program.getSourceFile(join(ROOT, path));
      if (file === undefined) throw new Error(`${path} is not part of the program`);
      return file;
    },
  };
}

function edited(path: string, edits: readonly Edit[]): string {
  return edits.reduce(
    (text, { from, to }) => {
      if (!text.includes(from)) throw new Error(`${path} does not contain ${from}`);
      return text.replace(from, to);
    },
    ts.sys.readFile(path) ?? "",
  );
}
