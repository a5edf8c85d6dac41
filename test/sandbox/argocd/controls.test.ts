import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { startArgoCd, type ArgoCd, type ArgoCdOptions } from "../../../sandbox/argocd/argocd.js";
import { Watch } from "../../../sandbox/argocd/exchanges.js";
import { endpoints } from "../../../sandbox/argocd/schemas/endpoints.js";
import { GitStore } from "../../../sandbox/git/git-store.js";

let git: GitStore;
let argocd: ArgoCd | undefined;
beforeEach(async () => {
  git = await GitStore.create();
  await git.createRepository("deploy", {
    "app/cm.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: one}, data: {a: '1'}}",
  });
});
afterEach(async () => {
  await argocd?.stop();
  await git.remove();
});

async function start(options: Partial<ArgoCdOptions> = {}): Promise<{ argocd: ArgoCd; token: string }> {
  argocd = await startArgoCd({ repositories: () => git.objects("deploy"), ...options });
  argocd.addApplication({
    metadata: { name: "app" },
    spec: {
      destination: { server: "https://kubernetes.default.svc", namespace: "x" },
      source: { repoURL: "https://git.example.com/deploy", path: "app", targetRevision: "main" },
    },
  });
  return { argocd, token: argocd.addAccount("svc", { permissions: "all" }) };
}

function ask(url: string, token: string, method = "GET", body?: unknown): Promise<Response> {
  const headers = {
    authorization: `Bearer ${token}`,
    ...(method === "GET" ? {} : { "content-type": "application/json" }),
  };
  return fetch(url, { method, headers, body: body === undefined ? undefined : Buffer.from(JSON.stringify(body)) });
}

describe("honesty", () => {
  test("an answer that breaks the sandbox's own schemas is one too", () => {
    const watch = new Watch();
    const endpoint = endpoints.find(({ id }) => id === "manifests");
    const base = { method: "GET", path: "/x", query: "", requestHeaders: {}, requestBody: "" };
    watch.noteAnswer({ ...base, status: 200, answer: { manifests: ["{}"] } }, endpoint);
    expect(watch.violations).toEqual([]);
    watch.noteAnswer({ ...base, status: 200, answer: { manifests: ["{}"], revision: "x" } }, endpoint);
    watch.noteAnswer({ ...base, status: 500, answer: { message: "no code" } }, endpoint);
    expect(watch.violations).toEqual([
      expect.stringContaining('Unrecognized key: "revision"'),
      expect.stringContaining("error: "),
      expect.stringContaining("code: "),
    ]);
  });

  test("an application that is written wrongly is refused when it is added", async () => {
    const { argocd } = await start();
    expect(() => argocd.addApplication({ metadata: { name: "x" }, spec: { destination: {}, sorce: {} } })).toThrow(
      "sorce",
    );
  });

  test("requests are kept with their account, also those that a fault took", async () => {
    const { argocd, token } = await start();
    argocd.faults.add({
      times: 1,
      path: /applications/,
      fault: { kind: "status", status: 503, body: "<html>busy</html>" },
    });
    const broken = await ask(`${argocd.url}/api/v1/applications?name=app`, token);
    expect([broken.status, await broken.text()]).toEqual([503, "<html>busy</html>"]);
    await ask(`${argocd.url}/api/v1/applications?name=app`, "nobody");
    expect(argocd.requests).toEqual([
      { method: "GET", path: "/api/v1/applications", query: { name: ["app"] }, body: undefined, account: "svc" },
      { method: "GET", path: "/api/v1/applications", query: { name: ["app"] }, body: undefined, account: undefined },
    ]);
  });

  test("changes of real Applications are logged, those of temporary ones are not", async () => {
    const { argocd, token } = await start();
    const source = { repoURL: "https://git.example.com/deploy", path: "app" };
    const spec = { destination: { server: "https://kubernetes.default.svc" }, source };
    const create = (metadata: object) =>
      ask(`${argocd.url}/api/v1/applications?validate=false`, token, "POST", { metadata, spec });
    await create({ name: "tmp", labels: { "svc.dev/temporary": "true" } });
    await create({ name: "real" });
    expect(argocd.temporaryApplications().map(({ metadata }) => metadata.name)).toEqual(["tmp"]);
    await ask(`${argocd.url}/api/v1/applications/tmp?cascade=false`, token, "DELETE");
    await ask(`${argocd.url}/api/v1/applications/real?cascade=false`, token, "DELETE");
    expect(argocd.temporaryApplications()).toEqual([]);
    expect(argocd.changes).toEqual([
      { account: "svc", verb: "create", object: "argocd/real" },
      { account: "svc", verb: "delete", object: "argocd/real" },
    ]);
  });
});

describe("ways to start it", () => {
  test("with operations that run by themselves, object by object", async () => {
    const { argocd, token } = await start({ operationTime: { ms: 40 } });
    const changed = new Promise<void>((resolve) => argocd.subscribe(resolve));
    await ask(`${argocd.url}/api/v1/applications/app/sync`, token, "POST", {});
    await changed;
    while (argocd.application("app")?.operation !== undefined) {
      await ask(`${argocd.url}/api/v1/applications/app`, token);
    }
    expect(argocd.application("app")?.status.operationState?.phase).toBe("Succeeded");
    expect(argocd.liveObject("ConfigMap", "x", "one")).toMatchObject({ data: { a: "1" } });
  });
});
