import { setImmediate } from "node:timers/promises";
import { describe, expect, test } from "@jest/globals";
import { detect, scanSides } from "../../../../src/core/detect/scan/affected.js";
import { createManifestScanner } from "../../../../src/core/detect/scan/manifests.js";
import type { Application } from "../../../../src/core/model/application.js";
import type { ChangeRequest } from "../../../../src/core/model/change-request.js";
import { RepositoryFailure } from "../../../../src/core/model/errors.js";
import type { JsonObject } from "../../../../src/core/model/json.js";
import type { Settings } from "../../../../src/core/model/settings.js";
import type { Snapshot } from "../../../../src/core/ports/snapshot.js";
import { inlineCompute, TRUSTED_SCAN } from "../../../in-memory/inline-compute.js";
import { sampleApplication } from "../../sample-application.js";
import { CHANGE, type Files, memorySnapshot, nameOf, OWN_URL } from "../memory-snapshot.js";

const DESTINATION = { server: "https://kubernetes.default.svc", namespace: "shop" };
const SSH_URL = "ssh://git@git.example.com:22/acme/deploy.git";

function spec(path: string, more: JsonObject = {}): JsonObject {
  return { source: { repoURL: OWN_URL, path, targetRevision: "main", ...more }, destination: DESTINATION };
}

function resource(name: string, of: JsonObject, metadata: JsonObject = {}): string {
  return JSON.stringify({
    apiVersion: "argoproj.io/v1alpha1",
    kind: "Application",
    metadata: { name, ...metadata },
    spec: of,
  });
}

function live(name: string, of: JsonObject, more: Partial<Application> = {}): Application {
  return sampleApplication(name, of, more);
}

interface Situation {
  readonly base: Files;
  readonly head: Files;
  /** The target branch by now. */
  readonly tip?: Files;
  /** The history of the branch; one commit by default. */
  readonly commitsBetween?: Snapshot["commitsBetween"];
  readonly live?: readonly Application[];
  readonly settings?: Partial<Settings>;
  readonly change?: Partial<ChangeRequest>;
}

const SETTINGS: Settings = {
  autoplan: true,
  skipNoChanges: false,
  autoMerge: false,
  mergeMethod: "squash",
  updateBranch: "command",
  deleteSourceBranch: false,
  protectedBranches: [],
  prune: false,
  approvalFromCommitters: false,
  planDrafts: false,
  allowForks: false,
  commandAccess: "write",
  applications: [],
  crPaths: [],
  namesNeedHost: false,
  applicationRepositories: [],
  projectRepositories: [],
  sensitiveKinds: [],
  stages: [],
  requirementsFor: () => ({ requireApproval: false, requireUpToDate: false }),
  accessTo: () => [],
  including: () => Promise.reject(new Error("detection asks for no rules")),
  needsAdministrator: false,
  rulesChange: undefined,
  notes: [],
};

async function detection(situation: Situation) {
  const { base, head, tip, live: running = [], settings = {}, change = {}, commitsBetween } = situation;
  const order = {
    change: { ...CHANGE, ...change },
    settings: { ...SETTINGS, ...settings },
    snapshot: memorySnapshot(base, head, {}, tip, commitsBetween),
    nameOf,
    scanner: createManifestScanner(inlineCompute),
    signal: TRUSTED_SCAN.signal,
  };
  return detect({ ...order, sides: await scanSides(order), live: running, liveSets: [] });
}

/** `<name> <kind>` of what is affected. */
async function affected(situation: Situation): Promise<readonly string[]> {
  const { applications } = await detection(situation);
  return applications.map(({ name, kind }) => `${name} ${kind}`);
}

