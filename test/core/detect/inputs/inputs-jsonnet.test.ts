import { describe, expect, test } from "@jest/globals";
import { type Files, OWN_URL } from "../memory-snapshot.js";
import { application, single, touched, wholeReason } from "../read-inputs.js";

const withLibraries = (...libs: string[]) => single("apps/web", { directory: { jsonnet: { libs } } });

describe("Jsonnet", () => {
  test.each([
    [application({ sources: [{ repoURL: OWN_URL, path: "apps/web", directory: {} }] }), ["lib/a.libsonnet"]],
    [single("apps/web", { directory: {} }), []],
  ])("counts beside a kustomization where %j makes it a directory to Argo CD", async (of, read) => {
    const files: Files = { "apps/web/kustomization.yaml": "", "apps/web/x.jsonnet": "import '../../lib/a.libsonnet'" };
    expect(await touched(files, of, ["lib/a.libsonnet"])).toEqual(read);
  });

  test.each<[string, Files, string, string]>([
    ["beside the file", { "apps/web/main.jsonnet": "import '../lib/a.libsonnet'" }, "apps/lib/a.libsonnet", "apps/a"],
    ["as text", { "apps/web/main.jsonnet": "importstr '../../certs/ca.pem'" }, "certs/ca.pem", "certs/b.pem"],
    ["as bytes", { "apps/web/main.jsonnet": 'importbin "../../logo.png"' }, "logo.png", "logo2.png"],
    ["a JSON file", { "apps/web/main.jsonnet": "(import '../../data.json').a" }, "data.json", "data.yaml"],
    ["a YAML text", { "apps/web/main.jsonnet": "std.parseYaml(importstr '../v.yaml')" }, "apps/v.yaml", "v.yaml"],
    [
      "from a file below",
      { "apps/web/sub/x.jsonnet": "import '../../lib/a.libsonnet'" },
      "apps/lib/a.libsonnet",
      "lib/a",
    ],
    ["not there yet", { "apps/web/main.jsonnet": "import '../later.libsonnet'" }, "apps/later.libsonnet", "later"],
    [
      "through another import",
      { "apps/web/main.jsonnet": "import '../lib/a.libsonnet'", "apps/lib/a.libsonnet": "import '../../deep/b'" },
      "deep/b",
      "deep/c",
    ],
    [
      "through a file that is called JSON, which Jsonnet evaluates as well",
      { "apps/web/main.jsonnet": "import '../a.json'", "apps/a.json": "{ a: import '../deep/b.libsonnet' }" },
      "deep/b.libsonnet",
      "deep/c",
    ],
    [
      "relative to a link's own place",
      {
        "apps/web/main.jsonnet": { kind: "symlink", target: "../../common/m.jsonnet" },
        "common/m.jsonnet": "import '../x'",
      },
      "apps/x",
      "y",
    ],
    [
      "relative to where a link leads",
      {
        "apps/web/main.jsonnet": { kind: "symlink", target: "../../common/deep/m.jsonnet" },
        "common/deep/m.jsonnet": "import '../x'",
      },
      "common/x",
      "y",
    ],
  ])("an import %s", async (_, files, inside, outside) => {
    expect(await touched(files, single("apps/web"), [inside, outside])).toEqual([inside]);
    expect(await wholeReason(files, single("apps/web"))).toBeUndefined();
  });

  test.each([
    ["vendor", "vendor/k.libsonnet", "lib/k.libsonnet"],
    ["/vendor/", "vendor/deep/k.json", "vendors/k.json"],
    ["./lib/../vendor", "vendor/k.jsonnet", "lib/k"],
    ["../../vendor", "vendor/k.jsonnet", "lib/k"],
  ])("all of the library root %s counts", async (library, inside, outside) => {
    const files = { "apps/web/main.jsonnet": "import 'k.libsonnet'" };
    expect(await touched(files, withLibraries(library), [inside, outside])).toEqual([inside]);
  });

  // Argo CD puts the variables into the arguments, but not into files (`makeJsonnetVm`).
  test.each([
    ["import '../envs/$ARGOCD_APP_NAME.libsonnet'", "apps/envs/web.libsonnet"],
    ["(import '../envs/${ARGOCD_APP_NAME}.libsonnet') + { a: $.b }", "apps/envs/web.libsonnet"],
  ])("variables in the argument %s are known", async (value, path) => {
    const options = { directory: { jsonnet: { tlas: [{ name: "a", code: true, value }] } } };
    const files = { "apps/web/main.jsonnet": "function(a) a" };
    expect(await touched(files, single("apps/web", options), [path, "apps/envs/shop.libsonnet"])).toEqual([path]);
    expect(await wholeReason(files, single("apps/web", options))).toBeUndefined();
  });

  // As Go's `os.Expand` does, which Argo CD calls, with broken ones too.
  test.each(["im${NONE}port '../a'", "im$0port '../a'", "import $NONE '../a'", "im${}port '../a'", "im${port '../a'"])(
    "unknown variables in the argument %s are left out",
    async (value) => {
      const options = { directory: { jsonnet: { tlas: [{ name: "a", code: true, value }] } } };
      const files = { "apps/web/main.jsonnet": "function(a) a" };
      expect(await touched(files, single("apps/web", options), ["apps/a", "apps/b"])).toEqual(["apps/a"]);
    },
  );

  test("an import that only a render can tell makes the whole repository an input", async () => {
    const value = "import '../envs/$KUBE_VERSION.libsonnet'";
    const options = { directory: { jsonnet: { extVars: [{ name: "a", code: true, value }] } } };
    const files = { "apps/web/main.jsonnet": "std.extVar('a')" };
    expect(await wholeReason(files, single("apps/web", options))).toBe(
      "an import in its Jsonnet arguments cannot be read",
    );
  });

  test("an import that leaves a library root counts from there", async () => {
    const files = { "apps/web/main.jsonnet": "import '../other/k.libsonnet'" };
    expect(await touched(files, withLibraries("jsonnet/vendor"), ["jsonnet/other/k.libsonnet"])).toHaveLength(1);
  });

  test("a library is followed as well", async () => {
    const files = {
      "apps/web/main.jsonnet": "import 'k.libsonnet'",
      "vendor/k.libsonnet": "import '../up/u.libsonnet'",
    };
    expect(await touched(files, withLibraries("vendor"), ["up/u.libsonnet", "up/v"])).toEqual(["up/u.libsonnet"]);
  });

  test("imports in a circle end", async () => {
    const files = { "apps/web/a.jsonnet": "import '../b.libsonnet'", "apps/b.libsonnet": "import 'web/a.jsonnet'" };
    expect(await touched(files, single("apps/web"), ["apps/b.libsonnet", "apps/c"])).toEqual(["apps/b.libsonnet"]);
  });

  test.each([
    ["tlas", "import '../../top.libsonnet'", "top.libsonnet"],
    ["extVars", "importstr '../cert.pem'", "apps/cert.pem"],
  ])("an import in %s that are code counts", async (member, value, path) => {
    const files = { "apps/web/main.jsonnet": "function(a) a", "top.libsonnet": "import 'second.libsonnet'" };
    const of = (code: boolean) =>
      single("apps/web", { directory: { jsonnet: { [member]: [{ name: "a", value, code }] } } });
    expect(await touched(files, of(true), [path, "third.libsonnet"])).toEqual([path]);
    expect(await touched(files, of(false), [path])).toEqual([]);
  });

  test("what a library root's importer names is looked for beside it as well", async () => {
    const files = { "apps/web/m.jsonnet": "import 'k'", "vendor/a/k": "import './l'" };
    expect(await touched(files, withLibraries("vendor/a"), ["vendor/a/l", "vendor/l"])).toEqual(["vendor/a/l"]);
  });

  test("words of a JSON file that look like imports change nothing", async () => {
    const json = JSON.stringify({
      type: "import",
      import: "of goods",
      text: "how to import 'x' and import \"y\"",
      more: "rows of 'import' by\nday, 'import' #",
    });
    const files = { "apps/web/main.jsonnet": "import '../a.json'", "apps/a.json": json };
    expect(await wholeReason(files, single("apps/web"))).toBeUndefined();
    expect(await touched(files, single("apps/web"), ["apps/a.json", "apps/b.json"])).toEqual(["apps/a.json"]);
  });

  const chain = Object.fromEntries(
    Array.from({ length: 30 }, (_, index) => [`lib/${index}.libsonnet`, `import './${index + 1}.libsonnet'`]),
  );
  const many = Array.from({ length: 2001 }, (_, index) => [`apps/web/${index}.jsonnet`, "{}"] as const);

  test.each<[string, Files, string]>([
    ["a file that is no text", { "apps/web/main.jsonnet": { kind: "binary" } }, "apps/web/main.jsonnet cannot be read"],
    [
      "a library that is no text",
      { "apps/web/main.jsonnet": "import '../l.libsonnet'", "apps/l.libsonnet": { kind: "binary" } },
      "apps/l.libsonnet cannot be read",
    ],
    ["escapes", { "apps/web/main.jsonnet": 'import "\\u002e./x"' }, "an import in the Jsonnet file"],
    [
      "a comment before the path",
      { "apps/web/main.jsonnet": "import /* x */ '../x'" },
      "an import in the Jsonnet file",
    ],
    ["too deep", { ...chain, "apps/web/main.jsonnet": "import '../../lib/0.libsonnet'" }, "20 deep"],
    ["too many", Object.fromEntries(many), "more than 2000 Jsonnet files"],
    [
      "a link that cannot be read",
      { "apps/web/main.jsonnet": { kind: "symlink" } },
      "the Jsonnet file apps/web/main.jsonnet cannot be read",
    ],
  ])("%s: the whole repository", async (_, files, reason) => {
    expect(await wholeReason(files, single("apps/web"))).toContain(reason);
  });

  test("thousands of imports from thousands of libraries take no time and no memory", async () => {
    const libs = Array.from({ length: 3000 }, (_, at) => `lib/${at}`);
    const imports = Array.from({ length: 3000 }, (_, at) => `importstr 'x${at}'`).join(" + ");
    const before = process.cpuUsage();
    expect(await wholeReason({ "apps/web/main.jsonnet": imports }, withLibraries(...libs))).toContain(
      "import more than svc looks up",
    );
    expect(process.cpuUsage(before).user / 1e6).toBeLessThan(3); // seconds of our own, however busy the machine is
  });

  test("a large file that stands at many places is not read at all of them: the whole repository", async () => {
    const large = JSON.stringify("x".repeat(1_000_000));
    const many = Array.from({ length: 40 }, (_, at) => `x${at}.json`);
    const files = Object.fromEntries(many.map((name) => [`apps/web/${name}`, large]));
    const code = many.map((name) => `(import '${name}')`).join(" + ");
    expect(await wholeReason({ ...files, "apps/web/main.jsonnet": code }, single("apps/web"))).toContain("larger than");
  });

  test.each<[string, Files]>([
    ["an absolute import", { "apps/web/main.jsonnet": "import '/etc/passwd'" }],
    ["beside a chart", { "apps/web/Chart.yaml": "name: c", "apps/web/files/d.jsonnet": "import '../../x'" }],
    ["beside a kustomization", { "apps/web/Kustomization": "kind: x", "apps/web/d.jsonnet": "import '../x'" }],
    ["no Jsonnet at all", { "apps/web/cm.yaml": "text: import '../x'" }],
  ])("%s brings in nothing", async (_, files) => {
    expect(await wholeReason(files, single("apps/web"))).toBeUndefined();
    expect(await touched(files, single("apps/web"), ["apps/x", "x", "etc/passwd"])).toEqual([]);
  });

  test("a directory block makes a chart's directory plain", async () => {
    const files = { "apps/web/Chart.yaml": "name: c", "apps/web/m.jsonnet": "import '../x'" };
    expect(await touched(files, withLibraries("vendor"), ["apps/x", "vendor/x"])).toEqual(["apps/x", "vendor/x"]);
  });
});
