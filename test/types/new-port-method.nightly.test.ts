import { expect, test } from "@jest/globals";
import { typeErrors, type Edit } from "./type-errors.js";

const REACH = "src/core/ports/reach.ts";

const newMethod = (file: string, port: string, method: string): Edit => ({
  path: `src/core/ports/${file}.ts`,
  from: `export interface ${port} {`,
  to: `export interface ${port} {\n  ${method};`,
});

test("the table compiles as it is", () => {
  expect(typeErrors([REACH])).toEqual([]);
});

test.each([
  ["CodeHost", "code-host"],
  ["Repositories", "repositories"],
  ["Deployer", "deployer"],
  ["LockStore", "stores"],
  ["PlanStore", "stores"],
  ["DeploymentStore", "stores"],
  ["AuditLog", "audit"],
  ["LiveFeed", "live-feed"],
])("a new method of %s does not compile until its reach is classed", (port, file) => {
  expect(typeErrors([REACH], [newMethod(file, port, "archive(name: string): Promise<void>")])).toEqual([
    expect.stringContaining("Property 'archive' is missing"),
  ]);
});

test("an optional method is classed as well", () => {
  expect(typeErrors([REACH], [newMethod("code-host", "CodeHost", "archive?(): Promise<void>")])).toEqual([
    expect.stringContaining("Property 'archive' is missing"),
  ]);
});

test("a class is one of the four", () => {
  const edit = { path: REACH, from: 'merge: "act"', to: 'merge: "write"' };
  expect(typeErrors([REACH], [edit])).toEqual([expect.stringContaining(`Type '"write"' is not assignable`)]);
});

test("the fence does not compile without every port", () => {
  const fence = "src/run/line/supervise.ts";
  const edit = {
    path: REACH,
    from: "  readonly live: LiveFeed;",
    to: "  readonly live: LiveFeed;\n  mail: PlanStore;",
  };
  expect(typeErrors([fence], [edit])).toEqual(
    expect.arrayContaining([expect.stringContaining("Property 'mail' is missing")]),
  );
});
