import { describe, expect, test } from "@jest/globals";
import type { Application, ApplicationSpec } from "../../../src/core/model/application.js";
import { applicationName } from "../../../src/core/model/brand.js";
import type { JsonObject } from "../../../src/core/model/json.js";
import { definedHere } from "../../../src/core/survey/driving-right.js";
import { readsBeyondRunning, runningReads } from "../../../src/core/survey/previews.js";
import { CHANGE } from "../detect/memory-snapshot.js";
import { sampleApplication } from "../sample-application.js";
import { sampleSettings } from "../sample-settings.js";

const [OWN_URL = ""] = CHANGE.repositoryUrls;
const OTHER = "https://git.example.com/acme/charts.git";

function spec(source: JsonObject = {}, more: JsonObject = {}): ApplicationSpec {
  return { project: "shops", source: { repoURL: OWN_URL, path: "apps/web", ...source }, ...more };
}

function application(name: string, of: ApplicationSpec, more: Partial<Application> = {}): Application {
  return sampleApplication(name, of, { project: "shops", ...more });
}

const RUNNING = [application("web", spec()), application("chart", spec({ repoURL: OTHER }))];

describe("what a definition reads that nothing defined here reads", () => {
  test.each<[string, ApplicationSpec, readonly string[]]>([
    ["this repository", spec(), []],
    ["another folder of it", spec({ path: "secrets" }), []],
    ["a repository that one of them reads", spec({ repoURL: OTHER, path: "other" }), []],
    ["another repository", spec({ repoURL: "https://x.test/y" }), ["https://x.test/y"]],
    ["another spelling of a known one", spec({ repoURL: OTHER.replace(/\.git$/, "") }), [OTHER.replace(/\.git$/, "")]],
    ["this repository in other letters", spec({ repoURL: OWN_URL.toUpperCase() }), [OWN_URL.toUpperCase()]],
    ["credentials of one's own", spec({ repoURL: OWN_URL.replace("://", "://u:p@") }), [OWN_URL]],
    ["another project", spec({}, { project: "open" }), ["the project open"]],
    ["the default project", spec({}, { project: "" }), ["the project default"]],
    [
      "a project and a repository of others",
      spec({ repoURL: OTHER }, { project: "open" }),
      ["the project open", OTHER],
    ],
    ["a file by its address", spec({ helm: { valueFiles: ["https://x.test/v"] } }), ["https://x.test/v"]],
    ["a plugin", spec({ plugin: { name: "vault" } }), ["what a plugin makes of other settings"]],
    [
      "one source of several",
      spec({}, { sources: [{ repoURL: OWN_URL }, { repoURL: "oci://x.test" }] }),
      ["oci://x.test"],
    ],
  ])("%s", (_, one, expected) => {
    expect(readsBeyondRunning(one, runningReads(RUNNING), CHANGE)).toEqual(expected);
  });

  test("the same plugin with the same settings is known", () => {
    const plugin = spec({ plugin: { name: "vault" } });
    expect(readsBeyondRunning(plugin, runningReads([application("vault", plugin)]), CHANGE)).toEqual([]);
  });
});

describe("the applications that this repository defines", () => {
  const values = {
    sources: [
      { repoURL: OTHER, path: "chart" },
      { repoURL: OWN_URL, ref: "values" },
    ],
  };
  const two = {
    sources: [
      { repoURL: OTHER, path: "chart" },
      { repoURL: OWN_URL, path: "more" },
    ],
  };

  test.each<[string, Application, boolean]>([
    ["rendered from it", application("a", spec()), true],
    ["rendered from elsewhere", application("a", spec({ repoURL: OTHER })), false],
    ["with values of it", application("a", { project: "shops", ...values }), false],
    ["rendered from it and from elsewhere", application("a", { project: "shops", ...two }), false],
    [
      "below a parent that is rendered from it",
      application("a", spec({ repoURL: OTHER }), { parent: applicationName("root") }),
      true,
    ],
    [
      "below a parent of others",
      application("a", spec({ repoURL: OTHER }), { parent: applicationName("theirs") }),
      false,
    ],
    [
      "below a parent that is not there",
      application("a", spec({ repoURL: OTHER }), { parent: applicationName("x") }),
      false,
    ],
    [
      "that names it",
      application("a", spec({ repoURL: OTHER }), { annotations: { "svc.dev/repository": CHANGE.repository } }),
      true,
    ],
  ])("%s", (_, one, expected) => {
    const around = [application("root", spec()), application("theirs", spec({ repoURL: OTHER }))];
    const found = definedHere([...around, one], CHANGE, sampleSettings());
    expect(found.includes(one)).toBe(expected);
  });
});
