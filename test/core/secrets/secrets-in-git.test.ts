import { describe, expect, test } from "@jest/globals";
import { stringify } from "yaml";
import type { ApplicationSpec } from "../../../src/core/model/application.js";
import { RepositoryFailure } from "../../../src/core/model/errors.js";
import type { LiveSubject, Side } from "../../../src/core/model/subject.js";
import { secretsInGit } from "../../../src/core/secrets/secrets-in-git.js";
import { CHANGE, type Files, memorySnapshot, MERGE_BASE, OWN_URL } from "../detect/memory-snapshot.js";
import { sampleApplication } from "../sample-application.js";

const SOURCE = { repoURL: OWN_URL, path: "web", targetRevision: "main" };
const DESTINATION = { server: "https://kubernetes.default.svc", namespace: "shop" };

interface Case {
  readonly spec?: ApplicationSpec;
  readonly before?: ApplicationSpec;
  /** What Argo CD found the source to be. */
  readonly type?: string;
}

function subject({ spec = { source: SOURCE }, before = spec, type = "Directory" }: Case): LiveSubject {
  const sideOf = (one: ApplicationSpec): Side => ({
    spec: { project: "default", destination: DESTINATION, ...one },
    positions: [1],
    fixed: [],
  });
  const status = { owningSet: undefined, comparedRevisions: [], deleting: false, cascades: false, parent: undefined };
  const application = sampleApplication("web", sideOf(spec).spec);
  return {
    kind: "live",
    name: application.name,
    sourceFile: "applications/web.yaml",
    live: { ...application, ...status, sourceTypes: [type] },
    head: sideOf(spec),
    base: sideOf(before),
    ownRecord: undefined,
    foreignRecords: [],
    autoSynced: false,
    hasChildren: false,
    notDriven: undefined,
    warnings: [],
  };
}

function inGit(base: Files, head: Files, of: Case = {}) {
  const change = { ...CHANGE, baseRevision: MERGE_BASE };
  return secretsInGit(subject(of), { change, snapshot: memorySnapshot(base, head) });
}

function secret(values: Readonly<Record<string, unknown>>, more: object = {}): string {
  return stringify({ apiVersion: "v1", kind: "Secret", metadata: { name: "db" }, stringData: values, ...more });
}

const OLD = secret({ password: "0ld" });
const NEW = secret({ password: "n3w" });
const CHANGED = { name: "shop/db", changed: ["password"] };

describe("what git tells about Secrets", () => {
  test("a changed manifest tells the keys, and no value", async () => {
    const found = await inGit(
      { "web/db.yaml": secret({ password: "0ld", user: "ana", gone: "g0ne" }) },
      {
        "web/db.yaml": stringify({
          apiVersion: "v1",
          kind: "Secret",
          metadata: { name: "db" },
          data: { user: btoa("ana"), password: btoa("n3w"), token: btoa("t0ken") },
        }),
      },
    );
    expect(found).toEqual({
      changed: [
        {
          name: "shop/db",
          base: ["password", "user", "gone"],
          head: ["user", "password", "token"],
          changed: ["password"],
          stays: ["gone"],
          files: ["web/db.yaml"],
        },
      ],
      files: ["web/db.yaml"],
    });
  });

  test.each<[string, Files, Files, object]>([
    ["one whose file is gone", { "web/db.yaml": OLD }, {}, { base: ["password"], head: undefined }],
    ["one whose file is new", {}, { "web/db.yaml": NEW }, { base: undefined, head: ["password"] }],
    [
      "one that moves",
      { "web/a.yaml": OLD },
      { "web/b.yaml": OLD },
      { changed: [], files: ["web/a.yaml", "web/b.yaml"] },
    ],
    [
      "one with a namespace",
      { "web/db.yaml": secret({ a: "1" }, { metadata: { name: "db", namespace: "other" } }) },
      {},
      { name: "other/db" },
    ],
    [
      "one of the core group, spelled with a slash",
      { "web/db.yaml": secret({ password: "0ld" }, { apiVersion: "/v1" }) },
      { "web/db.yaml": secret({ password: "n3w" }, { apiVersion: "/v1" }) },
      CHANGED,
    ],
  ])("%s", async (_, base, head, expected) => {
    expect((await inGit(base, head)).changed).toEqual([expect.objectContaining(expected)]);
  });

  test("files that are not part of the application, that did not change, or that hold none tell of none", async () => {
    const base = {
      "web/db.yaml": OLD,
      "other/db.yaml": OLD,
      "web/deep/db.yaml": OLD,
      "web/cm.yaml": "kind: ConfigMap",
    };
    const head = {
      ...base,
      "other/db.yaml": NEW,
      "web/deep/db.yaml": NEW,
      "web/cm.yaml": "{kind: ConfigMap, a: secret}",
    };
    expect((await inGit(base, head)).changed).toEqual([]);
    const spec = { source: { ...SOURCE, directory: { recurse: true } } };
    expect((await inGit(base, head, { spec })).changed).toMatchObject([{ ...CHANGED, files: ["web/deep/db.yaml"] }]);
  });

  test("a repository that cannot be read tells nothing", async () => {
    const snapshot = memorySnapshot({});
    const failing = { ...snapshot, changedPaths: () => Promise.reject(new RepositoryFailure("gone")) };
    const found = await secretsInGit(subject({}), {
      change: { ...CHANGE, baseRevision: MERGE_BASE },
      snapshot: failing,
    });
    expect(found).toEqual({ changed: undefined, files: [] });
  });
});

