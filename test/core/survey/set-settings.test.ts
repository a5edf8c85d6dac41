import { expect, test } from "@jest/globals";
import type { ApplicationSet } from "../../../src/core/model/application.js";
import type { JsonObject } from "../../../src/core/model/json.js";
import { changedSettings } from "../../../src/core/survey/sets/set-settings.js";

const set = (spec: JsonObject): ApplicationSet => ({ name: "s", namespace: undefined, resource: { spec } });
const LIST = { list: { elements: [{ name: "a" }] } };
const MORE = { list: { elements: [{ name: "a" }, { name: "b" }] } };
const template = (metadata: JsonObject, path: string) => ({ metadata, spec: { source: { path } } });

test.each<[string, JsonObject, JsonObject, readonly string[]]>([
  ["nothing", { generators: [LIST] }, { generators: [LIST] }, []],
  ["an element of a list", { generators: [LIST] }, { generators: [MORE] }, []],
  [
    "one inside of a matrix",
    { generators: [{ matrix: { generators: [LIST, LIST] } }] },
    { generators: [{ matrix: { generators: [LIST, MORE] } }] },
    [],
  ],
  ["the template's spec", { template: template({ name: "a" }, "x") }, { template: template({ name: "a" }, "y") }, []],
  [
    "the template's metadata",
    { template: template({ name: "a" }, "x") },
    { template: template({ name: "a", finalizers: [] }, "x") },
    ["template"],
  ],
  ["a patch of the template", {}, { templatePatch: "spec: {}" }, ["templatePatch"]],
  ["a generator", { generators: [LIST] }, { generators: [LIST, { clusters: {} }] }, ["generators"]],
  [
    "where a generator reads",
    { generators: [{ git: { revision: "main" } }] },
    { generators: [{ git: { revision: "mine" } }] },
    ["generators"],
  ],
  ["the order of deployments", { strategy: { type: "AllAtOnce" } }, {}, ["strategy"]],
  ["several", { goTemplate: true }, { syncPolicy: {} }, ["goTemplate", "syncPolicy"]],
])("a change of %s", (_what, base, head, expected) => {
  expect(changedSettings({ base: set(base), head: set(head) })).toEqual(expected);
});

test("a set that is new or removed has other changes", () => {
  expect(changedSettings({ base: undefined, head: set({ strategy: {} }) })).toEqual([]);
  expect(changedSettings({ base: set({ strategy: {} }), head: undefined })).toEqual([]);
});