describe("the Application resource, merge base against head", () => {
  const web = resource("web", spec("apps/web"));

  test("is new at the head only", async () => {
    const { applications } = await detection({ base: {}, head: { "argo/web.yaml": web } });
    expect(applications).toMatchObject([
      {
        name: "web",
        kind: "new",
        sourceFile: "argo/web.yaml",
        base: undefined,
        specChanged: true,
        head: { spec: spec("apps/web") },
      },
    ]);
    expect(applications[0]?.reasons).toEqual(["its Application resource is added in argo/web.yaml"]);
  });

  test("is deleted at the merge base only", async () => {
    const { applications } = await detection({
      base: { "argo/web.yaml": web },
      head: {},
      live: [live("web", spec("apps/web"))],
    });
    expect(applications).toMatchObject([
      {
        name: "web",
        kind: "deleted",
        sourceFile: "argo/web.yaml",
        head: undefined,
        problem: undefined,
        live: { name: "web" },
      },
    ]);
  });

  test("is modified by another spec", async () => {
    const head = resource("web", spec("apps/web", { helm: { releaseName: "x" } }));
    const { applications } = await detection({ base: { "a.yaml": web }, head: { "b.yaml": head } });
    expect(applications).toMatchObject([
      { kind: "modified", sourceFile: "b.yaml", specChanged: true, problem: undefined },
    ]);
    expect(applications[0]?.base?.spec).toEqual(spec("apps/web"));
  });

  test("is modified, with the same spec, by labels and annotations", async () => {
    const head = resource("web", spec("apps/web"), { labels: { team: "a" } });
    const { applications } = await detection({ base: { "a.yaml": web }, head: { "a.yaml": head } });
    expect(applications).toMatchObject([{ kind: "modified", specChanged: false }]);
  });

  test.each<[string, Files]>([
    ["the format alone", { "a.yaml": `# a comment\n${JSON.stringify(JSON.parse(web), undefined, 2)}\n` }],
    ["its status alone", { "a.yaml": JSON.stringify({ ...(JSON.parse(web) as object), status: { sync: {} } }) }],
    ["its file", { "moved/b.yml": web }],
    ["the number of equal copies", { "a.yaml": `${web}\n---\n${web}` }],
  ])("is not modified by %s", async (_, head) => {
    expect(await affected({ base: { "a.yaml": web }, head })).toEqual([]);
  });

  test.each<[string, Files[string], string]>([
    [
      "a template",
      "kind: Application\napiVersion: argoproj.io/v1alpha1\nmetadata: {name: {{ x }}-y}",
      "it is a template",
    ],
    ["broken YAML", "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: [", "it is not valid YAML"],
    ["no text", { kind: "binary" }, "it is not a text"],
  ])("counts as modified when its file becomes %s, and cannot be evaluated", async (_, head, reason) => {
    const { applications } = await detection({ base: { "a.yaml": web }, head: { "a.yaml": head } });
    expect(applications).toMatchObject([{ name: "web", kind: "modified", specChanged: true, head: undefined }]);
    expect(applications[0]?.problem).toContain(`a.yaml cannot be read: ${reason}`);
  });

  test("counts as modified when its file could not be read at the merge base", async () => {
    const { applications } = await detection({ base: { "a.yaml": { kind: "binary" } }, head: { "a.yaml": web } });
    expect(applications).toMatchObject([
      { kind: "modified", base: undefined, problem: undefined, head: { name: "web" } },
    ]);
  });

  test("that says too little, as a patch does, cannot be evaluated", async () => {
    const patch = (project: string) => resource("web", { project });
    const { applications } = await detection({ base: { "a.yaml": patch("a") }, head: { "a.yaml": patch("b") } });
    expect(applications).toMatchObject([
      { kind: "modified", head: undefined, problem: expect.stringContaining("not complete") },
    ]);
  });

  test("that is defined twice and differently cannot be evaluated, and a note names the files", async () => {
    const base = { "base/a.yaml": web, "prod/a.yaml": resource("web", { project: "a" }) };
    const head = { "base/a.yaml": web, "prod/a.yaml": resource("web", { project: "b" }) };
    const { applications, notes } = await detection({ base, head });
    expect(applications).toMatchObject([
      {
        kind: "modified",
        sourceFile: "prod/a.yaml",
        head: undefined,
        problem: expect.stringContaining("more than once"),
      },
    ]);
    expect(notes).toEqual(["web is defined more than once: base/a.yaml, prod/a.yaml."]);
    expect(await affected({ base, head: { ...base, "readme.md": "x" } })).toEqual([]);
  });

  test("in another namespace is another application", async () => {
    const head = { "a.yaml": `${web}\n---\n${resource("web", spec("apps/web"), { namespace: "team-a" })}` };
    expect(await affected({ base: { "a.yaml": web }, head })).toEqual(["team-a/web new"]);
    const own = { "a.yaml": resource("web", spec("apps/web"), { namespace: "argocd" }) };
    expect(await affected({ base: { "a.yaml": web }, head: own })).toEqual(["web modified"]);
  });

  test("is not seen outside of cr_paths", async () => {
    const settings = { crPaths: ["argo/**"] };
    expect(
      await affected({ base: {}, head: { "charts/a.yaml": web, "argo/b.yaml": resource("b", spec("b")) }, settings }),
    ).toEqual(["b new"]);
  });
});

