import { expect, test } from "@jest/globals";
import { typeErrors, type Edit } from "./type-errors.js";

const RULES = "src/core/policy/rules.ts";
const CHANGE_RULES = "src/core/policy/change-rules.ts";
const STATUS = "src/comments/commit-status.ts";
/** What asks the table. */
const JUDGE = "src/core/policy/judge.ts";
const ADVICE = "src/core/policy/next-step.ts";
const FILES = [RULES, CHANGE_RULES, STATUS, JUDGE, ADVICE];

const gate: Edit = {
  path: "src/core/policy/gates.ts",
  from: "export const GATES = [\n",
  to: 'export const GATES = [\n  "frozen",\n',
};
const MEMBERS = {
  of: '"change"',
  commands: '["sync", "merge"]',
  liftedBy: '"operator"',
  specificationOrder: "2",
  bars: '() => [whole("deployments are frozen")]',
};

/** A row for the gate, without some of its members or with others. */
function row(more: Readonly<Record<string, string | undefined>> = {}): Edit {
  const wanted: Readonly<Record<string, string | undefined>> = { ...MEMBERS, ...more };
  const members = Object.entries(wanted).filter(([, value]) => value !== undefined);
  const text = members.map(([name, value]) => `${name}: ${value}`).join(", ");
  return { path: CHANGE_RULES, from: "  closed: ", to: `  frozen: { ${text} },\n  closed: ` };
}

const text = (of: string): Edit => ({
  path: STATUS,
  from: "  closed: undefined,",
  to: `  frozen: ${of},\n  closed: undefined,`,
});

test("the tables compile as they are", () => {
  expect(typeErrors(FILES)).toEqual([]);
});

test("a gate does not compile until it has a row and a text of the status", () => {
  expect(typeErrors(FILES, [gate])).toEqual(
    [RULES, STATUS].map((path) => expect.stringMatching(new RegExp(`^${path}: .*'frozen' is missing`))),
  );
});

test.each(["commands", "liftedBy", "specificationOrder", "bars"])("a row without `%s` does not compile", (member) => {
  expect(typeErrors([CHANGE_RULES], [gate, row({ [member]: undefined })])).toEqual([
    expect.stringContaining(`Property '${member}' is missing`),
  ]);
});

test.each([
  ["a command that nobody can give", { commands: '["merge", "approve"]' }, `Type '"approve"' is not assignable`],
  ["somebody unknown who lifts it", { liftedBy: '"root"' }, `Type '"root"' is not assignable`],
  ["a fact that nobody reads", { needs: '["weather"]' }, `Type '"weather"' is not assignable`],
  ["a stored fact that it trusts without a word on what makes it stale", { needs: '["plan"]' }, `Type '"plan"' is not`],
  ["a stored fact that nothing makes stale", { trusts: "{ plan: [] }" }, "is not assignable"],
  ["a stored fact that something unknown makes stale", { trusts: '{ plan: ["luck"] }' }, `Type '"luck"' is not`],
  ["a bar of the other kind", { of: '"application"' }, "is not assignable to type 'string'"],
  ["a refusal that nobody words", { refusal: '() => ({ reason: "frozen" })' }, "is not assignable to type 'Refusal'"],
])("a row with %s does not compile", (_what, more, error) => {
  expect(typeErrors([CHANGE_RULES], [gate, row(more)])).toEqual([expect.stringContaining(error)]);
});

test("once they are there, the tables, the judge and the advice compile", () => {
  expect(typeErrors(FILES, [gate, row(), text("undefined")])).toEqual([]);
  const told = text('{ first: true, text: () => pending("deployments are frozen") }');
  expect(typeErrors(FILES, [gate, row({ needs: '["change"]' }), told])).toEqual([]);
});
