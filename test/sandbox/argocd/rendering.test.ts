import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { objectAt } from "../../../sandbox/argocd/json.js";
import { named, startConversation, type Conversation } from "./conversation.js";
import { repositoryUrl } from "./recorded-world.js";

let c: Conversation;
beforeAll(async () => {
  c = await startConversation();
  c.add("plain", "apps/plain");
  c.add("one", "", { spec: { sources: [{ repoURL: repositoryUrl, targetRevision: "main", path: "apps/plain" }] } });
});
afterAll(() => c.stop());

const a = async (name: string, query: string, object = "plain"): Promise<unknown> =>
  objectAt(named(await c.manifests(name, query), object), "data").a;

describe("rendering in place", () => {
  test("a commit that only a pull request's ref reaches", async () => {
    const id = await c.commit("short-lived", {
      "apps/plain/a.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: plain}, data: {a: '9'}}",
    });
    await c.setRef("refs/pull/9/head", id);
    await c.setRef("refs/heads/short-lived", undefined);
    expect(await a("plain", `?revision=${id}`)).toBe("9");
  });

  test("nothing rendered: an empty object", async () => {
    c.argocd.setManifests("one", "*", []);
    expect(await c.ok("GET", "/api/v1/applications/one/manifests")).toEqual({});
  });
});

describe("renders that fail", () => {
  test.each([
    ["a path outside of the repository", { path: "../x" }, 2, "../x: app path outside root"],
    ["an absolute path", { path: "/apps" }, 2, "/apps: app path is absolute"],
    ["a path to a file", { path: "apps/plain/a.yaml" }, 2, "apps/plain/a.yaml: app path is not a directory"],
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
      "a value file that is missing",
      { path: "charts/web", helm: { valueFiles: ["none.yaml"] } },
      2,
      /failed exit status 1: Error: open .*none\.yaml: no such file or directory$/,
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
