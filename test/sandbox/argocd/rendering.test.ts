import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { objectAt, stringAt } from "../../../sandbox/argocd/json.js";
import { multiSources, named, refusal, startConversation, type Conversation } from "./conversation.js";
import { repositoryUrl } from "./recorded-world.js";

let c: Conversation;
beforeAll(async () => {
  c = await startConversation();
  c.add("plain", "apps/plain");
  c.add("web", "charts/web", {
    source: { helm: { parameters: [{ name: "rev", value: "$ARGOCD_APP_REVISION_SHORT", forceString: true }] } },
  });
  c.add("multi", "", { spec: { sources: multiSources } });
  c.add("one", "", { spec: { sources: [{ repoURL: repositoryUrl, targetRevision: "main", path: "apps/plain" }] } });
});
afterAll(() => c.stop());

const a = async (name: string, query: string, object = "plain"): Promise<unknown> =>
  objectAt(named(await c.manifests(name, query), object), "data").a;

describe("rendering in place", () => {
  test.each([
    ["the target branch", "", "1"],
    ["a branch", "?revision=main", "1"],
    ["a full id", "?revision={head}", "2"],
    ["an abbreviated id", "?revision={head:8}", "2"],
    ["a ref of a pull request", "?revision=refs%2Fpull%2F1%2Fhead", "2"],
  ])("at %s", async (_case, query, expected) => {
    expect(await a("plain", query)).toBe(expected);
  });

  test("a commit that only a pull request's ref reaches", async () => {
    const id = await c.commit("short-lived", {
      "apps/plain/a.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: plain}, data: {a: '9'}}",
    });
    await c.setRef("refs/pull/9/head", id);
    await c.setRef("refs/heads/short-lived", undefined);
    expect(await a("plain", `?revision=${id}`)).toBe("9");
  });

  test("Helm: the release is called like the application, the short revision has seven digits", async () => {
    const manifest = named(await c.manifests("web", "?revision={head}"), "web-web");
    expect(manifest.data).toEqual({
      extra: "none",
      ns: "guestbook",
      rev: c.commits.get("head")?.slice(0, 7),
      tag: "v2",
    });
  });

  test("two commits that differ in a Secret's value: byte for byte the same answer", async () => {
    const [main, other] = await Promise.all(
      ["{main}", "{secret}"].map((at) => c.call("GET", `/api/v1/applications/plain/manifests?revision=${at}`)),
    );
    expect(other).toEqual(main);
    expect(named(await c.manifests("plain"), "plain-secret").data).toEqual({ password: "++++++++", user: "++++++++" });
  });

  test("tracking marks every object, and the namespace is not filled in", async () => {
    expect(named(await c.manifests("plain"), "plain").metadata).toEqual({
      name: "plain",
      annotations: { "argocd.argoproj.io/tracking-id": "plain:/ConfigMap:guestbook/plain" },
    });
  });

  test("nothing rendered: an empty object", async () => {
    c.argocd.setManifests("one", "*", []);
    expect(await c.ok("GET", "/api/v1/applications/one/manifests")).toEqual({});
  });
});

