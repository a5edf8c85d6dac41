import { describe, expect, test } from "@jest/globals";
import type { Application, LiveApplication } from "../../../src/core/application.js";
import { applicationName } from "../../../src/core/brand.js";
import { touchedPaths, touches } from "../../../src/core/detect/input-set.js";
import { inputsOf } from "../../../src/core/detect/inputs.js";
import type { JsonObject } from "../../../src/core/json.js";
import { HEAD, memorySnapshot, OWN_URL, type Files } from "./memory-snapshot.js";

function application(spec: JsonObject, more: Partial<Application> = {}): Application {
  return {
    name: applicationName("web"),
    resourceName: "web",
    namespace: undefined,
    project: "default",
    labels: {},
    annotations: {},
    spec,
    ...more,
  };
}
const single = (path: string, more: JsonObject = {}) => application({ source: { repoURL: OWN_URL, path, ...more } });

async function inputs(files: Files, of: Application, positions: readonly number[] = [1]) {
  return inputsOf(of, positions, memorySnapshot(files), HEAD);
}

/** Which of these paths are inputs. */
async function touched(files: Files, of: Application, paths: readonly string[], positions: readonly number[] = [1]) {
  return touchedPaths(await inputs(files, of, positions), paths);
}

async function wholeReason(files: Files, of: Application, positions: readonly number[] = [1]) {
  return (await inputs(files, of, positions)).find(({ whole }) => whole !== undefined)?.whole;
}

describe("the source's path", () => {
  test.each([
    ["apps/web", ["apps/web/cm.yaml", "apps/web/deep/x"], ["apps/webshop/cm.yaml", "apps", "README.md"]],
    ["./apps//web/", ["apps/web/cm.yaml"], ["apps/webshop/cm.yaml"]],
    ["apps/x/../web", ["apps/web/cm.yaml"], ["apps/x/cm.yaml"]],
    [".", ["README.md", "apps/web/cm.yaml"], []],
    ["", ["README.md"], []],
    ["/", ["README.md"], []],
  ])("%j", async (path, inside, outside) => {
    const files = { "apps/web/cm.yaml": "a: 1", "apps/webshop/cm.yaml": "a: 1" };
    const paths = [...inside, ...outside.filter((one) => one !== "apps")];
    expect(await touched(files, single(path), paths)).toEqual(inside);
  });

  test("a changed entry above it changes it: a submodule or link that holds it", async () => {
    expect(await touched({}, single("vendor/lib/app"), ["vendor/lib", "vendor/other", "vendor/lib/app"])).toEqual([
      "vendor/lib",
      "vendor/lib/app",
    ]);
  });

  test("no positions, no inputs; no changes, nothing touched", async () => {
    expect(await inputs({}, single("."), [])).toEqual([]);
    expect(touches(await inputs({}, single(".")), [])).toBe(false);
  });

  test("sources at other positions do not count", async () => {
    const of = application({
      sources: [
        { repoURL: OWN_URL, path: "a" },
        { repoURL: "https://x.example/y", path: "b" },
      ],
    });
    expect(await touched({}, of, ["a/x", "b/x"])).toEqual(["a/x"]);
  });

  test("a source that is only a reference reads nothing by itself", async () => {
    const of = application({
      sources: [
        { repoURL: OWN_URL, ref: "values" },
        { repoURL: OWN_URL, ref: "v2", path: "a" },
      ],
    });
    expect(await touched({}, of, ["a/x", "b/x"], [1, 2])).toEqual(["a/x"]);
  });
});

