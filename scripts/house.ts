import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { filesOfPlan } from "./files-of-plan.js";

// Prints how large the house is, next to what it may be, and fails above it.
//   npm run house                  sizes, importers, exports, folders, contexts, and the files that a plan runs through
//   npm run house -- --sample 8    prints as many doc comments of each room, always the same ones, for a person to judge

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const SOURCE = join(ROOT, "src");
/** Written by Jest's closing line, in seconds. */
const LAST_RUN = join(ROOT, "node_modules/.cache/svc/last-run.json");

interface SourceFile {
  readonly path: string;
  readonly folder: string;
  readonly lines: number;
  readonly node: ts.SourceFile;
}

interface Row {
  readonly what: string;
  readonly is: number;
  readonly atMost: number;
  /** Where to begin if it is above. */
  readonly such?: readonly string[];
}

const files: readonly SourceFile[] = readdirSync(SOURCE, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts"))
  .map((name) => {
    const path = join(SOURCE, name);
    const text = readFileSync(path, "utf8");
    const node = ts.createSourceFile(path, text, ts.ScriptTarget.ES2023, true);
    return { path, folder: dirname(path), lines: text.split("\n").length - 1, node };
  });

/** The names that a file takes from others, by the path of the other file. */
function importsOf({ node, folder }: SourceFile): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const statement of node.statements) {
    if (!ts.isImportDeclaration(statement) && !ts.isExportDeclaration(statement)) continue;
    const from = statement.moduleSpecifier;
    if (from === undefined || !ts.isStringLiteral(from) || !from.text.startsWith(".")) continue;
    const clause = ts.isImportDeclaration(statement) ? statement.importClause?.namedBindings : statement.exportClause;
    const names =
      clause !== undefined && "elements" in clause
        ? clause.elements.map((one) => (one.propertyName ?? one.name).text)
        : ["*"];
    const target = resolve(folder, from.text.replace(/\.js$/, ".ts"));
    found.set(target, [...(found.get(target) ?? []), ...names]);
  }
  return found;
}

function exportsOf({ node }: SourceFile): readonly string[] {
  return node.statements.flatMap((statement) => {
    const isExported =
      ts.canHaveModifiers(statement) &&
      ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword);
    if (!isExported) return [];
    if (ts.isVariableStatement(statement)) {
      return statement.declarationList.declarations.map(({ name }) => name.getText(node));
    }
    const { name } = statement as { readonly name?: ts.Identifier };
    return name === undefined ? [] : [name.text];
  });
}

const imports = new Map(files.map((file) => [file.path, importsOf(file)]));

function importersOf(path: string): readonly string[] {
  return files.filter((file) => imports.get(file.path)?.has(path)).map((file) => file.path);
}

function usersOf(path: string, name: string): number {
  return files.filter((file) =>
    imports
      .get(file.path)
      ?.get(path)
      ?.some((one) => one === name || one === "*"),
  ).length;
}

function nodesIn(node: ts.Node): readonly ts.Node[] {
  const found: ts.Node[] = [];
  const visit = (one: ts.Node): void => {
    found.push(one);
    ts.forEachChild(one, visit);
  };
  visit(node);
  return found;
}

function byFolder(): ReadonlyMap<string, readonly SourceFile[]> {
  const folders = [...new Set(files.map(({ folder }) => folder))].sort();
  return new Map(folders.map((folder) => [folder, files.filter((file) => file.folder === folder)]));
}

const nameOf = (path: string) => relative(ROOT, path);

function rows(): readonly Row[] {
  const alone = files.filter(({ path, folder }) => {
    const importers = importersOf(path);
    return importers.length === 1 && importers.every((importer) => dirname(importer) === folder);
  });
  const once = files.flatMap((file) =>
    exportsOf(file).flatMap((name) => (usersOf(file.path, name) === 1 ? [`${nameOf(file.path)}: ${name}`] : [])),
  );
  const drawers = [...byFolder()].filter(([, inside]) => inside.length > 25);
  const whole = files.flatMap(({ path, node }) =>
    nodesIn(node)
      .filter((one) => ts.isParameter(one))
      .filter(({ type }) => type?.getText(node) === "CommandContext")
      .map(() => nameOf(path)),
  );
  return [
    { what: "files in src", is: files.length, atMost: 430 },
    { what: "lines in src", is: files.reduce((sum, { lines }) => sum + lines, 0), atMost: 51_000 },
    {
      what: "files with one importer, in the same folder",
      is: alone.length,
      atMost: 40,
      such: alone.map(({ path, lines }) => `${nameOf(path)} (${lines}) -> ${importersOf(path).map(nameOf).join()}`),
    },
    { what: "exports with one user", is: once.length, atMost: 550, such: once },
    {
      what: "folders with more than 25 files",
      is: drawers.length,
      atMost: 0,
      such: drawers.map(([folder, inside]) => `${nameOf(folder)}: ${inside.length}`),
    },
    { what: "places that take the whole context of a command", is: whole.length, atMost: 15, such: whole },
    ...lastRun(),
  ];
}

/** Minutes of the last complete run of the suite on this machine, if there was one. */
function lastRun(): readonly Row[] {
  if (!existsSync(LAST_RUN)) return [];
  const { seconds } = JSON.parse(readFileSync(LAST_RUN, "utf8")) as { readonly seconds: number };
  return [{ what: "minutes of the last whole `npm test`", is: Math.round(seconds / 6) / 10, atMost: 7 }];
}

/** Doc comments of each room, picked by a hash of their text, so that everybody judges the same ones. */
function sample(size: number): void {
  for (const [folder, inside] of byFolder()) {
    const docs = inside.flatMap(({ path, node }) =>
      [...node.text.matchAll(/\/\*\*[\s\S]*?\*\//g)].map(([text]) => ({ path, text })),
    );
    const order = (text: string) => createHash("sha256").update(`20261123 ${text}`).digest("hex");
    const picked = docs.sort((a, b) => order(a.text).localeCompare(order(b.text))).slice(0, size);
    console.log(`\n# ${nameOf(folder)}`);
    for (const { path, text } of picked) {
      console.log(
        `${nameOf(path)}: ${text
          .replace(/^\s*\/?\*+\/?/gm, "")
          .replace(/\s*\*\/$/, "")
          .replace(/\s+/g, " ")
          .trim()}`,
      );
    }
  }
}

const at = process.argv.indexOf("--sample");
if (at !== -1) {
  sample(Number(process.argv[at + 1] ?? 8));
} else {
  const planned = await filesOfPlan();
  const measured = [
    ...rows(),
    { what: "files that the simplest plan runs through", is: planned.length, atMost: 150, such: planned },
  ];
  for (const { what, is, atMost, such = [] } of measured) {
    console.log(`${is > atMost ? "✗" : "✓"} ${what}: ${is} (at most ${atMost})`);
    if (is > atMost && process.argv.includes("--such")) for (const one of such) console.log(`    ${one}`);
  }
  if (measured.some(({ is, atMost }) => is > atMost)) process.exitCode = 1;
}
