import { describe, expect, test } from "@jest/globals";
import { type JsonObject, misspelledMember } from "../../../src/core/model/json.js";

describe("a key that Argo CD reads as another one", () => {
  test.each<[JsonObject, string, string]>([
    [{ Project: "prod" }, "Project", "project"],
    [{ project: "a", PROJECT: "b" }, "PROJECT", "project"],
    [{ source: { repoURL: "a", repourl: "b" } }, "repourl", "repoURL"],
    [{ sources: [{}, { helm: { ValueFiles: [] } }] }, "ValueFiles", "valueFiles"],
    [{ source: { helm: { parameters: [{ Name: "a" }] } } }, "Name", "name"],
    [{ deſtination: {} }, "deſtination", "destination"],
    [{ Kind: "x" }, "Kind", "kind"],
    [{ generators: [{ list: { Elements: [] } }] }, "Elements", "elements"],
    [{ template: { spec: { syncpolicy: {} } } }, "syncpolicy", "syncPolicy"],
  ])("%j", (definition, key, member) => {
    expect(misspelledMember(definition)).toEqual({ key, member });
  });

  test.each<[JsonObject]>([
    [{ project: "a", source: { repoURL: "b", helm: { valuesObject: { Path: 1, Project: { Name: 2 } } } } }],
    [{ generators: [{ list: { elements: [{ Name: "a", Server: "b" }] } }] }],
    [{ generators: [{ plugin: { input: { parameters: { Name: "a" } } } }, { git: { values: { Path: "x" } } }] }],
    [{ template: { metadata: { labels: { Name: "a" }, annotations: { Path: "b" } } } }],
    [{ generators: [{ scmProvider: { azureDevOps: {} } }, { pullRequest: { azuredevops: {} } }] }],
    [{ somethingNewer: { Value2: 1 } }],
  ])("is not in %j", (definition) => {
    expect(misspelledMember(definition)).toBeUndefined();
  });
});
