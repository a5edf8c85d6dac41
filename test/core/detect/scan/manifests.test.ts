import { afterEach, describe, expect, jest, test } from "@jest/globals";
import { createManifestScanner } from "../../../../src/core/detect/scan/manifests.js";
import { BusyMachine, inlineCompute, TRUSTED_SCAN } from "../../../in-memory/inline-compute.js";
import { HEAD, MERGE_BASE, memorySnapshot, nameOf, OWN_URL, type Files } from "../memory-snapshot.js";
import { stopTime } from "../passing-time.js";

function application(name: string, more = "", metadata = ""): string {
  return `apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  name: ${name}
${metadata}spec:
  source: {repoURL: ${OWN_URL}, path: apps/${name}, targetRevision: main}
  destination: {server: https://kubernetes.default.svc, namespace: ${name}}
${more}`;
}

async function scan(files: Files, crPaths: readonly string[] = []) {
  return createManifestScanner(inlineCompute).scan({
    ...TRUSTED_SCAN,
    snapshot: memorySnapshot(files),
    revision: HEAD,
    crPaths,
    nameOf,
  });
}

async function names(files: Files, crPaths: readonly string[] = []) {
  return (await scan(files, crPaths)).applications.map(({ application: { name }, file }) => `${name} in ${file}`);
}