describe("what an application reads", () => {
  const base = { "argo/web.yaml": resource("web", spec("apps/web")), "apps/web/cm.yaml": "a: 1", "docs/x.md": "1" };

  test.each<[string, Files, readonly string[]]>([
    ["a changed file below its path", { ...base, "apps/web/cm.yaml": "a: 2" }, ["web existing"]],
    ["an added file below its path", { ...base, "apps/web/new.yaml": "a: 2" }, ["web existing"]],
    ["a removed file below its path", { "argo/web.yaml": base["argo/web.yaml"], "docs/x.md": "1" }, ["web existing"]],
    [
      "a file that moves out of its path",
      { ...base, "apps/web/cm.yaml": { kind: "symlink" }, "docs/cm.yaml": "a: 1" },
      ["web existing"],
    ],
    ["something else", { ...base, "docs/x.md": "2", "apps/webshop/x": "1" }, []],
    ["nothing", base, []],
  ])("%s", async (_, head, expected) => {
    expect(await affected({ base, head })).toEqual(expected);
  });

  test("the reasons name a file", async () => {
    const { applications } = await detection({ base, head: { ...base, "apps/web/a": "1", "apps/web/b": "1" } });
    expect(applications[0]).toMatchObject({
      kind: "existing",
      specChanged: false,
      reasons: ["it reads apps/web/a and 1 more of the changed files"],
      head: { name: "web" },
      base: { name: "web" },
    });
  });

  test("is looked up in the head's tree and in the merge base's", async () => {
    const kustomized = (text: string): Files => ({
      ...base,
      "apps/web/kustomization.yaml": text,
      "lib/x/cm.yaml": "a: 1",
    });
    const before = kustomized("resources: [../../lib/x/cm.yaml]");
    const after = { ...kustomized("resources: []"), "lib/x/cm.yaml": "a: 2" };
    expect(await affected({ base: before, head: after })).toEqual(["web existing"]);
    expect(await affected({ base: after, head: before })).toEqual(["web existing"]);
  });

  test("is looked up at the tip of the target branch as well, which may have come to read what changes", async () => {
    const at = (text: string, shared: string): Files => ({
      ...base,
      "apps/web/kustomization.yaml": text,
      "lib/x/cm.yaml": shared,
    });
    const [before, after] = ["resources: [cm.yaml]", "resources: [cm.yaml, ../../lib/x/cm.yaml]"];
    const head = at(before, "a: 2");
    expect(await affected({ base: at(before, "a: 1"), head })).toEqual([]);
    expect(await affected({ base: at(before, "a: 1"), head, tip: at(after, "a: 1") })).toEqual(["web existing"]);
  });

  test.each<[string | undefined, readonly string[]]>([
    ["/etc/passwd", ["web existing"]],
    ["../../x", ["web existing"]],
    ["../x", []],
    ["none", []],
    ["link", []],
    ["deep/../../..", ["web existing"]],
    [undefined, []],
  ])(
    "is nothing at all where the head adds a link to %s, if that leads out of the repository",
    async (target, found) => {
      const link = { kind: "symlink", ...(target === undefined ? {} : { target }) } as const;
      const tagged = live("tagged", spec("apps/web", { targetRevision: "v1" }));
      const before: Files = { ...base, "docs/deep": { kind: "symlink", target: "a/b/c" } };
      const after = { ...before, "docs/link": link };
      expect(await affected({ base: before, head: after, live: [tagged] })).toEqual(found);
      expect(await affected({ base: after, head: before, live: [tagged] })).toEqual([]);
    },
  );

  test("may be anything for a plugin", async () => {
    const cue = live("cue", spec("apps/cue", { plugin: { name: "cue" } }));
    const { applications } = await detection({ base: {}, head: { "docs/x.md": "1" }, live: [cue] });
    expect(applications).toMatchObject([{ name: "cue", reasons: [expect.stringContaining("plugin")] }]);
  });
});

describe("applications that only Argo CD knows", () => {
  const head = { "apps/web/cm.yaml": "a: 1" };

  test.each<[string, JsonObject, readonly string[]]>([
    ["its resource is in another repository, SSH form", spec("apps/web", { repoURL: SSH_URL }), ["web existing"]],
    [
      "another repository of the same name on another host",
      spec("apps/web", { repoURL: "https://other.example/acme/deploy" }),
      [],
    ],
    ["another path", spec("apps/other"), []],
    ["without a target revision", spec("apps/web", { targetRevision: "" }), ["web existing"]],
    ["without a source", {}, []],
  ])("%s", async (_, of, expected) => {
    expect(await affected({ base: {}, head, live: [live("web", of)] })).toEqual(expected);
  });

  test("the live definition counts beside the one in the repository", async () => {
    const base = { "a.yaml": resource("web", spec("elsewhere")) };
    expect(await affected({ base, head: { ...base, ...head }, live: [live("web", spec("apps/web"))] })).toEqual([
      "web existing",
    ]);
    expect(
      await affected({ base, head: { ...base, "elsewhere/x": "1" }, live: [live("web", spec("apps/web"))] }),
    ).toEqual(["web existing"]);
  });

  test("our own temporary Applications are none, but only if marked and named as such", async () => {
    const labels = { "svc.dev/temporary": "true" };
    const running = [
      live("svc-tmp-7-abc", spec("apps/web"), { labels }),
      live("svc-tmp-real", spec("apps/web")),
      live("labelled", spec("apps/web"), { labels }),
    ];
    expect(await affected({ base: {}, head, live: running })).toEqual(["labelled existing", "svc-tmp-real existing"]);
  });

  test("a value file in this repository of a chart from elsewhere", async () => {
    const of = {
      sources: [
        {
          repoURL: "https://charts.example.com",
          chart: "web",
          targetRevision: "1.2.3",
          helm: { valueFiles: ["$v/envs/web.yaml"] },
        },
        { repoURL: SSH_URL, ref: "v", targetRevision: "main" },
      ],
    };
    expect(await affected({ base: {}, head: { "envs/web.yaml": "a: 1" }, live: [live("web", of)] })).toEqual([
      "web existing",
    ]);
    expect(await affected({ base: {}, head: { "envs/shop.yaml": "a: 1" }, live: [live("web", of)] })).toEqual([]);
  });
});

