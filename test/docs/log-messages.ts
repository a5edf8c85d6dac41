import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import ts from "typescript";

const LEVELS = new Set(["warn", "error", "fatal"]);

/** A message that the service may log at level warn or error. */
export interface LogMessage {
  /** A `…` stands for what is only known when it is logged. */
  readonly text: string;
  readonly file: string;
}

/** The messages of all calls of a log in a folder of sources, found in their syntax. */
export function logMessages(folder: string): readonly LogMessage[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .flatMap((name) => {
      const path = join(folder, name);
      const source = ts.createSourceFile(path, readFileSync(path, "utf8"), ts.ScriptTarget.ES2023, true);
      const file = relative(folder, path);
      return callsIn(source).flatMap((call) => textsOf(call, source).map((text) => ({ text, file })));
    });
}

function callsIn(source: ts.SourceFile): readonly ts.CallExpression[] {
  const found: ts.CallExpression[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && isLogCall(node.expression)) found.push(node);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

function isLogCall(callee: ts.Expression): boolean {
  if (!ts.isPropertyAccessExpression(callee) || !LEVELS.has(callee.name.text)) return false;
  return /(?:^|[.#])log(?:ger)?$/i.test(callee.expression.getText());
}

/** What the last argument says; a name stands for every text that its file gives it. */
function textsOf(call: ts.CallExpression, source: ts.SourceFile): readonly string[] {
  const said = call.arguments.at(-1);
  if (said === undefined) throw new Error(`${source.fileName}: a log call without arguments`);
  const text = literal(said);
  if (text !== undefined) return [text];
  const name = said.getText();
  const texts = [...valuesOf(name, source), ...argumentsFor(name, said, source)];
  return texts.length === 0 ? ["…"] : texts;
}

function literal(node: ts.Expression): string | undefined {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (!ts.isTemplateExpression(node)) return undefined;
  return `${node.head.text}${node.templateSpans.map(({ literal: { text } }) => `…${text}`).join("")}`;
}

function valuesOf(name: string, source: ts.SourceFile): readonly string[] {
  const texts: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isVariableDeclaration(node) && node.name.getText() === name && node.initializer !== undefined) {
      const text = literal(node.initializer);
      if (text !== undefined) texts.push(text);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return texts;
}

/** The texts that are handed to the function around a call for its parameter of this name, directly or further up. */
function argumentsFor(name: string, at: ts.Node, source: ts.SourceFile): readonly string[] {
  const around = functionAround(at);
  const index = around?.parameters.findIndex((parameter) => parameter.name.getText() === name) ?? -1;
  if (around?.name === undefined || index < 0) return [];
  const texts: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && node.expression.getText() === around.name?.text) {
      const given = node.arguments[index];
      const text = given === undefined ? undefined : literal(given);
      if (text !== undefined) texts.push(text);
      else if (given !== undefined && functionAround(given) !== around) {
        texts.push(...argumentsFor(given.getText(), given, source));
      }
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return texts;
}

function functionAround(node: ts.Node): ts.FunctionDeclaration | undefined {
  for (let at = node.parent; !ts.isSourceFile(at); at = at.parent) if (ts.isFunctionDeclaration(at)) return at;
  return undefined;
}