describe("a scan of a revision", () => {
  test("finds resources in files of several documents, in lists and as JSON in YAML", async () => {
    const list = JSON.stringify({
      apiVersion: "v1",
      kind: "List",
      items: [{ apiVersion: "argoproj.io/v1alpha1", kind: "Application", metadata: { name: "listed" }, spec: {} }],
    });
    const files = {
      "a.yaml": `${application("one")}---\nkind: ConfigMap\n---\n${application("two")}`,
      "b/c.yml": list,
      "d.YAML": application("three"),
      "e.json": list.replace("listed", "four").replace("List", "ConfigMap"),
      "f.yaml.txt": application("no"),
    };
    expect(await names(files)).toEqual([
      "one in a.yaml",
      "two in a.yaml",
      "listed in b/c.yml",
      "three in d.YAML",
      "four in e.json",
    ]);
  });

  test("reads the whole resource", async () => {
    const metadata = '  namespace: team-a\n  labels: {env: prod, empty: null, bad: [1]}\n  annotations: {"x": 1}\n';
    const found = await scan({ "web.yaml": application("web", "  project: shop\nstatus: {sync: {}}\n", metadata) });
    expect(found.applications).toEqual([
      {
        file: "web.yaml",
        application: {
          name: "team-a/web",
          resourceName: "web",
          namespace: "team-a",
          project: "shop",
          labels: { env: "prod" },
          annotations: { x: "1" },
          spec: {
            project: "shop",
            source: { repoURL: OWN_URL, path: "apps/web", targetRevision: "main" },
            destination: { server: "https://kubernetes.default.svc", namespace: "web" },
          },
        },
        content: expect.any(String),
        problem: undefined,
      },
    ]);
  });

  test("a status is no part of the content, everything else is", async () => {
    const contentOf = async (text: string) => (await scan({ "web.yaml": text })).applications[0]?.content;
    const plain = await contentOf(application("web", "  project: shop\n"));
    expect(await contentOf(application("web", "  project: shop\nstatus: {sync: {}}\n"))).toBe(plain);
    expect(await contentOf(application("web", "  project: shop\noperation: {}\n"))).not.toBe(plain);
  });

  test("Argo CD's own namespace is no part of the name", async () => {
    const { applications } = await scan({ "web.yaml": application("web", "", "  namespace: argocd\n") });
    expect(applications[0]?.application).toMatchObject({ name: "web", namespace: undefined, project: "default" });
  });

  test("finds ApplicationSets whole", async () => {
    const text =
      "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: s, namespace: ns}\nspec: {generators: []}\n";
    const { applicationSets } = await scan({ "set.yaml": text });
    expect(applicationSets).toMatchObject([
      { file: "set.yaml", set: { name: "s", namespace: "ns", resource: { spec: { generators: [] } } } },
    ]);
  });

  test("is narrowed by patterns", async () => {
    const files = { "argo/web.yaml": application("web"), "charts/x.yaml": application("x") };
    expect(await names(files, ["argo/**"])).toEqual(["web in argo/web.yaml"]);
    expect(await names(files, ["other/**", "charts/*.yaml"])).toEqual(["x in charts/x.yaml"]);
  });

  test("a name spelled with escapes is found", async () => {
    const files = { "a.yaml": application("web").replace("argoproj.io/v1alpha1", '"argoproj\\u002eio/v1alpha1"') };
    expect(await names(files)).toEqual(["web in a.yaml"]);
  });

  test.each([
    ["a template", application("{{ .Values.name }}"), "it is a template", false],
    ["a template in quotes", application('"{{name}}"'), "it is a template", false],
    [
      "a repository in quotes",
      application("web").replace(OWN_URL, '"{{ .Values.url }}/{{name}}"'),
      "it is a template",
      false,
    ],
    ["broken YAML", `${application("web")}  broken: [\n`, "it is not valid YAML", true],
    [
      "no name",
      application("web").replace("name: web", "generateName: web-"),
      "it has an Application without a usable name",
      false,
    ],
    ["binary", { kind: "binary" } as const, "it is not a text, or it is larger than 1 MiB", true],
  ])("%s is told, and other files are read", async (_, broken, reason, mayHide) => {
    const { applications, unreadable } = await scan({ "broken.yaml": broken, "ok.yaml": application("ok") });
    expect([...unreadable]).toEqual([["broken.yaml", { reason, mayHide }]]);
    expect(applications.map(({ file }) => file)).toEqual(["ok.yaml"]);
  });

  test.each(["'https://evil.example/{{a}}.git'", "'{{a}}@evil.example:b.git'"])("%s is a repository", async (url) => {
    expect(await names({ "web.yaml": application("web").replace(OWN_URL, url) })).toEqual(["web in web.yaml"]);
  });

  test.each([
    ["what Helm fills in", '"{{ $.Values.ns }}"', []],
    ["a helper of Helm", "'{{ include \"web.ns\" . }}'", []],
    ["what Helm leaves for later", "'{{ \"{{ns}}\" }}'", []],
    ["other braces", '"{{ns}}"', ["web"]],
  ])("%s makes a resource of a chart a template, and no other", async (_, namespace, found) => {
    const web = application("web").replace("namespace: web", `namespace: ${namespace}`);
    const set = web.replace("kind: Application", "kind: ApplicationSet");
    const files = { "charts/root/templates/sub/web.yaml": `${web}---\n${set}---\n${application("plain")}` };
    const chart = await scan({ ...files, "charts/root/Chart.yaml": "name: root\n" });
    expect(chart.applications.map(({ application: { name } }) => name)).toEqual([...found, "plain"]);
    expect(chart.applicationSets.map(({ set: { name } }) => name)).toEqual(found);
    expect([...chart.unreadable.values()]).toEqual(
      found.length > 0 ? [] : [{ reason: "it is a template", mayHide: false }],
    );
    const folder = await scan(files);
    expect(folder.applications.map(({ application: { name } }) => name)).toEqual(["web", "plain"]);
    expect(folder.applicationSets.map(({ set: { name } }) => name)).toEqual(["web"]);
  });

  test("a file over 1 MiB is searched: one that cannot hold a resource is nothing to report", async () => {
    const filler = "a: some other text\n".repeat(70_000);
    const files = {
      "crds.yaml": `kind: CustomResourceDefinition\n${filler}`,
      "large.yaml": `${filler}---\n${application("web")}`,
      "escaped.yaml": `${filler}---\n${application("web").replace("kind: Application", 'kind: "\\x41pplication"')}`,
      "ok.yaml": application("ok"),
    };
    const { applications, unreadable } = await scan(files);
    const reason = "it is larger than 1 MiB and, by its words, may hold an Application";
    expect([...unreadable]).toEqual([
      ["escaped.yaml", { reason, mayHide: true }],
      ["large.yaml", { reason, mayHide: true }],
    ]);
    expect(applications.map(({ file }) => file)).toEqual(["ok.yaml"]);
  });

  test("a broken document leaves the others of its file", async () => {
    const { applications, unreadable } = await scan({ "a.yaml": `${application("{{ x }}")}---\n${application("ok")}` });
    expect(applications.map(({ application: { name } }) => name)).toEqual(["ok"]);
    expect(unreadable.get("a.yaml")?.reason).toBe("it is a template");
  });

  test.each([
    ["kind: Application\napiVersion: v1\nmetadata: {name: a}\n# argoproj.io/"],
    ["just argoproj.io/ Application text"],
    ["apiVersion: argoproj.io/v1alpha1\nkind: AppProject\nmetadata: {name: Application}\n"],
    ["- argoproj.io/v1alpha1 Application\n- null\n"],
  ])("%j holds no resource of ours", async (text) => {
    expect(await scan({ "a.yaml": text })).toEqual({ applications: [], applicationSets: [], unreadable: new Map() });
  });

  test("a patch of another file is found and marked", async () => {
    const patch = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web}\nspec: {project: prod}\n";
    const { applications } = await scan({ "overlay/web.yaml": patch });
    expect(applications[0]?.problem).toContain("no source");
  });

  test("links are followed to files of any name, and not out of the repository", async () => {
    const files: Files = {
      "a/link.yaml": { kind: "symlink", target: "../b/web.txt" },
      "a/loop.yaml": { kind: "symlink", target: "loop.yaml" },
      "a/nowhere.yaml": { kind: "symlink", target: "missing.txt" },
      "a/out.yaml": { kind: "symlink", target: "/etc/web.txt" },
      "b/web.txt": application("web"),
      "module.yaml": { kind: "submodule" },
    };
    expect(await names(files)).toEqual(["web in b/web.txt"]);
    expect(await names(files, ["b/**"])).toEqual([]);
    expect((await scan(files)).unreadable).toEqual(new Map());
  });

  test("a link that cannot be followed, or leads to what cannot be read, may hide a resource", async () => {
    const files: Files = {
      "link.yaml": { kind: "symlink" },
      "to-binary.yaml": { kind: "symlink", target: "file.bin" },
      "file.bin": { kind: "binary" },
    };
    const noText = { reason: "it is not a text, or it is larger than 1 MiB", mayHide: true };
    expect([...(await scan(files)).unreadable]).toEqual([
      ["file.bin", noText],
      ["link.yaml", { reason: "it is a link that cannot be followed", mayHide: true }],
      ["to-binary.yaml", noText],
    ]);
  });

  test("10,000 documents in a file and 3,000 files are read", async () => {
    const documents = `${"kind: ConfigMap\n---\n".repeat(9_999)}${application("last")}`;
    const many = Object.fromEntries(
      Array.from({ length: 3000 }, (_, index) => [`f${String(index).padStart(4, "0")}.yaml`, `a: ${index}`]),
    );
    expect(await names({ ...many, "z.yaml": documents })).toEqual(["last in z.yaml"]);
  });
});