describe("sources that do not follow the base branch", () => {
  const head = { "apps/web/cm.yaml": "a: 1" };

  test.each<[string, JsonObject, Partial<ChangeRequest>, string]>([
    ["a tag", spec("apps/web", { targetRevision: "v1" }), {}, "it follows v1, not main"],
    [
      "HEAD under another base",
      spec("apps/web", { targetRevision: "HEAD" }),
      { baseBranch: "release" },
      "it follows HEAD, not release",
    ],
    [
      "a source hydrator that reads another branch",
      { sourceHydrator: { drySource: { repoURL: OWN_URL, path: "apps/web", targetRevision: "main" } } },
      { baseBranch: "feature" },
      "it follows main, not feature",
    ],
  ])("%s: listed with the reason when what it reads changes", async (_, of, change, reason) => {
    const found = await detection({ base: {}, head, live: [live("web", of)], change });
    expect(found.applications).toEqual([]);
    expect(found.notFollowing).toEqual([{ application: "web", reason: expect.stringContaining(reason) }]);
    const elsewhere = await detection({ base: {}, head: { "docs/x": "1" }, live: [live("web", of)], change });
    expect(elsewhere.notFollowing).toEqual([]);
  });

  test("a hydrated one is affected when what it reads changes: it takes effect at the merge", async () => {
    const of = { sourceHydrator: { drySource: { repoURL: OWN_URL, path: "apps/web", targetRevision: "main" } } };
    const running = [live("web", of)];
    expect(await affected({ base: {}, head, live: running })).toEqual(["web existing"]);
    expect(await affected({ base: {}, head: { "docs/x": "1" }, live: running })).toEqual([]);
  });

  test("are affected all the same when their resource changes", async () => {
    const tagged = (tag: string) => ({ "a.yaml": resource("web", spec("apps/web", { targetRevision: tag })) });
    const found = await detection({ base: tagged("v1"), head: { ...tagged("v2"), ...head } });
    expect(found.applications).toMatchObject([{ name: "web", kind: "modified" }]);
    expect(found.notFollowing).toEqual([]);
  });

  test("a source that follows decides for the others", async () => {
    const of = {
      sources: [spec("apps/web").source ?? null, { repoURL: OWN_URL, path: "old", targetRevision: "v1" }],
    };
    const running = [live("web", of)];
    expect(await affected({ base: {}, head, live: running })).toEqual(["web existing"]);
    const old = await detection({ base: {}, head: { "old/x": "1" }, live: running });
    expect(old.applications).toEqual([]);
    expect(old.notFollowing).toEqual([
      { application: "web", reason: expect.stringContaining("source 2 follows v1, not main") },
    ]);
  });
});

