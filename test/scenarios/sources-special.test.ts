import { describe, expect, test } from "@jest/globals";
import { HOSTS, REPOSITORY, startBot, type Bot } from "./bot.js";
import { planned, section } from "./plan-comment.js";
import { applicationResource, asYaml, changeOf, configMap, hydrated } from "./resources.js";

const version = (value: string) => [
  { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "ext" }, data: { value } },
];

/** An application `ext` whose only source is no Git repository, described in this one. */
function startExternal(host: Bot["host"], source: (version: string) => object, annotations?: Record<string, string>) {
  const resource = (value: string) => {
    const more = annotations === undefined ? {} : { annotations };
    return applicationResource("ext", { repoURL: "", spec: { source: source(value) }, ...more });
  };
  const bot = startBot({
    host,
    applications: ["web"],
    files: () => ({ "argocd/ext.yaml": asYaml(resource("1.0.0")) }),
    prepare: ({ argocd }) => {
      argocd.addApplication(resource("1.0.0"));
      for (const value of ["1.0.0", "1.1.0"]) argocd.setManifests({ path: "shop" }, value, version(value));
    },
  });
  return { bot, bumped: { "argocd/ext.yaml": asYaml(resource("1.1.0")) } };
}

const FORMS: readonly [string, (version: string) => object][] = [
  ["a Helm repository", (targetRevision) => ({ repoURL: "https://charts.example.com", chart: "shop", targetRevision })],
  ["an OCI registry of charts", (targetRevision) => ({ repoURL: "ghcr.io/acme", chart: "shop", targetRevision })],
  ["an OCI image", (targetRevision) => ({ repoURL: "oci://ghcr.io/acme/shop", path: "shop", targetRevision })],
];