describe("Helm", () => {
  const values = (...valueFiles: string[]) => single("charts/web", { helm: { valueFiles } });

  test.each([
    ["values-prod.yaml", "charts/web/values-prod.yaml"],
    ["../../envs/prod.yaml", "envs/prod.yaml"],
    ["/global/defaults.yaml", "global/defaults.yaml"],
    ["../../../../top.yaml", "top.yaml"],
    ["../../envs/*.yaml", "envs/eu.yaml"],
    ["/envs/**/v.yaml", "envs/a/b/v.yaml"],
    ["/envs/$ARGOCD_APP_NAME.yaml", "envs/web.yaml"],
    ["/envs/${ARGOCD_APP_NAME}/v.yaml", "envs/web/v.yaml"],
  ])("value file %s is %s, also when it does not exist yet", async (file, path) => {
    expect(await touched({}, values(file), [path, "envs.yaml", "envs/other/deep/other.yml"])).toEqual([path]);
    expect(await wholeReason({}, values(file))).toBeUndefined();
  });

  test("of a value file with alternatives the directory above counts", async () => {
    const paths = ["envs/a/v.yaml", "envs/other", "other"];
    expect(await touched({}, values("/envs/{a,b}/v.yaml"), paths)).toEqual(paths.slice(0, 2));
  });

  test("file parameters count like value files", async () => {
    const of = single("charts/web", { helm: { fileParameters: [{ name: "ca", path: "../../certs/ca.pem" }] } });
    expect(await touched({}, of, ["certs/ca.pem", "certs/other.pem"])).toEqual(["certs/ca.pem"]);
  });

  test("the name stands for <namespace>_<name> outside Argo CD's namespace", async () => {
    const of = { ...values("/envs/$ARGOCD_APP_NAME.yaml"), name: applicationName("team-a/web") };
    expect(await touched({}, of, ["envs/team-a_web.yaml", "envs/web.yaml"])).toEqual(["envs/team-a_web.yaml"]);
  });

  test.each([["https://example.com/v.yaml"], ["HTTP://example.com/v.yaml"]])("%s is no input", async (file) => {
    expect(await inputs({}, values(file))).toMatchObject([{ whole: undefined, paths: ["charts/web"], patterns: [] }]);
  });

  test.each([
    ["$ARGOCD_APP_PROJECT_NAME/v.yaml"],
    ["envs/$ARGOCD_ENV_STAGE.yaml"],
    ["${STAGE}.yaml"],
    ["$unknown/v.yaml"],
    ["secrets://secrets.yaml"],
    ["{{ env }}.yaml"],
  ])("%s makes the whole repository an input", async (file) => {
    expect(await wholeReason({}, values(file))).toContain(file);
    expect(await touched({}, values(file), ["any/thing"])).toEqual(["any/thing"]);
  });

  const referenced = application({
    sources: [
      {
        repoURL: "https://charts.example.com",
        chart: "web",
        helm: { valueFiles: ["$values/envs/web.yaml", "$other/x.yaml", "in-chart.yaml"] },
      },
      { repoURL: OWN_URL, ref: "values" },
      { repoURL: "https://git.example.com/acme/other", ref: "other" },
    ],
  });

  test("$ref/… belongs to the source of that name", async () => {
    expect(await touched({}, referenced, ["envs/web.yaml", "x.yaml", "in-chart.yaml", "README.md"], [2])).toEqual([
      "envs/web.yaml",
    ]);
  });

  test("a change of a referenced file that is not ours to move does not count", async () => {
    expect(await touched({}, referenced, ["envs/web.yaml"], [])).toEqual([]);
  });

  const chart = (...repositories: string[]) =>
    `name: c\ndependencies:\n${repositories.map((one) => `- {name: d, repository: "${one}"}\n`).join("")}`;

  test("local dependencies of a chart, of its subcharts and of those in turn", async () => {
    const files = {
      "charts/web/Chart.yaml": chart("file://../lib", "https://charts.example.com"),
      "charts/web/charts/sub/Chart.yaml": chart("file://../../../sublib"),
      "charts/lib/Chart.yaml": chart("file://../deep", "file://../web"),
      "charts/deep/requirements.yaml": "dependencies: [{repository: file://../old}]",
      "charts/unused/Chart.yaml": "name: unused",
    };
    const paths = ["charts/lib/x", "charts/sublib/x", "charts/deep/x", "charts/old/x", "charts/unused/x"];
    expect(await touched(files, single("charts/web"), paths)).toEqual(paths.slice(0, 4));
  });

  test.each([
    ["name: {{ .Values.x }}-y\n", "cannot be read"],
    ["dependencies: text\n", "cannot be read"],
    ["- list\n", "cannot be read"],
    [{ kind: "binary" } as const, "cannot be read"],
  ])("a Chart.yaml like %j makes the whole repository an input", async (text, reason) => {
    expect(await wholeReason({ "charts/web/Chart.yaml": text }, single("charts/web"))).toContain(reason);
  });

  test.each(["", "name: c\ndependencies: null\n", "name: c\ndependencies: [null, {name: x}, 4]\n"])(
    "a Chart.yaml %j has no dependencies",
    async (text) => {
      expect(await wholeReason({ "charts/web/Chart.yaml": text }, single("charts/web"))).toBeUndefined();
    },
  );

  test("too many charts are the whole repository", async () => {
    const files = Object.fromEntries(
      Array.from({ length: 210 }, (_, index) => [`c/${index}/Chart.yaml`, chart(`file://../${index + 1}`)]),
    );
    expect(await wholeReason(files, single("c/0"))).toContain("more than 200 charts");
  });
});