describe("git cannot tell whether a Secret changes", () => {
  const encoded = (data: unknown) => secret({}, { stringData: undefined, data });

  test.each<[string, Files, Case?]>([
    ["that Kustomize renders", { "web/kustomization.yaml": "resources: [db.yaml]" }, { type: "Kustomize" }],
    ["that Kustomize is to render from now on", { "web/kustomization.yaml": "resources: [db.yaml]" }],
    ["that Helm renders", { "web/Chart.yaml": "name: web" }, { type: "Helm" }],
    ["that Helm is to render from now on", { "web/Chart.yaml": "name: web" }],
    ["that a plugin renders", {}, { type: "Plugin" }],
    ["that a plugin is named for", {}, { spec: { source: { ...SOURCE, plugin: { name: "vault" } } } }],
    ["that Helm's options are given for", {}, { spec: { source: { ...SOURCE, helm: { releaseName: "a" } } } }],
    [
      "that Kustomize's options are given for",
      {},
      { spec: { source: { ...SOURCE, kustomize: { namePrefix: "a-" } } } },
    ],
    ["of an application with several sources", {}, { spec: { sources: [SOURCE, { ...SOURCE, path: "other" }] } }],
    ["of a source that moves", {}, { before: { source: { ...SOURCE, path: "other" } } }],
    ["of another destination", {}, { before: { source: SOURCE, destination: { ...DESTINATION, namespace: "old" } } }],
    ["that the hydrator renders", {}, { spec: { sourceHydrator: { drySource: SOURCE, syncSource: { path: "web" } } } }],
    ["whose type Argo CD has not found yet", {}, { type: "" }],
    ["beside Jsonnet", { "web/x.jsonnet": "{}" }],
    ["beside parameters for the source", { "web/.argocd-source.yaml": "helm: {}" }],
    ["beside a link", { "web/link.yaml": { kind: "symlink", target: "db.yaml" } }],
    ["beside a submodule", { "web/sub": { kind: "submodule" } }],
    ["where git filters files", { ".gitattributes": "*.yaml filter=git-crypt" }],
    ["where LFS has the file", { "web/db.yaml": "version https://git-lfs.github.com/spec/v1\noid sha256:1\n" }],
    [
      "in a list",
      { "web/db.yaml": stringify({ apiVersion: "v1", kind: "List", items: [JSON.parse('{"kind":"Secret"}')] }) },
    ],
    [
      "in an object of any kind with `items`, which Argo CD takes for a list",
      { "web/db.yaml": stringify({ apiVersion: "v1", kind: "ConfigMap", items: [JSON.parse('{"kind":"Secret"}')] }) },
    ],
    ["with more behind its end", { "web/db.yaml": `${NEW}...\n${NEW}` }],
    ["with a tag that makes it a number", { "web/db.yaml": NEW.replace("n3w", '!!int "1"') }],
    ["in a broken text", { "web/db.yaml": `${NEW}}` }],
    ["in a template", { "web/db.yaml": NEW.replace("n3w", "{{ secret }}") }],
    ["that stands there twice", { "web/db.yaml": `${NEW}---\n${NEW}` }],
    ["without a name", { "web/db.yaml": NEW.replace("name: db", "generateName: db") }],
    ["in another spelling", { "web/db.yaml": NEW.replace("kind: Secret", "kind: secret") }],
    ["with a value that is not a text", { "web/db.yaml": secret({ password: 1 }) }],
    ["with values that are not a map", { "web/db.yaml": encoded(["bjN3"]) }],
  ])("%s", async (_, more, of = {}) => {
    const base = { "web/db.yaml": OLD };
    const found = await inGit(base, { "web/db.yaml": NEW, ...more }, of);
    expect(found.changed).toBeUndefined();
    expect(JSON.stringify(found)).not.toMatch(/n3w|0ld/);
  });

  test("where git filtered files before the change", async () => {
    const filtered = { ".gitattributes": "*.yaml filter=git-crypt", "web/db.yaml": OLD };
    expect((await inGit(filtered, { "web/db.yaml": OLD, "web/cm.yaml": "kind: ConfigMap" })).changed).toBeUndefined();
  });

  test("and it names the first changed files that the application reads, its definition before all", async () => {
    const files = Object.fromEntries(["a", "b", "c", "d"].map((name) => [`web/${name}.yaml`, "a: 1"]));
    const before = { source: { ...SOURCE, directory: { recurse: true } } };
    const found = await inGit({ "other/a.yaml": "" }, files, { before });
    expect(found.files).toEqual(["applications/web.yaml", "web/a.yaml", "web/b.yaml", "web/c.yaml"]);
  });
});
