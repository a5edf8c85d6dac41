import { expect, test } from "@jest/globals";
import { typeErrors, type Edit } from "./type-errors.js";

const kind: Edit = {
  path: "src/core/model/result.ts",
  from: "readonly help: object;",
  to: "readonly help: object;\n  readonly postponed: { readonly until: string };",
};

/** Each table, with a row for the new kind. */
const ROWS: readonly Edit[] = [
  { path: "src/core/model/progress.ts", from: "  help: true,", to: "  help: true,\n  postponed: true," },
  {
    path: "src/core/policy/next-step.ts",
    from: "  help: nextStepAlone,",
    to: "  help: nextStepAlone,\n  postponed: nextStepAlone,",
  },
  {
    path: "src/run/answer/audit.ts",
    from: "  help: () => undefined,",
    to: '  help: () => undefined,\n  postponed: ({ until }) => ({ action: "unlocked", applications: [], reason: until }),',
  },
  {
    path: "src/run/answer/notify.ts",
    from: "  help: () => undefined,",
    to: "  help: () => undefined,\n  postponed: () => undefined,",
  },
  {
    path: "src/comments/render.ts",
    from: "  help: (_result",
    to: '  postponed: ({ until }, facts) => titled("Postponed", [block(until)], facts),\n  help: (_result',
  },
  {
    path: "src/run/answer/results.ts",
    from: "  help: {\n",
    to: `  postponed: {
    urgency: () => "plan",
    didAsAsked: (result) => result.until !== "",
    setsStatus: () => false,
    reply: (_result, answer) => postIfInTime(answer),
  },
  help: {
`,
  },
];
const TABLES = ROWS.map(({ path }) => path);
const JOURNAL = "src/queue/event-run.ts";
const LINE = "src/run/answer/answer.ts";

test("the tables compile as they are", () => {
  expect(typeErrors([...TABLES, JOURNAL, LINE])).toEqual([]);
});

test("a result does not compile until each table has a row for it", () => {
  expect(typeErrors(TABLES, [kind])).toEqual(
    TABLES.map((path) => expect.stringMatching(new RegExp(`^${path}: .*'postponed' is missing`))),
  );
});

test("a row gets the members of its own result", () => {
  const path = "src/run/answer/results.ts";
  const rows = ROWS.map((row) =>
    row.path === path ? { ...row, to: row.to.replace("result.until", "result.plan") } : row,
  );
  expect(typeErrors([path], [kind, ...rows])).toEqual([expect.stringContaining("Property 'plan' does not exist")]);
});

test("once the rows are there, the line and the journal compile", () => {
  expect(typeErrors([...TABLES, JOURNAL, LINE], [kind, ...ROWS])).toEqual([]);
});