describe.each(HOSTS)("sources that are no Git repository on %s", (host) => {
  test.each(FORMS)("%s: a new version is planned, and synced at the configured revision", async (_, source) => {
    const { bot: starting, bumped } = startExternal(host, source, { "svc.dev/repository": REPOSITORY });
    const bot = await starting;
    const one = await bot.open(bumped);
    expect(section(bot.lastComment(one), "ext")).toMatch(/-\s+value: 1\.0\.0\n\+\s+value: 1\.1\.0/);
    bot.expectChanges("update ext", "sync ext");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("✅ succeeded");
    expect(bot.liveValue("ext")).toBe("1.1.0");
    await bot.comment(one, "svc rollback");
    expect(bot.liveValue("ext")).toBe("1.0.0");
  });

  test.each(FORMS)("%s: without the right to drive it the application is listed with the cure", async (_, source) => {
    const { bot: starting, bumped } = startExternal(host, source);
    const bot = await starting;
    const one = await bot.open(bumped);
    expect(planned(bot.lastComment(one))).toEqual([]);
    expect(bot.lastComment(one)).toContain("- `ext`: no source of the live Application points at acme/deploy.");
    expect(await bot.locked(one)).toEqual([]);
  });

  test.each([
    ["that the Application names", { plugin: { name: "cue" } }],
    ["that Argo CD finds by itself", {}],
  ])("a plugin %s may read any file, so every change is planned and the render decides", async (_, plugin) => {
    const bot = await startBot({
      host,
      applications: [],
      files: () => ({ "apps/cue/main.cue": "value: 1\n" }),
      prepare: ({ argocd }, forge) => {
        const source = { repoURL: forge.cloneUrl(REPOSITORY), path: "apps/cue", targetRevision: "main" };
        const spec = { source: { ...source, ...plugin } };
        argocd.addApplication(applicationResource("cue", { repoURL: "", spec }));
        argocd.setManifests("cue", "*", version("1"));
      },
    });
    const one = await bot.open({ "docs/readme.md": "new\n" });
    expect(section(bot.lastComment(one), "cue")).toContain(
      "No changes: the head commit and the target branch render the same.",
    );
    bot.argocd.setManifests("cue", bot.seen(one).headRevision, version("2"));
    await bot.comment(one, "svc plan");
    expect(section(bot.lastComment(one), "cue")).toContain('+  value: "2"');
    bot.expectChanges("sync cue");
    await bot.comment(one, "svc sync");
    expect(bot.liveValue("ext")).toBe("2");
  });

  test("an application that reads a changed base of its own repository by its address is listed", async () => {
    const base = (value: string) => ({ "base/configmap.yaml": configMap("web", { value }) });
    const bot = await startBot({
      host,
      applications: ["web"],
      files: (url) => ({
        ...base("1"),
        "base/kustomization.yaml": asYaml({ resources: ["configmap.yaml"] }),
        "apps/web/kustomization.yaml": asYaml({ resources: [`${url}//base?ref=main`] }),
      }),
    });
    const one = await bot.open(base("2"));
    expect(bot.lastComment(one)).toMatch(
      /^- `web`: its files read \S+base\?ref=main by this address: the change reaches it when it is merged into main,/m,
    );
    expect(await bot.locked(one)).toEqual([]);
  });

  test("a hydrated application is listed when its dry source, its synced folder or its resource changes, and holds up no other", async () => {
    const bot = await startBot({
      host,
      config: { defaults: { auto_merge: true } },
      resources: (repoURL) => ({ web: { spec: hydrated(repoURL, "apps/web") } }),
      files: () => ({ "hydrated/web/configmap.yaml": configMap("web", { value: "1" }) }),
    });
    const url = bot.forge.cloneUrl(REPOSITORY);
    const reason = "- `web`: it uses Argo CD's source hydrator, which deploys only what it has hydrated itself";
    const two = await bot.open({ "hydrated/web/configmap.yaml": configMap("web", { value: "2" }) });
    expect(bot.lastComment(two)).toContain(reason);
    const spec = hydrated(url, "apps/other");
    const three = await bot.open({ "argocd/web.yaml": asYaml(bot.resourceOf("web", { spec })) });
    expect(bot.lastComment(three)).toContain(reason);
    const one = await bot.open(changeOf(["web", "api"]));
    expect(bot.lastComment(one)).toContain(reason);
    expect(planned(bot.lastComment(one))).toEqual(["api"]);
    bot.expectChanges("sync api");
    await bot.comment(one, "svc sync");
    expect(bot.seen(one).state).toBe("merged");
  });

  test("every call about an application of another namespace names that namespace and the project", async () => {
    const inTeam = (repoURL: string) => ({ repoURL, path: "apps/web", namespace: "team-a", project: "team" });
    const bot = await startBot({
      host,
      applications: ["web"],
      argocd: { applicationNamespaces: ["team-*"] },
      config: { deployer: { temporary_apps: "always" } },
      prepare: ({ argocd }, forge) => {
        argocd.addProject("team", { sourceNamespaces: ["team-*"] });
        argocd.addApplication(applicationResource("web", inTeam(forge.cloneUrl(REPOSITORY))));
      },
    });
    const one = await bot.open(changeOf(["web"]));
    expect(planned(bot.lastComment(one))).toEqual(["team-a/web", "web"]);
    await bot.comment(one, "svc unlock -a web");
    bot.expectChanges("sync team-a/web");
    await bot.comment(one, "svc sync");
    expect(bot.changes()).toEqual(["sync team-a/web"]);
    const calls = bot.argocd.requests.filter(({ path }) => /\/applications\/[^/]+/.test(path));
    const placed = calls.map(({ path, query, body }) => {
      const given = path.endsWith("/sync") ? (body as Record<string, unknown>) : query;
      const [namespace, project] = [given.appNamespace, given.project].map((value) => [value].flat()[0]);
      return `${String(namespace)} ${String(project)}`;
    });
    expect(new Set(placed)).toEqual(new Set(["undefined default", "team-a team"]));
    const created = bot.argocd.requests.filter(
      ({ method, path }) => method === "POST" && path.endsWith("/applications"),
    );
    const namespaces = created.map(({ body }) => (body as { metadata: { namespace?: string } }).metadata.namespace);
    expect([...namespaces].sort()).toEqual(["team-a", "team-a", undefined, undefined]);
  });
});
