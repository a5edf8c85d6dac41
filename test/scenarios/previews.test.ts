import { describe, expect, test } from "@jest/globals";
import { stringify } from "yaml";
import type { Compute } from "../../src/core/ports/compute.js";
import { inlineCompute } from "../in-memory/inline-compute.js";
import { HOSTS, REPOSITORY, startBot, type Bot } from "./bot.js";
import { section } from "./plan-comment.js";
import { applicationResource, asYaml, configMap, type ApplicationOptions } from "./resources.js";
import { names, shops } from "./sets.js";

const PRIVATE = "acme/private";
const CASCADING = "resources-finalizer.argocd.argoproj.io";

function newApplication(bot: Bot, name: string, more: Partial<ApplicationOptions> = {}) {
  return { [`argocd/${name}.yaml`]: asYaml(bot.resourceOf(name, more)) };
}

function claim(name: string, annotations: object = {}): string {
  return stringify({
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name, annotations },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
  });
}

const created = ({ argocd }: Bot) =>
  argocd.requests.filter(({ method, path }) => method === "POST" && path.endsWith("/applications"));

describe.each(HOSTS)("applications that a plan shows and a sync does not deploy, on %s", (host) => {
  test("a new application shows what it would create, with dangers, and leaves nothing behind", async () => {
    const bot = await startBot({ host });
    const one = await bot.open({
      "apps/shop/configmap.yaml": configMap("shop", { value: "1" }),
      "apps/shop/namespace.yaml": stringify({ apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } }),
      "apps/shop/secret.yaml": stringify({
        apiVersion: "v1",
        kind: "Secret",
        metadata: { name: "shop" },
        stringData: { token: "hunter22" },
      }),
      ...newApplication(bot, "shop"),
    });
    const comment = bot.lastComment(one);
    const shop = section(comment, "shop");
    expect(shop).toContain("**Creates:** 3 resources");
    expect(shop).toContain("- Creates Namespace shop.");
    expect(shop).toContain('+  value: "1"');
    expect(comment).not.toContain("hunter22");
    expect(created(bot)).toHaveLength(1);
    expect(bot.argocd.temporaryApplications()).toEqual([]);
    expect(bot.changes()).toEqual([]);
  });

  test("a deleted application that Argo CD leaves alone is not asked about", async () => {
    const annotations = { "argocd.argoproj.io/skip-reconcile": "true" };
    const bot = await startBot({ host, applications: ["web"], resources: () => ({ web: { annotations } }) });
    const one = await bot.open({ "argocd/web.yaml": null });
    expect(section(bot.lastComment(one), "web")).toContain("Argo CD leaves the application alone (skip-reconcile)");
  });

  test("a deleted application shows what goes with it, volumes first, and what stays", async () => {
    const bot = await startBot({
      host,
      applications: ["web", "api"],
      files: () => ({
        "apps/web/data.yaml": claim("data"),
        "apps/web/kept.yaml": claim("kept", { "argocd.argoproj.io/sync-options": "Delete=false" }),
      }),
      prepare: ({ argocd }, forge) => {
        argocd.removeApplication("web");
        const resource = applicationResource("web", { repoURL: forge.cloneUrl(REPOSITORY) });
        argocd.addApplication({ ...resource, metadata: { name: "web", finalizers: [CASCADING] } });
      },
    });
    await bot.argocd.deploy("web");
    await bot.argocd.deploy("api");
    const one = await bot.open({ "argocd/web.yaml": null, "argocd/api.yaml": null });
    const comment = bot.lastComment(one);
    const web = section(comment, "web");
    expect(web).toContain("**Deletes:** 2 resources with the application");
    expect(web).toContain("- Deletes PersistentVolumeClaim guestbook/data: its data is lost unless");
    expect(web).toContain("- Keeps PersistentVolumeClaim guestbook/kept in the cluster, because of Delete=false");
    expect(web).toContain("# delete: ConfigMap guestbook/web");
    expect(comment).toContain("deletes PersistentVolumeClaim guestbook/data");
    const api = section(comment, "api");
    expect(api).toContain("**Leaves behind:** 1 resource in the cluster");
    expect(api).toContain(" ConfigMap guestbook/api");
    expect(bot.argocd.application("web")).toBeDefined();
    expect(bot.argocd.liveObject("ConfigMap", "guestbook", "api")).toBeDefined();
  });

  test.each(["v3.3.19", "v3.5.1"])(
    "nothing is promised of a deleted application of which Argo CD %s does not tell the objects",
    async (version) => {
      const bot = await startBot({ host, argocd: { version }, applications: ["web"] });
      await bot.argocd.deploy("web");
      bot.argocd.removeApplication("web");
      bot.argocd.addApplication(bot.resourceOf("web", { path: "apps/nowhere" }));
      const one = await bot.open({ "argocd/web.yaml": null });
      expect(section(bot.lastComment(one), "web")).toContain("**Resources:** could not be previewed");
    },
  );

  test.each([[[CASCADING]], [[]]])(
    "hooks that run when an application goes are named, with finalizers %j",
    async (own) => {
      const slow: Compute = {
        run: async (task, input, limits) =>
          task.name === "removal" ? { kind: "exceeded", limit: "time" } : inlineCompute.run(task, input, limits),
      };
      const bot = await startBot({
        host,
        applications: ["web", "api"],
        compute: slow,
        prepare: ({ argocd }, forge) => {
          argocd.removeApplication("web");
          const resource = applicationResource("web", { repoURL: forge.cloneUrl(REPOSITORY) });
          const finalizers = [...own, "post-delete-finalizer.argocd.argoproj.io/cleanup"];
          argocd.addApplication({ ...resource, metadata: { name: "web", finalizers } });
        },
      });
      const one = await bot.open({ "argocd/web.yaml": null, "argocd/api.yaml": null });
      const warning = "Argo CD runs hooks of it when it is deleted (PreDelete, PostDelete), which are not shown";
      expect(section(bot.lastComment(one), "web")).toContain(warning);
      expect(section(bot.lastComment(one), "api")).not.toContain("PostDelete");
      await bot.argocd.deploy("web");
      const large = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "web", namespace: "guestbook" } };
      bot.argocd.putLiveObject({ ...large, data: { value: "x".repeat(10_000) } });
      await bot.comment(one, "svc plan");
      expect(section(bot.lastComment(one), "web")).toContain("took too long and was stopped");
      expect(section(bot.lastComment(one), "web")).toContain(warning);
      const away = { kind: "status", status: 403, body: "{}" } as const;
      bot.argocd.faults.add({ path: /\/applications\/web\/managed-resources$/, fault: away });
      await bot.comment(one, "svc plan");
      expect(section(bot.lastComment(one), "web")).toContain("**Resources:** could not be previewed");
      expect(section(bot.lastComment(one), "web")).toContain(warning);
    },
  );

  test("a preview that cannot be made says why, and every other application is planned", async () => {
    const bot = await startBot({
      host,
      config: { deployer: { preview_limit: 2 } },
      applications: ["web"],
    });
    const one = await bot.open({
      "apps/web/configmap.yaml": configMap("web", { value: "2" }),
      ...newApplication(bot, "a-broken", { path: "apps/nowhere" }),
      ...newApplication(bot, "b-lost", { spec: { destination: { name: "far-away", namespace: "x" } } }),
      ...newApplication(bot, "c-third"),
    });
    const comment = bot.lastComment(one);
    for (const [name, reason] of [
      ["a-broken", "apps/nowhere: app path does not exist"],
      ["b-lost", "there are no clusters with this name: far-away"],
    ] as const) {
      expect(section(comment, name)).toContain("**Resources:** could not be previewed");
      expect(section(comment, name)).toContain(reason);
    }
    expect(section(comment, "c-third")).toContain(
      "**Resources:** not previewed: a plan previews at most 2 applications (`argocd.preview_limit`)",
    );
    expect(section(comment, "web")).toContain('+  value: "2"');
    expect(bot.argocd.temporaryApplications()).toEqual([]);
    expect(await bot.locked(one)).toContain("c-third");
  });

  test("a push in the middle of a preview leaves nothing behind, and only the newest commit is told", async () => {
    const bot = await startBot({ host });
    const preview = { method: "GET", path: /\/applications\/svc-tmp-[^/]+\/manifests$/ };
    let during = 0;
    bot.meanwhile("argocd", preview, async () => {
      during = bot.argocd.temporaryApplications().length;
      await bot.forge.push(REPOSITORY, 1, { "apps/shop/configmap.yaml": configMap("shop", { value: "2" }) });
    });
    const one = await bot.open({
      "apps/shop/configmap.yaml": configMap("shop", { value: "1" }),
      ...newApplication(bot, "shop"),
    });
    expect(during).toBe(1);
    expect(bot.answers(one)).toHaveLength(1);
    expect(section(bot.lastComment(one), "shop")).toContain('+  value: "2"');
    expect(bot.argocd.temporaryApplications()).toEqual([]);
  });

  test("a plan with -a keeps what the plan of the same commit has told of the others", async () => {
    const bot = await startBot({ host });
    const one = await bot.open({
      "sets/shops.yaml": shops(bot.forge.cloneUrl(REPOSITORY), names("it")),
      "shops/it/configmap.yaml": configMap("it", { value: "1" }),
      "apps/web/configmap.yaml": configMap("web", { value: "2" }),
      "argocd/api.yaml": null,
    });
    const whole = await bot.stores.plans.find(bot.ref(one));
    expect(whole?.previews).toMatchObject([{ application: "shop-it", content: { kind: "compared" } }]);
    await bot.comment(one, "svc plan -a web");
    const narrow = await bot.stores.plans.find(bot.ref(one));
    expect(narrow?.previews).toEqual(whole?.previews);
    expect(narrow?.applications[0]).toEqual(whole?.applications[0]);
  });

  test("a token that may not create temporary Applications is told the permission", async () => {
    const bot = await startBot({
      host,
      config: ({ argocd }) => ({ deployer: { token: argocd.addAccount("small", { permissions: "get+sync" }) } }),
    });
    const one = await bot.open({ "apps/shop/configmap.yaml": configMap("shop", {}), ...newApplication(bot, "shop") });
    const shop = section(bot.lastComment(one), "shop");
    expect(shop).toContain("**Resources:** could not be previewed");
    expect(shop).toContain("applications, create");
    expect(shop).toContain("give them to svc's token");
  });

  test("what no application here reads is not rendered before an approval, which plans again", async () => {
    const bot = await startBot({
      host,
      prepare: async ({ argocd }, forge) => {
        await forge.createRepository(PRIVATE, { "apps/shop/configmap.yaml": configMap("shop", { value: "secret-7" }) });
        argocd.addProject("open", {});
        argocd.addApplication({
          apiVersion: "argoproj.io/v1alpha1",
          kind: "Application",
          metadata: { name: "theirs" },
          spec: {
            project: "default",
            source: { repoURL: forge.cloneUrl(PRIVATE), path: "apps/shop", targetRevision: "main" },
            destination: { server: "https://kubernetes.default.svc", namespace: "theirs" },
          },
        });
      },
    });
    const url = bot.forge.cloneUrl(PRIVATE);
    const one = await bot.open({
      "apps/other/configmap.yaml": configMap("other", {}),
      ...newApplication(bot, "shop", { repoURL: url }),
      ...newApplication(bot, "other", { project: "open" }),
      ...newApplication(bot, "stray", { project: "nowhere" }),
    });
    for (const [name, read] of [
      ["shop", url],
      ["other", "the project open"],
      ["stray", "the project nowhere"],
    ] as const) {
      const text = section(bot.lastComment(one), name);
      expect(text).toContain("it is not rendered before somebody who may deploy it has approved this commit");
      expect(text).toContain(`it uses ${read}, and no running application that ${REPOSITORY} defines`);
      expect(text).toContain("An approval of this commit plans it again");
    }
    expect(created(bot)).toEqual([]);
    await bot.comment(one, "svc plan");
    expect(bot.answers(one).join("\n")).not.toContain("secret-7");
    const status = bot.forge.statuses(REPOSITORY, bot.seen(one).headRevision).at(-1);
    const description = expect.stringMatching(/^needs an approval before it is rendered: other, shop, stray;/);
    if (host === "hosta") expect(status).toMatchObject({ state: "pending", description });
    await bot.approve(one);
    expect(section(bot.lastComment(one), "shop")).toContain("+  value: secret-7");
    expect(section(bot.lastComment(one), "other")).toContain("**Creates:** 1 resource");
    expect(section(bot.lastComment(one), "stray")).toContain("**Resources:** could not be previewed");
    expect(section(bot.lastComment(one), "stray")).toContain('app is not allowed in project "nowhere"');
    expect(bot.argocd.temporaryApplications()).toEqual([]);
  });
});