describe("what a kustomization reads of this repository by its address", () => {
  const files = (address: string): Files => ({
    "apps/web/kustomization.yaml": `resources: ['${address}']`,
    "Base/kustomization.yaml": "resources: [../common/cm.yaml]",
    "common/cm.yaml": "a: 1",
    "docs/x": "1",
  });
  const found = async (address: string, changed: string, of = spec("apps/web")) => {
    const base = files(address);
    return detection({ base, head: { ...base, [changed]: "a: 2" }, live: [live("web", of)] });
  };

  test.each([
    `${OWN_URL}//Base`,
    `${OWN_URL}//Base?ref=main`,
    `${OWN_URL}.git//Base?submodules=0&ref=main`,
    `git::${OWN_URL}/Base?version=main`,
    "git@git.example.com:acme/deploy.git//Base?ref=main",
    "ssh://git@git.example.com/acme/deploy//Base?ref=HEAD",
    "git.example.com/acme/deploy//Base/",
  ])("%s: listed, since no render shows it before the merge", async (address) => {
    for (const changed of ["Base/kustomization.yaml", "common/cm.yaml"]) {
      const { applications, notFollowing, allClaimed } = await found(address, changed);
      expect(applications).toEqual([]);
      expect(notFollowing).toEqual([
        {
          application: "web",
          byAddress: true,
          reason: `its files read ${address.replace("//git@", "//")} by this address: the change reaches it when it is merged into main, and no plan shows what it does there`,
        },
      ]);
      expect(allClaimed).toBe(true);
    }
    expect((await found(address, "docs/x")).notFollowing).toEqual([]);
    expect((await found(address, "apps/web/kustomization.yaml")).applications).toMatchObject([{ name: "web" }]);
  });

  test.each(["github.com:acme/deploy//Base", "git@github.com/acme/deploy//Base", "GitHub.com/acme/deploy//Base"])(
    "%s: one of GitHub's, which Kustomize knows by more short forms",
    async (address) => {
      const base = files(address);
      const head = { ...base, "common/cm.yaml": "a: 2" };
      const own = spec("apps/web", { repoURL: "https://github.com/acme/deploy" });
      const change = { repositoryUrls: ["https://github.com/acme/deploy.git", "git@github.com:acme/deploy.git"] };
      const { notFollowing } = await detection({ base, head, live: [live("web", own)], change });
      expect(notFollowing).toMatchObject([{ application: "web", reason: expect.stringContaining("by this address") }]);
    },
  );

  test.each(["git@git.example.com:acme/deploy.git//Base", "git.example.com/code/acme/deploy//Base"])(
    "%s: of a host whose web addresses are below a path of its own",
    async (address) => {
      const base = files(address);
      const own = "https://git.example.com/code/acme/deploy";
      const { notFollowing } = await detection({
        base,
        head: { ...base, "common/cm.yaml": "a: 2" },
        live: [live("web", spec("apps/web", { repoURL: own }))],
        change: { repositoryUrls: [own, "git@git.example.com:acme/deploy.git"] },
      });
      expect(notFollowing).toMatchObject([{ application: "web", reason: expect.stringContaining("by this address") }]);
    },
  );

  test.each([
    `${OWN_URL}//Base?ref=${"a".repeat(40)}`,
    `${OWN_URL}//Base?ref=v1`,
    `${OWN_URL}2//Base`,
    "https://git.example.com/acme//Base",
    "https://other.example.com/acme/deploy//Base",
  ])("%s does not follow the base branch of this repository", async (address) => {
    expect((await found(address, "common/cm.yaml")).notFollowing).toEqual([]);
  });

  test("an address with any query takes no time, and is shown without one that may hold a secret", async () => {
    const before = process.cpuUsage();
    const { notFollowing } = await found(
      `${OWN_URL}//Base?ref=main&${"ref=".repeat(26)}&token=hunter2`,
      "common/cm.yaml",
    );
    expect(notFollowing[0]?.reason).toContain(`read ${OWN_URL}//Base by`);
    const padded = `${OWN_URL}//Base?ref=main&depth=${"1".repeat(3000)}`;
    const [hidden] = (await found(padded, "common/cm.yaml")).notFollowing;
    expect(hidden?.reason).toContain(`read ${OWN_URL}//Base by`);
    expect(process.cpuUsage(before).user / 1e6).toBeLessThan(3); // seconds of our own, however busy the machine is
  });

  test("of more addresses than svc looks up, any may be of what changes", async () => {
    const resources = Array.from({ length: 51 }, (_, at) => `${OWN_URL}//base${at}`);
    const base = { "apps/web/kustomization.yaml": JSON.stringify({ resources }), "base0/cm.yaml": "a: 1" };
    const head = { ...base, "base0/cm.yaml": "a: 2" };
    const { notFollowing } = await detection({ base, head, live: [live("web", spec("apps/web"))] });
    expect(notFollowing).toEqual([
      {
        application: "web",
        byAddress: true,
        reason:
          "its files read more or longer addresses than svc looks up: the change may reach it when it is merged into main, " +
          "and no plan shows what it does there",
      },
    ]);
  });

  test.each([50, 1500])("an address with %i ./ before the repository may be of what changes", async (many) => {
    const address = `https://git.example.com/${"./".repeat(many)}acme/deploy//Base?ref=main`;
    const { notFollowing } = await found(address, "common/cm.yaml");
    expect(notFollowing[0]?.reason).toContain("longer addresses than svc looks up: the change may reach it");
  });

  test("long addresses of others, and more of them than svc looks up, take no time", async () => {
    const before = process.cpuUsage();
    const named = (many: number, at: number) =>
      JSON.stringify({
        resources: [
          ...Array.from({ length: many }, (_, one) => `${OWN_URL}x/${"a/".repeat(980)}${at}-${one}`),
          ...(at === 0 ? Array.from({ length: 9 }, (_, one) => `../k${one + 1}`) : []),
        ],
      });
    const base: Files = Object.fromEntries<string>([
      ["apps/web/kustomization.yaml", named(100, 0).replaceAll("../k", "../../k")],
      ...Array.from({ length: 9 }, (_, at) => [`k${at + 1}/kustomization.yaml`, named(120, at + 1)] as const),
    ]);
    const found = await detection({ base, head: { ...base, x: "1" }, live: [live("web", spec("apps/web"))] });
    expect(found.notFollowing[0]?.reason).toContain("addresses than svc looks up");
    expect(process.cpuUsage(before).user / 1e6).toBeLessThan(6); // seconds of our own, however busy the machine is
  });

  test("a link to the repository among the annotations is not read", async () => {
    const resources = ["https://other.example.com/acme/base"];
    const text = JSON.stringify({ resources, commonAnnotations: { "example.com/source": OWN_URL } });
    const base = { ...files(""), "apps/web/kustomization.yaml": text };
    const { notFollowing } = await detection({
      base,
      head: { ...base, "docs/x": "2" },
      live: [live("web", spec("apps/web"))],
    });
    expect(notFollowing).toEqual([]);
  });

  test("components of the definition count, and what a base reads by its address in turn", async () => {
    const address = `${OWN_URL}//apps/web`;
    const of = spec("apps/shop", { kustomize: { components: [address] } });
    const base = { ...files(`${OWN_URL}//Base`), "apps/shop/kustomization.yaml": "namePrefix: a-" };
    const { notFollowing } = await detection({
      base,
      head: { ...base, "common/cm.yaml": "a: 2" },
      live: [live("shop", of)],
    });
    expect(notFollowing).toMatchObject([{ application: "shop", reason: expect.stringContaining(`${OWN_URL}//Base`) }]);
  });

  test("components and patches of a definition whose own source is elsewhere count", async () => {
    const path = `${OWN_URL}/raw/main/common/cm.yaml`;
    for (const kustomize of [{ components: [`${OWN_URL}//Base`] }, { patches: [{ path }] }]) {
      const of = spec("apps/shop", { repoURL: "https://git.example.com/acme/other", kustomize });
      const { notFollowing } = await found("unused", "common/cm.yaml", of);
      expect(notFollowing).toMatchObject([{ application: "web", byAddress: true }]);
      expect((await found("unused", "docs/x", of)).notFollowing).toEqual([]);
    }
  });

  test("an empty ref leaves the choice to the version", async () => {
    const base = files(`${OWN_URL}//Base?ref=&version=release`);
    const order = { base, head: { ...base, "common/cm.yaml": "a: 2" }, live: [live("web", spec("apps/web"))] };
    const { notFollowing } = await detection({ ...order, change: { baseBranch: "release" } });
    expect(notFollowing).toMatchObject([{ application: "web", byAddress: true }]);
    expect((await detection(order)).notFollowing).toEqual([]);
  });

  // What `NewRepoSpecFromURL` of Kustomize 5.8.1 made of them: the repository, Base, and no ref.
  test.each([
    `GIT::${OWN_URL}//Base`,
    "org-1@git.example.com/acme/deploy//Base",
    `${OWN_URL}//Base?ref=v1;x`,
    `${OWN_URL}//Base?ref=v1&submodules=%zz`,
    `${OWN_URL}//Base??ref=v1`,
  ])("%s means the default branch", async (address) => {
    const { notFollowing } = await found(address, "common/cm.yaml");
    expect(notFollowing).toMatchObject([{ application: "web", byAddress: true }]);
    expect((await found(address, "docs/x")).notFollowing).toEqual([]);
  });

  test("a query with an escape that is no UTF-8 still names its branch", async () => {
    const { notFollowing } = await found(`${OWN_URL}//Base?ref=v1&x=%ff`, "common/cm.yaml");
    expect(notFollowing).toEqual([]);
  });

  test("an address with a password is shown without it", async () => {
    const { notFollowing } = await found(`${OWN_URL.replace("://", "://bot:hunter2@")}//Base`, "common/cm.yaml");
    expect(notFollowing[0]?.reason).toContain(`read ${OWN_URL}//Base by`);
  });
});