describe("what a scanner remembers", () => {
  const files = { "a.yaml": application("a"), "b.yaml": application("b"), "c.yaml": "c: 1" };

  test("a file with the same content is not read again, at whatever commit and path", async () => {
    const scanner = createManifestScanner(inlineCompute);
    const snapshot = memorySnapshot(files, {
      "a.yaml": application("a"),
      "moved.yaml": application("b"),
      "new.yaml": "n: 1",
    });
    await scanner.scan({ ...TRUSTED_SCAN, snapshot, revision: MERGE_BASE, crPaths: [], nameOf });
    snapshot.reads.length = 0;
    const { applications } = await scanner.scan({ ...TRUSTED_SCAN, snapshot, revision: HEAD, crPaths: [], nameOf });
    expect(snapshot.reads).toEqual(["new.yaml"]);
    expect(applications.map(({ file }) => file)).toEqual(["a.yaml", "moved.yaml"]);
  });

  test("beyond its limit it forgets what was used least recently, and stays right", async () => {
    const scanner = createManifestScanner(inlineCompute, 700);
    const snapshot = memorySnapshot(files);
    const request = { ...TRUSTED_SCAN, snapshot, revision: HEAD, crPaths: [], nameOf };
    const first = await scanner.scan(request);
    snapshot.reads.length = 0;
    expect(await scanner.scan(request)).toEqual(first);
    expect(snapshot.reads.length).toBeGreaterThan(0);
    expect(snapshot.reads.length).toBeLessThan(3);
  });

  test("a file that could not be read is tried again", async () => {
    const scanner = createManifestScanner(inlineCompute);
    const snapshot = memorySnapshot({ "a.yaml": { kind: "binary" } });
    const request = { ...TRUSTED_SCAN, snapshot, revision: HEAD, crPaths: [], nameOf };
    await scanner.scan(request);
    await scanner.scan(request);
    expect(snapshot.reads).toEqual(["a.yaml", "large a.yaml", "a.yaml", "large a.yaml"]);
  });
});

describe("a file that took too long", () => {
  afterEach(() => {
    jest.useRealTimers();
    jest.restoreAllMocks();
  });

  /** Scans one commit on a busy machine. Its list is the same each time, as of a commit that the mirror knows. */
  async function busyScanner() {
    const machine = new BusyMachine();
    const pass = stopTime();
    const scanner = createManifestScanner(machine);
    const memory = memorySnapshot({ "a.yaml": application("a", "# a comment\n".repeat(300)) });
    const entries = await memory.list(HEAD);
    const snapshot = { ...memory, list: async () => entries };
    const unread = async (trusted = true) => {
      const request = { ...TRUSTED_SCAN, trusted, snapshot, revision: HEAD, crPaths: [], nameOf };
      return [...(await scanner.scan(request)).unreadable.keys()];
    };
    return { machine, pass, unread };
  }

  test("is tried again after ten minutes and not before, however often its commit was scanned", async () => {
    const { machine, pass, unread } = await busyScanner();
    for (let scans = 0; scans < 3; scans += 1) expect(await unread()).toEqual(["a.yaml"]);
    machine.busy = false;
    pass(9);
    expect(await unread()).toEqual(["a.yaml"]);
    expect(machine.tasks).toBe(1);
    pass(2);
    expect(await unread()).toEqual([]);
    expect(await unread()).toEqual([]);
    expect(machine.tasks).toBe(2);
  });

  test("is tried within the limits of trusted readers, however often others scanned its commit", async () => {
    const { machine, unread } = await busyScanner();
    for (let scans = 0; scans < 3; scans += 1) expect(await unread(false)).toEqual(["a.yaml"]);
    expect(machine.tasks).toBe(1);
    expect(await unread(true)).toEqual(["a.yaml"]);
    expect(machine.tasks).toBe(2);
    machine.busy = false;
    expect(await unread(false)).toEqual(["a.yaml"]);
    expect(machine.tasks).toBe(2);
  });
});
