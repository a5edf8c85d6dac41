import { expect, test } from "@jest/globals";
import { typeErrors, type Edit } from "./type-errors.js";

const NAMES = "src/names.ts";
const REGISTRY = "src/hosts/registry.ts";
const SCHEMA = "src/config/server/server-parts.ts";
const FILES = [NAMES, REGISTRY, SCHEMA];

const id: Edit = { path: NAMES, from: '["hosta", "hostb"]', to: '["hosta", "hostb", "hostc"]' };
const named = (table: string, value: string): Edit => ({
  path: NAMES,
  from: `export const ${table}: Readonly<Record<HostId, string>> = { `,
  to: `export const ${table}: Readonly<Record<HostId, string>> = { hostc: "${value}", `,
});
const NAMED = [
  named("HOST_TITLES", "Forgejo"),
  named("CHANGE_REQUEST_SIGILS", "#"),
  named("WEBHOOK_PATHS", "/webhook/hostc"),
];

test("the files compile as they are", () => {
  expect(typeErrors(FILES)).toEqual([]);
});

test("a host needs its names, a module and a section of the configuration", () => {
  const missing = (path: string) => expect.stringMatching(new RegExp(`^${path}: .*'hostc' is missing`));
  expect(typeErrors(FILES, [id])).toEqual([...NAMED.map(() => missing(NAMES)), missing(REGISTRY), missing(SCHEMA)]);
});

test("a module needs everything that the service asks of a host", () => {
  const module: Edit = {
    path: REGISTRY,
    from: "hostb: gitlab",
    to: "hostb: gitlab, hostc: { ...gitlab, cure: undefined }",
  };
  expect(typeErrors([REGISTRY], [id, ...NAMED, module])).toEqual([
    expect.stringContaining("Type 'undefined' is not assignable to type 'string'"),
  ]);
});

test("once they are there, names and modules compile", () => {
  const module: Edit = { path: REGISTRY, from: "hostb: gitlab", to: "hostb: gitlab, hostc: gitlab" };
  expect(typeErrors([NAMES, REGISTRY], [id, ...NAMED, module])).toEqual([]);
});