describe("single files of this repository that are read by their address", () => {
  const chart = { repoURL: "https://charts.example.com", chart: "web", targetRevision: "1.2.3" };
  const found = async (of: JsonObject, kustomization = "") => {
    const base = { "values/web.yaml": "a: 1", "apps/web/kustomization.yaml": kustomization };
    const head = { ...base, "values/web.yaml": "a: 2" };
    return (await detection({ base, head, live: [live("web", of)], change: { repositoryId: "42" } })).notFollowing;
  };

  test.each([
    `${OWN_URL}/raw/main/values/web.yaml`,
    `${OWN_URL}/raw/refs/heads/main/values/web.yaml`,
    `${OWN_URL}/-/raw/main/values/web.yaml?inline=false`,
    `${OWN_URL}/-/raw/HEAD/values/web.yaml`,
    // GitHub redirects it to the first one.
    `${OWN_URL}/blob/main/values/web.yaml?raw=true`,
    "https://raw.example.com/acme/deploy/main/values/web.yaml",
    "https://raw.example.com/acme/deploy/refs/heads/main/values/web.yaml?token=x",
    // https://docs.github.com/en/enterprise-server/admin/configuring-settings/hardening-security-for-your-enterprise/enabling-subdomain-isolation
    "https://git.example.com/raw/acme/deploy/main/values/web.yaml",
    // https://docs.gitlab.com/api/repository_files/#retrieve-a-raw-file-from-a-repository
    "https://git.example.com/api/v4/projects/42/repository/files/values%2Fweb%2Eyaml/raw?ref=main&private_token=x",
    "https://git.example.com/api/v4/projects/acme%2Fdeploy/repository/files/values%2Fweb.yaml/raw",
    "https://git.example.com/api/v4/projects/Acme%2FDeploy/repository/files/values%2Fweb.yaml/raw",
  ])("%s", async (address) => {
    const listed = [{ application: "web", byAddress: true, reason: expect.stringContaining("by this address") }];
    for (const helm of [{ valueFiles: [address] }, { fileParameters: [{ name: "a", path: address }] }]) {
      expect(await found({ source: { ...chart, helm } })).toEqual(listed);
    }
    const [first] = await found(spec("apps/web"), `resources: ['${address}']`);
    expect(first?.reason).toContain(`its files read ${address.replace(/\?.*/, "")} by this address`);
  });

  test.each([
    ["raw/main/values/${ARGOCD_APP_NAME}.yaml", 1],
    ["raw/main/$ARGOCD_APP_PROJECT_NAME/web.yaml", 1],
    ["raw/main/$ARGOCD_APP_SOURCE_PATH/$ARGOCD_APP_REVISION_SHORT.yaml", 1],
    ["raw/main/values/${ARGOCD_APP_NAME}-de.yaml", 0],
    ["raw/main/values/$ARGOCD_APP_PROJECT_NAME.yaml", 0],
    ["raw/main/values/we$$b.yaml", 1],
  ])("with a variable in their path: %s, found %d times", async (path, times) => {
    const of = { project: "values", source: { ...chart, helm: { valueFiles: [`${OWN_URL}/${path}`] } } };
    expect(await found(of)).toHaveLength(times);
  });

  test("with a variable in the address of GitLab's API", async () => {
    const file = "https://git.example.com/api/v4/projects/42/repository/files/values%2F${ARGOCD_APP_NAME}.yaml/raw";
    expect(await found({ source: { ...chart, helm: { valueFiles: [file] } } })).toMatchObject([{ byAddress: true }]);
  });

  test.each([
    ["patches: [{ path: '<address>' }]"],
    ["configMapGenerator: [{ name: web, files: ['<address>'] }]"],
    ["configMapGenerator: [{ name: web, files: ['web.yaml=<address>'] }]"],
    ["helmCharts: [{ name: web, repo: 'https://charts.example.com', version: 1.2.3, valuesFile: '<address>' }]"],
    ["helmCharts: [{ name: web, repo: 'https://git.example.com/acme/deploy/raw/main/values' }]"],
  ])("in a kustomization: %s", async (written) => {
    const address = `${OWN_URL}/raw/main/values/web.yaml`;
    const [first] = await found(spec("apps/web"), written.replace("<address>", address));
    expect(first?.reason).toContain("by this address");
  });

  test.each([`${OWN_URL}/raw/main/values`, "https://raw.example.com/acme/deploy/main", `${OWN_URL}/raw/main/`])(
    "a repository of charts that is served at %s",
    async (address) => {
      const byAddress = [
        { application: "web", byAddress: true, reason: expect.stringContaining(`${address} by this address`) },
      ];
      expect(await found({ source: { ...chart, repoURL: address } })).toEqual(byAddress);
      for (const version of ["1.2.3", "1.x"]) {
        const helmCharts = JSON.stringify([{ name: "web", repo: address, version }]);
        expect(await found(spec("apps/web"), `helmCharts: ${helmCharts}`)).toEqual(byAddress);
        const dependencies = JSON.stringify([{ name: "web", repository: address, version }]);
        const base = { "values/index.yaml": "a: 1", "apps/web/Chart.yaml": `dependencies: ${dependencies}` };
        const head = { ...base, "values/index.yaml": "a: 2" };
        const { notFollowing } = await detection({ base, head, live: [live("web", spec("apps/web"))] });
        expect(notFollowing).toEqual(byAddress);
      }
    },
  );

  test("in a file of parameters", async () => {
    const helm = { valueFiles: [`${OWN_URL}/raw/main/values/$ARGOCD_APP_NAME.yaml`] };
    const base = {
      "values/web.yaml": "a: 1",
      "apps/web/Chart.yaml": "name: web",
      "apps/web/.argocd-source.yaml": JSON.stringify({ helm }),
    };
    const head = { ...base, "values/web.yaml": "a: 2" };
    const { notFollowing } = await detection({ base, head, live: [live("web", spec("apps/web"))] });
    expect(notFollowing).toEqual([
      { application: "web", byAddress: true, reason: expect.stringContaining("by this address") },
    ]);
  });

  test.each([
    `${OWN_URL}/raw/v1/values/web.yaml`,
    `${OWN_URL}/raw/main/values/shop.yaml`,
    `${OWN_URL}2/raw/main/values/web.yaml`,
    "https://other.example.com/acme/deploy/raw/main/values/web.yaml",
    "https://raw.example.com/acme/deploy2/main/values/web.yaml",
    "https://raw.example.com/acme/deploy/mainline/values/web.yaml",
    "https://git.example.com/raw/acme/deploy/v1/values/web.yaml",
    "https://other.example.com/raw/acme/deploy/main/values/web.yaml",
    "https://git.example.com/api/v4/projects/42/repository/files/values%2Fweb.yaml/raw?ref=v1",
    "https://git.example.com/api/v4/projects/43/repository/files/values%2Fweb.yaml/raw?ref=main",
    "https://git.example.com/api/v4/projects/acme%2Fshop/repository/files/values%2Fweb.yaml/raw?ref=main",
    "https://other.example.com/api/v4/projects/42/repository/files/values%2Fweb.yaml/raw?ref=main",
  ])("%s is none of them", async (address) => {
    expect(await found({ source: { ...chart, helm: { valueFiles: [address] } } })).toEqual([]);
    expect(await found(spec("apps/web"), `resources: ['${address}']`)).toEqual([]);
  });
});

