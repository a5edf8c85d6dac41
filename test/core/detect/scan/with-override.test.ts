import { expect, test } from "@jest/globals";
import { withOverride, misspelled } from "../../../../src/core/detect/scan/parameter-overrides.js";
import type { JsonObject } from "../../../../src/core/model/json.js";

const SOURCE = {
  repoURL: "https://git.example.com/acme/deploy",
  helm: {
    parameters: [{ name: "tag", value: "1.10", forceString: true }, { name: "size" }],
    valuesObject: { debug: true, size: "m" },
    releaseName: "shop",
  },
};

test.each<[string, JsonObject, JsonObject]>([
  [
    "a list replaces the one of the definition",
    { helm: { parameters: [{ name: "color", value: "green", forceString: true }] } },
    { parameters: [{ name: "color", value: "green", forceString: true }] },
  ],
  [
    "an item keeps what only the item at its place had",
    { helm: { parameters: [{ name: "color", value: "green" }] } },
    { parameters: [{ name: "color", value: "green", forceString: true }] },
  ],
  [
    "a longer list gets all of its items",
    { helm: { parameters: [{ name: "a" }, { name: "b" }, { name: "c" }] } },
    { parameters: [{ name: "a", value: "1.10", forceString: true }, { name: "b" }, { name: "c" }] },
  ],
  ["an empty list replaces one as well", { helm: { parameters: [] } }, { parameters: [] }],
  ["null takes nothing away", { helm: { releaseName: null, parameters: null } }, {}],
  ["a null for a whole tool takes nothing away", { helm: null }, {}],
  [
    "values are merged, and null takes one of them away",
    { helm: { valuesObject: { debug: null, color: "red" } } },
    { valuesObject: { size: "m", color: "red" } },
  ],
  ["another member stands beside the others", { helm: { skipCrds: true } }, { skipCrds: true }],
])("%s", (_, override, changed) => {
  expect(withOverride(SOURCE, override)).toEqual({ ...SOURCE, helm: { ...SOURCE.helm, ...changed } });
});

test("a member that the source does not have comes as it is", () => {
  const kustomize = { images: ["web:2"], commonLabels: { Name: "x" } };
  expect(withOverride({ path: "x" }, { kustomize })).toEqual({ path: "x", kustomize });
});

test.each<[JsonObject, string | undefined]>([
  [
    { helm: { parameters: [{ name: "a", value: "b", forceString: true }], valuesObject: { Path: 1, ValueFiles: 2 } } },
    undefined,
  ],
  [{ chart: "x", path: "x", repoURL: "x", targetRevision: "x", ref: "x", name: "x", kustomize: null }, undefined],
  [{ kustomize: { commonLabels: { Name: "x" }, newInSomeVersion: [] } }, undefined],
  [{ Helm: {} }, "Helm"],
  [{ other: {} }, "other"],
  [{ helm: { ValueFiles: ["https://example.com"] } }, "ValueFiles"],
  [{ helm: { fileParameters: [{ PATH: "x" }] } }, "PATH"],
  [{ helm: { valueFileſ: [] } }, "valueFile\u017f"],
  [{ directory: { jsonnet: { Libs: [] } } }, "Libs"],
])("the misspelled key of %j is %s", (override, key) => {
  expect(misspelled(override)).toBe(key);
});