describe("override files", () => {
  const overriding = (text: string) => ({
    "apps/web/.argocd-source-web.yaml": text,
    "apps/web/.argocd-source.yaml": "{}",
  });

  test("what they add to a source is read as well", async () => {
    const files = overriding("helm: {valueFiles: [../../envs/prod.yaml]}\nkustomize: {components: [../../comp]}");
    expect(await touched(files, single("apps/web"), ["envs/prod.yaml", "comp/x.yaml", "y"])).toEqual([
      "envs/prod.yaml",
      "comp/x.yaml",
    ]);
  });

  test("those of other applications are not", async () => {
    const files = { "apps/web/.argocd-source-shop.yaml": "helm: {valueFiles: [../../envs/prod.yaml]}" };
    expect(await touched(files, single("apps/web"), ["envs/prod.yaml"])).toEqual([]);
  });

  test("one that cannot be read makes the whole repository an input", async () => {
    expect(await wholeReason(overriding("helm: ["), single("apps/web"))).toBe(
      "apps/web/.argocd-source-web.yaml cannot be read",
    );
    expect(await wholeReason(overriding("plugin: {name: cue}"), single("apps/web"))).toContain("plugin");
  });
});

describe("what cannot be told is the whole repository", () => {
  test.each([
    ["a plugin", {}, single("apps/web", { plugin: { name: "cue" } }), "plugin"],
    ["Jsonnet", { "apps/web/main.jsonnet": "{}" }, single("apps/web"), "Jsonnet"],
    ["a Jsonnet library below", { "apps/web/lib/x.libsonnet": "{}" }, single("apps/web"), "Jsonnet"],
    ["a link inside", { "apps/web/link": { kind: "symlink" } as const }, single("apps/web"), "apps/web/link"],
    ["a link above", { apps: { kind: "symlink" } as const }, single("apps/web"), "apps"],
    [
      "a link among value files",
      { "envs/x.yaml": { kind: "symlink" } as const },
      single("c", { helm: { valueFiles: ["/envs/*"] } }),
      "envs/x.yaml",
    ],
  ])("%s", async (_, files, of, reason) => {
    expect(await wholeReason(files, of)).toContain(reason);
  });

  test("a plugin that Argo CD found by itself, as the live object tells", async () => {
    const rendered = (sourceType: string): LiveApplication => ({
      ...single("apps/web"),
      sourceTypes: [sourceType],
      owningSet: undefined,
      parent: undefined,
      comparedRevisions: [],
      deleting: false,
    });
    expect(await wholeReason({}, rendered("Plugin"))).toContain("plugin");
    expect(await wholeReason({}, rendered("Helm"))).toBeUndefined();
  });

  test.each([
    ["a link elsewhere", { "docs/link": { kind: "symlink" } as const }],
    ["Jsonnet beside a chart", { "apps/web/Chart.yaml": "name: c", "apps/web/files/d.jsonnet": "{}" }],
    ["a submodule inside", { "apps/web/sub": { kind: "submodule" } as const }],
  ])("but not for %s", async (_, files) => {
    expect(await wholeReason(files, single("apps/web"))).toBeUndefined();
    expect(await touched(files, single("apps/web"), ["apps/web/sub", "docs/link"])).toEqual(["apps/web/sub"]);
  });
});

test("entries of manifest-generate-paths widen what counts", async () => {
  const of = {
    ...single("apps/web"),
    annotations: { "argocd.argoproj.io/manifest-generate-paths": ".;../base; /lib/*.yaml ;;" },
  };
  const paths = ["apps/web/x", "apps/base/x", "lib/a.yaml", "lib/deep/a.yaml", "other"];
  expect(await touched({}, of, paths)).toEqual(paths.slice(0, 3));
});

test("both halves of a source hydrator count", async () => {
  const of = application({
    sourceHydrator: { drySource: { repoURL: OWN_URL, path: "dry" }, syncSource: { targetBranch: "e", path: "wet" } },
  });
  expect(await touched({}, of, ["dry/x", "wet/x", "x"])).toEqual(["dry/x", "wet/x"]);
});