describe("explicit paths of the repository file", () => {
  const running = [
    live("web", spec("apps/web")),
    live("team-a/web", spec("apps/a")),
    live("far", { source: { repoURL: "https://x.example/y", path: "z" } }),
  ];
  const head = { "shared/x.yaml": "a: 1" };

  test.each([
    ["web", ["shared/**"], ["web existing"]],
    ["web", ["other/**", "shared/*.yaml"], ["web existing"]],
    ["web", ["other/**"], []],
    ["w*", ["shared/**"], ["web existing"]],
    ["team-a/*", ["shared/**"], ["team-a/web existing"]],
    ["web/**", ["shared/**"], ["web existing"]],
    ["*", ["shared/**"], ["team-a/web existing", "web existing"]],
  ])("%s: %j", async (name, paths, expected) => {
    expect(await affected({ base: {}, head, live: running, settings: { applications: [{ name, paths }] } })).toEqual(
      expected,
    );
  });

  test("do not make an application of another repository ours", async () => {
    const settings = { applications: [{ name: "far", paths: ["**"] }] };
    const found = await detection({ base: {}, head, live: running, settings });
    expect(found.applications).toEqual([]);
    expect(found.notFollowing).toEqual([{ application: "far", reason: "none of its sources is in acme/deploy" }]);
  });

  test("a name that nothing has is a note, if its paths change", async () => {
    const settings = (paths: string[]) => ({
      applications: [
        { name: "wbe", paths },
        { name: "x-*", paths },
      ],
    });
    const found = await detection({ base: {}, head, live: running, settings: settings(["shared/**"]) });
    expect(found.notes).toEqual([
      "The repository file maps changed files to wbe, which is not an application that svc can see.",
    ]);
    expect((await detection({ base: {}, head, live: running, settings: settings(["y"]) })).notes).toEqual([]);
  });
});

test("changed files that cannot be searched are noted, unchanged ones are not, and there is an end to it", async () => {
  const broken = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: [";
  const { notes } = await detection({ base: { "old.yaml": broken }, head: { "old.yaml": broken, "new.yaml": broken } });
  expect(notes).toEqual(["new.yaml could not be searched for Application resources: it is not valid YAML."]);
  const many = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`${index}.yaml`, broken]));
  const found = await detection({ base: {}, head: many });
  expect(found.notes).toHaveLength(21);
  expect(found.notes.at(-1)).toBe("10 more changed files could not be searched for Application resources.");
  const one = await detection({ base: {}, head: Object.fromEntries(Object.entries(many).slice(0, 21)) });
  expect(one.notes.at(-1)).toBe("1 more changed file could not be searched for Application resources.");
});

