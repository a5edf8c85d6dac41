import { expect, test } from "@jest/globals";
import { typeErrors, type Edit } from "./type-errors.js";

const TABLE = "src/core/commands/commands.ts";
const OPTIONS = "src/core/commands/options.ts";
const FILES = [
  TABLE,
  OPTIONS,
  "src/core/commands/parse-command.ts",
  "src/core/commands/resume.ts",
  "src/comments/refusal.ts",
  "src/store/redis/redis-stores.ts",
];

const variant = (text: string): Edit => ({
  path: "src/core/model/command.ts",
  from: "readonly help: object;",
  to: `readonly help: object;\n  readonly ${text};`,
});
const row = (members: string): Edit => ({
  path: TABLE,
  from: "  help: {\n",
  to: `  approve: {
    summary: "approve it",
    stoppable: false,
    shownLive: false,
    runsLate: false,
    fixedResult: undefined,
    run: () => Promise.resolve({ kind: "help" }),
    ${members}
  },
  help: {
`,
});
const bindable: Edit = {
  path: "src/core/model/settings.ts",
  from: '"unlock"]',
  to: '"unlock", "approve"]',
};

test("the files compile as they are", () => {
  expect(typeErrors(FILES)).toEqual([]);
});

test("a command without a row in the table does not compile", () => {
  expect(typeErrors([TABLE], [variant("approve: Narrowed")])).toEqual([
    expect.stringMatching(/commands\.ts: Property 'approve' is missing in type/),
  ]);
});

test("a row lists exactly the options of its command", () => {
  const edits = (options: string) => [
    variant("approve: Narrowed"),
    bindable,
    row(`access: "restricted", deploys: false, options: ${options}`),
  ];
  expect(typeErrors([TABLE], edits("{}"))).toEqual([expect.stringContaining("Property 'applications' is missing")]);
  expect(typeErrors([TABLE], edits("{ applications: true, prune: true }"))).toEqual([
    expect.stringContaining("'prune' does not exist"),
  ]);
});

test("an option that nobody can write does not compile", () => {
  const errors = typeErrors(
    [OPTIONS],
    [
      variant("approve: { readonly force: boolean }"),
      bindable,
      row('access: "restricted", deploys: false, options: { force: true }'),
    ],
  );
  expect(errors).toEqual([expect.stringMatching(/options\.ts: Property 'force' is missing/)]);
});

test("a restricted command is one that `sync_requirements` can name", () => {
  const errors = typeErrors(
    [TABLE],
    [variant("approve: Narrowed"), row('access: "restricted", deploys: false, options: { applications: true }')],
  );
  expect(errors).toEqual([expect.stringContaining(`Type '"restricted"' is not assignable to type`)]);
});

test("a command that can be tried counts as one that deploys", () => {
  const edits = (deploys: string) => [
    variant("approve: Deploying"),
    bindable,
    row(`access: "restricted", deploys: ${deploys}, options: { applications: true, dryRun: true, prune: true }`),
  ];
  expect(typeErrors([TABLE], edits("false"))).toEqual([expect.stringContaining("Type 'false' is not assignable")]);
  expect(typeErrors([TABLE], edits("true"))).toEqual([]);
});

test("once the row is there, parser, help and stored schemas compile", () => {
  const edits = [
    variant("approve: Narrowed"),
    bindable,
    row('access: "restricted", deploys: false, options: { applications: true }'),
  ];
  expect(typeErrors(FILES, edits)).toEqual([]);
});
