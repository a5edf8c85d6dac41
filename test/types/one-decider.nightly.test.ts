import { describe, expect, test } from "@jest/globals";
import ts from "typescript";
import { compile, SOURCES, type Edit } from "./type-errors.js";

const RESULT = "src/core/model/result.ts";
const RULES = "src/core/policy/rules.ts";
const TABLE = [RULES, "src/core/policy/change-rules.ts"];

/** Functions outside the table that may return a refusal, with the reason. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  "src/run/line/supervise.ts": "what broke or was stopped is not a gate",
  "src/core/policy/judge.ts: refusal": "asks the table",
};

/** Finds types that contain a refusal. */
class Refusals {
  readonly #checker: ts.TypeChecker;
  readonly #refusal: ts.Type;
  readonly #fileOf: (path: string) => ts.SourceFile;

  constructor({ program, fileOf }: ReturnType<typeof compile>) {
    this.#checker = program.getTypeChecker();
    this.#fileOf = fileOf;
    const alias = fileOf(RESULT).statements.find(
      (one) => ts.isTypeAliasDeclaration(one) && one.name.text === "Refusal",
    );
    if (alias === undefined) throw new Error(`${RESULT} has no type Refusal`);
    this.#refusal = this.#checker.getTypeAtLocation(alias);
  }

  /** The functions of a file that return a refusal, each by name. */
  returnedIn(path: string): readonly string[] {
    const file = this.#fileOf(path);
    return nodesIn(file)
      .filter((node) => ts.isFunctionLike(node))
      .filter((node) => "body" in node && node.body !== undefined)
      .filter((node) => {
        const signature = this.#checker.getSignatureFromDeclaration(node);
        return signature !== undefined && this.#contains(this.#checker.getReturnTypeOfSignature(signature));
      })
      .map((node) => `${path}: ${nameOf(node, file)}`);
  }

  /** Where a file tells refusals apart by their members. */
  probedIn(path: string): readonly string[] {
    const file = this.#fileOf(path);
    return nodesIn(file)
      .filter((node) => ts.isBinaryExpression(node))
      .filter(({ operatorToken }) => operatorToken.kind === ts.SyntaxKind.InKeyword)
      .filter(({ right }) => this.#contains(this.#checker.getTypeAtLocation(right)))
      .map((node) => `${path}: ${node.getText(file)}`);
  }

  /** Whether it is one, the promise or a list of one, or a union with one. */
  #contains(type: ts.Type, seen = new Set<ts.Type>()): boolean {
    if (seen.has(type) || (type.flags & (ts.TypeFlags.Any | ts.TypeFlags.Never)) !== 0) return false;
    seen.add(type);
    if (type.isUnion()) return type.types.some((one) => this.#contains(one, seen));
    const name = type.getSymbol()?.name;
    if (name === "Promise" || name === "PromiseLike" || this.#checker.isArrayLikeType(type)) {
      return this.#checker.getTypeArguments(type as ts.TypeReference).some((one) => this.#contains(one, seen));
    }
    return this.#checker.isTypeAssignableTo(type, this.#refusal);
  }
}

function nameOf(node: ts.SignatureDeclaration, file: ts.SourceFile): string {
  const named = ts.isVariableDeclaration(node.parent) || ts.isPropertyAssignment(node.parent) ? node.parent : node;
  return named.name?.getText(file) ?? node.getText(file).slice(0, 60);
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

const compiled = compile(SOURCES);
const textOf = (path: string) => compiled.fileOf(path).text;

describe("what a command is refused is decided in one place", () => {
  test("no function outside the table returns a refusal", () => {
    const refusals = new Refusals(compiled);
    const all = SOURCES.filter((path) => !TABLE.includes(path)).flatMap((path) => refusals.returnedIn(path));
    const exceptions = Object.keys(EXCEPTIONS);
    const isExcepted = (one: string, exception: string) => `${one}: `.startsWith(`${exception}: `);
    expect(all.filter((one) => !exceptions.some((exception) => isExcepted(one, exception)))).toEqual([]);
    expect(exceptions.filter((exception) => !all.some((one) => isExcepted(one, exception)))).toEqual([]);
    expect(refusals.returnedIn(RULES)).toContain(`${RULES}: refusalFor`);
  });

  test.each([
    ["a refusal", "function decide(): Refusal | undefined { return undefined; }"],
    ["the promise of some", "async function decide(): Promise<readonly (Refusal | undefined)[]> { return []; }"],
    ["one kind of it", 'const decide = (): Extract<Refusal, { reason: "stale" }>[] => [];'],
    ["one that is not declared as such", 'function decide() { return { reason: "fork" as const }; }'],
    ["a method's", "class Decider { decide(): Refusal { throw new Error(); } }"],
  ])("a new function that returns %s is found", (_what, text) => {
    const path = "src/core/policy/judge.ts";
    const edit: Edit = { path, from: "export interface Judgement {", to: `${text}\nexport interface Judgement {` };
    expect(new Refusals(compile([path], [edit])).returnedIn(path)).toContainEqual(expect.stringContaining("decide"));
  });

  test("nobody tells refusals apart by their members", () => {
    const refusals = new Refusals(compiled);
    expect(SOURCES.flatMap((path) => refusals.probedIn(path))).toEqual([]);
    const path = "src/core/policy/judge.ts";
    const edit: Edit = {
      path,
      from: "export interface Judgement {",
      to: 'export const isNarrow = (refusal: Refusal) => "others" in refusal;\nexport interface Judgement {',
    };
    expect(new Refusals(compile([path], [edit])).probedIn(path)).toEqual([`${path}: "others" in refusal`]);
  });
});

test("what follows from a result stands in tables, not in switches", () => {
  expect(SOURCES.filter((path) => /switch \((?:\w+\.)*result\.kind\)/.test(textOf(path)))).toEqual([]);
});

test("whether a head is approved is asked in one place", () => {
  const inner = SOURCES.filter((path) => path.startsWith("src/core/") || path.startsWith("src/run/"));
  const calls = inner.filter((path) => /(?<!function )\bapprovalOf\(/.test(textOf(path)));
  expect(calls).toEqual(["src/core/facts/approval.ts"]);
});