test("applications whose files take long to compare, though few, let others have their turn", async () => {
  const names = Array.from({ length: 12 }, (_, at) => `app-${at}`);
  const text = JSON.stringify({ resources: [], x: Array.from({ length: 20_000 }, (_, at) => `n${at}`) });
  const base = Object.fromEntries(names.map((name) => [`${name}/kustomization.yaml`, text]));
  const order = { base, head: { ...base, x: "1" }, live: names.map((name) => live(name, spec(name))) };
  const ended = detection(order).then(() => true);
  let turns = 0;
  while (!(await Promise.race([ended, setImmediate(false)]))) turns += 1;
  expect(turns).toBeGreaterThan(names.length);
});

test.each<[boolean, string, Omit<Situation, "base">]>([
  [true, "an application reads", { head: { "apps/web/a.yaml": "" } }],
  [false, "nothing reads", { head: { "apps/web/a.yaml": "", "apps/shop/a.yaml": "" } }],
  [true, "defines an application", { head: { "argo/web.yaml": resource("web", spec("apps/web", { helm: {} })) } }],
  [true, "is the repository's own", { head: { ".svc.yaml": "" } }],
  [true, "is read from another branch", { head: { "apps/web/a.yaml": "" }, change: { baseBranch: "dev" } }],
  [true, "is mapped", { head: { a: "" }, settings: { applications: [{ name: "web", paths: ["a"] }] } }],
  [false, "only a plugin may read", { head: { a: "" }, live: [live("web", spec("apps/web", { plugin: {} }))] }],
])("%s: all changed files are claimed, where one %s", async (claimed, _which, situation) => {
  const found = await detection({ base: {}, live: [live("web", spec("apps/web"))], ...situation });
  expect(found.allClaimed).toBe(claimed);
});

test.each([
  [true, 100],
  [false, 101],
])("all changed files are claimed: %s, where only an ApplicationSet reads %i", async (claimed, count) => {
  const git = { repoURL: OWN_URL, revision: "main", files: [{ path: "envs/*.json" }] };
  const set = JSON.stringify({
    apiVersion: "argoproj.io/v1alpha1",
    kind: "ApplicationSet",
    metadata: { name: "envs" },
    spec: {
      generators: [{ git }],
      template: { metadata: { name: "{{name}}" }, spec: { project: "default", ...spec("charts/shop") } },
    },
  });
  const files = Object.fromEntries(Array.from({ length: count }, (_, index) => [`envs/${index}.json`, "{}"]));
  const found = await detection({ base: { "set.yaml": set }, head: { "set.yaml": set, ...files } });
  expect(found.applicationSets.map(({ name }) => name)).toEqual(["envs"]);
  expect(found.allClaimed).toBe(claimed);
});

test("files that many ApplicationSets might read, by patterns that take long to compare, are not claimed, in no time", async () => {
  const path = `x/*${"a".repeat(1500)}b`;
  const set = (name: string) =>
    JSON.stringify({
      apiVersion: "argoproj.io/v1alpha1",
      kind: "ApplicationSet",
      metadata: { name },
      spec: { generators: [{ git: { repoURL: OWN_URL, files: [{ path }] } }], template: {} },
    });
  const files = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`x/${"a".repeat(3500)}${at}`, ""]));
  const sets = Object.fromEntries(Array.from({ length: 250 }, (_, at) => [`${at}.yaml`, set(`set-${at}`)]));
  const before = process.cpuUsage();
  const found = await detection({ base: {}, head: { ...files, ...sets } });
  expect([found.applicationSets.length, found.allClaimed]).toEqual([250, false]);
  expect(process.cpuUsage(before).user / 1e6).toBeLessThan(4); // seconds of our own, however busy the machine is
});

describe("what the target branch changed since the branch left it", () => {
  const files = { "apps/web/a.yaml": "a: 1", "apps/api/a.yaml": "a: 1" };
  const situation = {
    base: files,
    head: { ...files, "apps/api/a.yaml": "a: 2" },
    tip: { ...files, "apps/web/a.yaml": "a: 3" },
    live: ["web", "api"].map((name) => live(name, spec(`apps/${name}`))),
  };

  test("counts as changed where not all commits of the branch are known, which a note says", async () => {
    const commitsBetween = () => Promise.resolve({ commits: [], complete: false });
    const { applications, notes } = await detection({ ...situation, commitsBetween });
    expect(applications.map(({ name }) => name)).toEqual(["api", "web"]);
    expect(notes).toEqual([
      "The history of this branch is too long for svc to know all its commits: what main changed since the branch left it counts as changed here, too. Update the branch.",
    ]);
    const known = await detection(situation);
    expect(known.applications.map(({ name }) => name)).toEqual(["api"]);
    expect(known.notes).toEqual([]);
  });

  test("counts for nothing while the history cannot be read: nothing is detected then", async () => {
    const commitsBetween = () => Promise.reject(new RepositoryFailure("git did not answer"));
    await expect(detection({ ...situation, commitsBetween })).rejects.toThrow("git did not answer");
  });
});
