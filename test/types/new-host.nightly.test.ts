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
const NAMED: readonly Edit[] = [
  named("HOST_TITLES", "Forgejo"),
  {
    path: NAMES,
    from: '  hostb: ["gitlab", "hostb"],\n',
    to: '  hostb: ["gitlab", "hostb"],\n  hostc: ["forgejo", "hostc"],\n',
  },
  named("CHANGE_REQUEST_SIGILS", "#"),
  named("CHANGE_REQUEST_PATHS", "pulls"),
  named("WEBHOOK_PATHS", "/webhook/hostc"),
];
const words: Edit = {
  path: REGISTRY,
  from: "hostb: { ...GITLAB, command } }",
  to: "hostb: { ...GITLAB, command }, hostc: { ...GITLAB, command } }",
};

test("the files compile as they are", () => {
  expect(typeErrors(FILES)).toEqual([]);
});

test("a host needs its names, a module, its words and a section of the configuration", () => {
  const files = typeErrors(FILES, [id]).map((error) => error.split(": ", 1)[0]);
  expect(files).toEqual([...NAMED.map(() => NAMES), REGISTRY, REGISTRY, SCHEMA]);
});

test("a module needs everything that the service asks of a host", () => {
  const module: Edit = {
    path: REGISTRY,
    from: "hostb: gitlab",
    to: "hostb: gitlab, hostc: { ...gitlab, cure: undefined }",
  };
  expect(typeErrors([REGISTRY], [id, ...NAMED, words, module])).toEqual([
    expect.stringContaining("Type 'undefined' is not assignable to type 'string'"),
  ]);
});

test("once they are there, names and modules compile", () => {
  const module: Edit = { path: REGISTRY, from: "hostb: gitlab", to: "hostb: gitlab, hostc: gitlab" };
  expect(typeErrors([NAMES, REGISTRY], [id, ...NAMED, words, module])).toEqual([]);
});