describe("several sources", () => {
  test("revision is ignored in silence", async () => {
    expect(objectAt(named(await c.manifests("multi", "?revision={head}"), "extra"), "data").e).toBe("1");
  });

  test("positions on a single source are ignored in silence", async () => {
    expect(await a("plain", "?sourcePositions=1&revisions={head}")).toBe("1");
  });

  test("positions, one-based, choose which sources move", async () => {
    const query = "?sourcePositions=1&sourcePositions=2&revisions={head}&revisions={head}";
    const manifests = await c.manifests("multi", query);
    expect(objectAt(named(manifests, "multi-web"), "data")).toMatchObject({ tag: "v2", extra: "prod2" });
    expect(objectAt(named(manifests, "extra"), "data").e).toBe("1");
  });

  test("positions that leave out the reference of the same repository: code 2", async () => {
    const { status, answer } = await c.call(
      "GET",
      "/api/v1/applications/multi/manifests?sourcePositions=1&revisions={head}",
    );
    expect([status, objectAt(answer).code]).toEqual([500, 2]);
    expect(stringAt(answer, "message")).toMatch(
      /^cannot reference a different revision of the same repository \(\$values references "/,
    );
  });

  test.each([
    [
      "more positions than revisions",
      "sourcePositions=1&sourcePositions=2&revisions={head}",
      refusal(500, 13, "runtime error: index out of range [1] with length 1"),
    ],
    ["position 0", "sourcePositions=0&revisions={head}", refusal(500, 2, "source position is out of range")],
    [
      "a position after the last",
      "sourcePositions=4&revisions={head}",
      refusal(500, 2, "source position is out of range"),
    ],
  ])("%s", async (_case, query, expected) => {
    expect(await c.call("GET", `/api/v1/applications/multi/manifests?${query}`)).toEqual(expected);
  });

  test("positions that are no numbers: 400 code 3", async () => {
    const { status, answer } = await c.call(
      "GET",
      "/api/v1/applications/multi/manifests?sourcePositions=one&revisions={head}",
    );
    expect([status, objectAt(answer).code]).toEqual([400, 3]);
  });
});

describe("renders that fail", () => {
  test.each([
    ["a path that does not exist", { path: "apps/none" }, 2, "apps/none: app path does not exist"],
    ["a path outside of the repository", { path: "../x" }, 2, "../x: app path outside root"],
    ["an absolute path", { path: "/apps" }, 2, "/apps: app path is absolute"],
    ["a path to a file", { path: "apps/plain/a.yaml" }, 2, "apps/plain/a.yaml: app path is not a directory"],
    [
      "an unknown branch",
      { path: "apps/plain", targetRevision: "none" },
      2,
      "unable to resolve 'none' to a commit SHA",
    ],
    [
      "a repository that does not exist",
      { path: "x", repoURL: "https://git.example.com/none" },
      5,
      "repository not found",
    ],
    [
      "two tools",
      { path: "charts/web", helm: { releaseName: "x" }, kustomize: { namePrefix: "x" } },
      2,
      "multiple application sources defined: Kustomize,Helm",
    ],
    [
      "a reference that nobody has",
      { path: "charts/web", helm: { valueFiles: ["$none/x.yaml"] } },
      2,
      "source referenced \"$none\", but no source has a 'ref' field defined",
    ],
    [
      "a glob of value files that matches nothing",
      { path: "charts/web", helm: { valueFiles: ["none-*.yaml"] } },
      5,
      'values file glob "none-*.yaml" matched no files',
    ],
    [
      "a value file that is missing",
      { path: "charts/web", helm: { valueFiles: ["none.yaml"] } },
      2,
      /failed exit status 1: Error: open .*none\.yaml: no such file or directory$/,
    ],
    [
      "a broken kustomization",
      { path: "apps/plain", kustomize: { namePrefix: "x" } },
      2,
      /^`kustomize build .*` failed exit status 1: Error: unable to find one of/,
    ],
    [
      "a chart without manifests by hand",
      { chart: "shop", path: undefined, targetRevision: "4.2.1" },
      2,
      /chart shop 4\.2\.1/,
    ],
  ])("%s", async (name, source, code, message) => {
    const application = `broken-${name.replace(/[^a-z]+/g, "-")}`;
    c.add(application, "", { source });
    const { answer } = await c.call("GET", `/api/v1/applications/${application}/manifests`);
    expect(answer).toMatchObject({
      code,
      message: typeof message === "string" ? message : expect.stringMatching(message),
    });
  });

  test("an unknown commit: code 2 with the words of the failed fetch", async () => {
    const { status, answer } = await c.call("GET", `/api/v1/applications/plain/manifests?revision=${"f".repeat(40)}`);
    expect(status).toBe(500);
    expect(answer).toMatchObject({
      code: 2,
      message: expect.stringContaining(`upload-pack: not our ref ${"f".repeat(40)}`),
    });
  });

  test("a file that is no YAML: 400 code 9 with its name", async () => {
    const id = await c.commit("broken", { "apps/plain/a.yaml": "a: [1\nb: {" });
    const { status, answer } = await c.call("GET", `/api/v1/applications/plain/manifests?revision=${id}`);
    expect(status).toBe(400);
    expect(answer).toMatchObject({ code: 9, message: expect.stringMatching(/^Failed to unmarshal "a\.yaml": /) });
  });
});

describe("manifests by hand", () => {
  test("for an application by its name, per revision, before the ones for every revision", async () => {
    c.add("shop", "apps/plain");
    const manifest = (value: string) => ({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "plain" },
      data: { a: value },
    });
    c.argocd.setManifests("shop", "*", [manifest("any")]);
    c.argocd.setManifests("shop", c.commits.get("head") ?? "", [manifest("head")]);
    expect([await a("shop", ""), await a("shop", "?revision={head}")]).toEqual(["any", "head"]);
  });

  test("for whatever reads a path, so that a temporary Application is served too", async () => {
    c.argocd.setManifests({ path: "charts/shop" }, "*", [
      { apiVersion: "v1", kind: "Service", metadata: { name: "shop" } },
    ]);
    c.add("any-name", "charts/shop");
    expect(await c.manifests("any-name")).toEqual([expect.objectContaining({ kind: "Service" })]);
  });
});
