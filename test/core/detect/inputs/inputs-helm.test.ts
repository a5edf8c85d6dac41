import { describe, expect, test } from "@jest/globals";
import { checkoutFilesOf } from "../../../../src/core/detect/tree/repository-path.js";
import { applicationName } from "../../../../src/core/model/brand.js";
import { OWN_URL } from "../memory-snapshot.js";
import { application, inputs, single, touched, wholeReason } from "../read-inputs.js";

describe("Helm", () => {
  const values = (...valueFiles: string[]) =>
    application({
      source: { repoURL: OWN_URL, path: "charts/web", helm: { valueFiles } },
      destination: { namespace: "shop" },
    });

  test.each([
    ["values-prod.yaml", "charts/web/values-prod.yaml"],
    ["../../envs/prod.yaml", "envs/prod.yaml"],
    ["/global/defaults.yaml", "global/defaults.yaml"],
    ["../../../../top.yaml", "top.yaml"],
    ["../../envs/*.yaml", "envs/eu.yaml"],
    ["/envs/**/v.yaml", "envs/a/b/v.yaml"],
    ["/envs/$ARGOCD_APP_NAME.yaml", "envs/web.yaml"],
    ["/envs/${ARGOCD_APP_NAME}/v.yaml", "envs/web/v.yaml"],
    ["/envs/$ARGOCD_APP_NAMESPACE.yaml", "envs/shop.yaml"],
    ["/envs/$ARGOCD_APP_PROJECT_NAME/v.yaml", "envs/default/v.yaml"],
    ["/values/$ARGOCD_APP_SOURCE_PATH/v.yaml", "values/charts/web/v.yaml"],
    ["/envs/a$$b.yaml", "envs/a$b.yaml"],
    ["/envs/[ab]?.yaml", "envs/b1.yaml"],
  ])("value file %s is %s, also when it does not exist yet", async (file, path) => {
    expect(await touched({}, values(file), [path, "envs.yaml", "envs/other/deep/other.yml"])).toEqual([path]);
    expect(await wholeReason({}, values(file))).toBeUndefined();
  });

  test("of a value file with alternatives the directory above counts", async () => {
    const paths = ["envs/a/v.yaml", "envs/other", "other"];
    expect(await touched({}, values("/envs/{a,b}/v.yaml"), paths)).toEqual(paths.slice(0, 2));
  });

  // With these, Argo CD runs `helm template --values <folder>/envs/a.yaml,../b.yaml`, which read both (Helm 3.15, 3.18 and 4.2).
  test.each([
    ["../../envs/a.yaml,../b.yaml", ["envs/a.yaml", "charts/b.yaml"]],
    ["/envs/a.yaml,../../envs/b.yaml", ["envs/a.yaml", "envs/b.yaml"]],
    ["../../envs/x/a,b/../c.yaml", ["envs/x/c.yaml"]],
  ])("value files that commas separate, such as %s, are read each", async (file, paths) => {
    expect(await touched({}, values(file), [...paths, "envs/z.yaml", "z.yaml"])).toEqual(paths);
    expect(await wholeReason({}, values(file))).toBeUndefined();
  });

  test.each(['../../envs/a.yaml,"../b.yaml"', "../../envs/a.yaml,../b.yaml\nx"])(
    "of value files that commas separate, such as %j, quotes and lines are not told apart",
    async (file) => {
      expect(await wholeReason({}, values(file))).toContain("cannot be told before rendering");
    },
  );

  test("file parameters count like value files", async () => {
    const of = single("charts/web", { helm: { fileParameters: [{ name: "ca", path: "../../certs/ca.pem" }] } });
    expect(await touched({}, of, ["certs/ca.pem", "certs/other.pem"])).toEqual(["certs/ca.pem"]);
  });

  // `helm template --set-file a=../../certs/ca.pem,b=<folder>/b.pem` read both (Helm 3.15, 3.18 and 4.2).
  test.each(["a=../../certs/ca.pem,b", "a={../../certs/ca.pem},b", "a={x,..\\/../certs/ca.pem},b"])(
    "files that the name of a file parameter names are read, too: %s",
    async (name) => {
      const of = single("charts/web", { helm: { fileParameters: [{ name, path: "b.pem" }] } });
      expect(await touched({}, of, ["certs/ca.pem", "certs/other.pem"])).toEqual(["certs/ca.pem"]);
    },
  );

  test("the name stands for <namespace>_<name> outside Argo CD's namespace", async () => {
    const of = { ...values("/envs/$ARGOCD_APP_NAME.yaml"), name: applicationName("team-a/web") };
    expect(await touched({}, of, ["envs/team-a_web.yaml", "envs/web.yaml"])).toEqual(["envs/team-a_web.yaml"]);
  });

  test.each([["https://example.com/v.yaml"], ["HTTP://example.com/v.yaml"]])("%s is no input", async (file) => {
    expect(await inputs({}, values(file))).toMatchObject([
      { whole: undefined, paths: ["charts/web", ...checkoutFilesOf("charts/web")], patterns: [], remote: true },
    ]);
  });

  test.each([
    ["envs/$ARGOCD_APP_REVISION_SHORT.yaml"],
    ["envs/${ARGOCD_APP_SOURCE_TARGET_REVISION}.yaml"],
    ["envs/$ARGOCD_ENV_STAGE.yaml"],
    ["envs/$.yaml"],
    ["${STAGE}.yaml"],
    ["$unknown/v.yaml"],
    ["$ARGOCD_APP_NAMES/v.yaml"],
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

  test.each([
    ["$values/../envs/web.yaml", "envs/web.yaml"],
    ["$values/envs/*/web.yaml", "envs/eu/web.yaml"],
    ["$values/$ARGOCD_APP_NAME.yaml", "web.yaml"],
    ["$values", "any/file"],
  ])("%s reads %s from the root of the referenced source, whatever that one's path", async (file, path) => {
    const of = application({
      sources: [
        { repoURL: "https://charts.example.com", chart: "web", helm: { valueFiles: [file] } },
        { repoURL: OWN_URL, ref: "values", path: "apps/extra" },
      ],
    });
    expect(await touched({}, of, [path, "apps/extra/x"], [2])).toEqual([path, "apps/extra/x"]);
    if (file !== "$values") expect(await touched({}, of, ["apps/web.yaml"], [2])).toEqual([]);
  });
});
