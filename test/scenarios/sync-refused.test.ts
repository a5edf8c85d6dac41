import { describe, expect, test } from "@jest/globals";
import { HOSTS, REPOSITORY, SHORT, startBot, type Bot } from "./bot.js";
import { section } from "./plan-comment.js";
import { apart, applicationResource, asYaml, changeOf, configMap } from "./resources.js";

const GENERATE_PATHS = "argocd.argoproj.io/manifest-generate-paths";
const CHARTS = "acme/charts";
const OWNER = { apiVersion: "argoproj.io/v1alpha1", kind: "ApplicationSet", name: "shops", uid: "1", controller: true };

/** A parent application that has deployed the resources of the others. */
function withParent(host: Bot["host"], automated?: object): Promise<Bot> {
  return startBot({
    host,
    prepare: async ({ argocd }, forge) => {
      const spec = {
        destination: { server: "https://kubernetes.default.svc", namespace: "argocd" },
        ...(automated === undefined ? {} : { syncPolicy: { automated } }),
      };
      const root = { repoURL: forge.cloneUrl(REPOSITORY), path: "argocd", spec };
      argocd.addApplication(applicationResource("root", root));
      await argocd.deploy("root");
    },
  });
}

describe.each(HOSTS)("applications that svc may not deploy on %s", (host) => {
  test("a changed definition that belongs to an ApplicationSet is shown with the owner's name and not deployed; its content alone is deployed", async () => {
    const bot = await startBot({
      host,
      prepare: ({ argocd }, forge) => {
        argocd.addApplicationSet({
          metadata: { name: "shops" },
          spec: {
            generators: [],
            template: { metadata: { name: "x" }, spec: { project: "default", destination: {} } },
          },
        });
        const web = applicationResource("web", { repoURL: forge.cloneUrl(REPOSITORY) });
        argocd.addApplication({ ...web, metadata: { name: "web", ownerReferences: [OWNER] } });
      },
    });
    const one = await bot.open({ ...bot.moved("web"), ...changeOf(["api"]) });
    const web = section(bot.lastComment(one), "web");
    expect(web).toContain("+  value: apps/moved");
    expect(web).toContain(
      "**Status:** Not locked\n\nNot deployed by a sync: its definition belongs to the ApplicationSet shops, which would revert a change: the change takes effect at the merge",
    );
    expect(await bot.locked(one)).toEqual(["api"]);
    bot.expectChanges("sync api", "sync web");
    await bot.comment(one, "svc sync");
    expect(bot.changes()).toEqual(["sync api"]);
    const two = await bot.open(changeOf(["web"]));
    await bot.comment(two, "svc sync");
    expect(bot.liveValue("web")).toBe("2");
  });

  test("a changed definition under a parent with self-heal is shown with the parent's name and not deployed", async () => {
    const bot = await withParent(host, { selfHeal: true });
    const one = await bot.open(bot.moved("web"));
    expect(section(bot.lastComment(one), "web")).toContain(
      "**Status:** Not locked\n\nNot deployed by a sync: its definition belongs to the application root, which has self-heal",
    );
    await bot.comment(one, "svc sync -a web");
    expect(bot.lastComment(one)).toContain(`Not locked by this ${SHORT[host]}: \`web\`.`);
    expect(bot.changes()).toEqual([]);
  });

  test.each(["sync", "rollback"])(
    "an application that Argo CD leaves alone gets no operation, which would start whenever that ends: %s",
    async (command) => {
      const annotations = { "argocd.argoproj.io/skip-reconcile": "true" };
      const bot = await startBot({ host, applications: ["web"], resources: () => ({ web: { annotations } }) });
      const one = await bot.open(bot.moved("web"));
      expect(section(bot.lastComment(one), "web")).toContain(
        "Argo CD leaves the application alone (skip-reconcile): nothing is deployed to it until that annotation is removed",
      );
      await bot.comment(one, `svc ${command}`);
      expect(bot.lastComment(one)).toContain("Argo CD leaves the application alone (skip-reconcile), and would");
      expect(bot.lastComment(one)).not.toContain("definition was put back");
      expect(bot.changes()).toEqual([]);
      expect(bot.argocd.application("web")).not.toHaveProperty("operation");
      expect(bot.argocd.application("web")?.spec.source?.path).toBe("apps/web");
    },
  );

  test("under another parent it is updated, with a warning that the parent shows OutOfSync until the merge", async () => {
    const bot = await withParent(host);
    const one = await bot.open(bot.moved("web"));
    const warning = "Its definition belongs to the application root, which shows OutOfSync until the merge.";
    expect(bot.lastComment(one)).toContain(warning);
    bot.expectChanges("update web", "sync web");
    await bot.comment(one, "svc sync -a web");
    expect(bot.lastComment(one)).toContain("✅ succeeded");
    expect(bot.lastComment(one)).toContain(warning);
    await bot.argocd.pollGit();
    expect(bot.argocd.application("root")?.status.sync.status).toBe("OutOfSync");
    expect(bot.liveValue("web")).toBe("apps/moved");
  });

  test("without the driving right the plan says so with both cures, and paths give none; each cure gives it", async () => {
    const ext = (bot: { readonly forge: Bot["forge"] }, more: object = {}) =>
      applicationResource("ext", { repoURL: bot.forge.cloneUrl(CHARTS), path: "ext", ...more });
    const bot = await startBot({
      host,
      config: { application_repositories: [{ application: "other-*", repositories: [REPOSITORY] }] },
      files: () => ({ ".svc.yaml": "applications:\n  - { name: ext, paths: [config/**] }\n" }),
      prepare: async ({ argocd }, forge) => {
        await forge.createRepository(CHARTS, { "ext/configmap.yaml": configMap("ext", { value: "1" }) });
        await forge.pushToBranch(CHARTS, "v2", { "ext/configmap.yaml": configMap("ext", { value: "2" }) });
        for (const name of ["ext", "other-ext"]) {
          const resource = applicationResource(name, { repoURL: forge.cloneUrl(CHARTS), path: "ext" });
          argocd.addApplication(resource);
          await forge.pushToBranch(REPOSITORY, "main", { [`argocd/${name}.yaml`]: asYaml(resource) });
        }
      },
    });
    const paths = await bot.open({ "config/any.txt": "x" });
    expect(bot.lastComment(paths)).toContain("- `ext`: none of its sources is in acme/deploy");
    const one = await bot.open({ "argocd/ext.yaml": asYaml(ext(bot, { targetRevision: "v2" })) });
    expect(bot.lastComment(one)).toContain("- `ext`: no source of the live Application points at acme/deploy.");
    expect(bot.lastComment(one)).toContain(
      "set the annotation svc.dev/repository: acme/deploy on the live Application",
    );
    expect(bot.lastComment(one)).toContain("or list the repository under application\\_repositories");
    expect(await bot.locked(one)).toEqual([]);
    bot.argocd.addApplication(ext(bot, { annotations: { "svc.dev/repository": REPOSITORY } }));
    await bot.comment(one, "svc plan");
    expect(await bot.locked(one)).toEqual(["ext"]);
    const other = applicationResource("other-ext", {
      repoURL: bot.forge.cloneUrl(CHARTS),
      path: "ext",
      targetRevision: "v2",
    });
    const two = await bot.open({ "argocd/other-ext.yaml": asYaml(other) });
    expect(await bot.locked(two)).toEqual(["other-ext"]);
  });

  test("a hydrated application takes effect at the merge", async () => {
    const hydrated = (repoURL: string) => ({
      source: undefined,
      sourceHydrator: {
        drySource: { repoURL, path: "apps/web", targetRevision: "main" },
        syncSource: { targetBranch: "env/prod", path: "apps/web" },
      },
    });
    const bot = await startBot({
      host,
      prepare: async ({ argocd }, forge) => {
        const repoURL = forge.cloneUrl(REPOSITORY);
        await forge.pushToBranch(REPOSITORY, "env/prod", {});
        argocd.addApplication(applicationResource("web", { repoURL, spec: hydrated(repoURL) }));
      },
    });
    const one = await bot.open(changeOf(["web"]));
    expect(bot.lastComment(one)).toContain("- `web`: it uses Argo CD's source hydrator");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("No applications are locked by this PR.");
  });

  test("an annotation manifest-generate-paths that does not cover the change: named in the plan, and the sync is refused with that sentence", async () => {
    const bot = await startBot({
      host,
      resources: () => ({ web: { annotations: { [GENERATE_PATHS]: "/elsewhere" } } }),
    });
    const one = await bot.open(changeOf(["web"]));
    const sentence = "the annotation manifest-generate-paths does not cover apps/web/configmap.yaml: Argo CD ignores";
    expect(bot.lastComment(one)).toContain(sentence.replace("the", "The"));
    expect(bot.lastComment(one)).toContain("**Changes:** 0 to create, 1 to update");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain(`- \`web\`: ${sentence}`);
    bot.argocd.addApplication(bot.resourceOf("web", { annotations: { [GENERATE_PATHS]: "." } }));
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("✅ succeeded");
    expect(bot.liveValue("web")).toBe("2");
  });

  test.each([
    ["a file that moves out of the folder", "apps/web/extra.yaml", { "old/extra.yaml": configMap("extra", {}) }, null],
    ["a file with a special name", "apps/web/größe.yaml", {}, configMap("extra", { value: "2" })],
  ])("what git does not show Argo CD by its name is not covered: %s", async (_case, path, added, content) => {
    const bot = await startBot({
      host,
      resources: () => ({ web: { annotations: { [GENERATE_PATHS]: "." } } }),
      files: () => ({ [path]: configMap("extra", {}) }),
    });
    const one = await bot.open({ [path]: content, ...added });
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain(`- \`web\`: git does not show ${path} to Argo CD by name`);
    expect(bot.lastComment(one)).toContain("Have the annotation `manifest-generate-paths` of `web` cover the change.");
    await bot.push(one, changeOf(["web"]));
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("✅ succeeded");
    expect(bot.liveValue("web")).toBe("2");
  });

  test("a file that goes while many others come is covered: git takes none of them for its new name", async () => {
    const bot = await startBot({
      host,
      resources: () => ({ web: { annotations: { [GENERATE_PATHS]: "." } } }),
      files: () => ({ "apps/web/extra.yaml": configMap("extra", {}) }),
    });
    const docs = Array.from({ length: 101 }, (_, at): [string, string] => [`docs/${at}.md`, `${at}\n`]);
    const one = await bot.open({ ...Object.fromEntries(docs), "apps/web/extra.yaml": null });
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync --prune");
    expect(bot.lastComment(one)).toContain("✅ succeeded");
  });

  test.each([
    ["v3.3.2", "covers apps/web/configmap.yaml with spaces around an entry", undefined],
    ["v3.4.0", "✅ succeeded", "2"],
  ])("spaces around an entry of manifest-generate-paths, on Argo CD %s: %s", async (version, said, live) => {
    const resources = () => ({ web: { annotations: { [GENERATE_PATHS]: "/elsewhere; ." } } });
    const bot = await startBot({ host, argocd: { version }, resources });
    const one = await bot.open(changeOf(["web"]));
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain(said);
    expect(bot.liveValue("web")).toBe(live);
  });

  test("behind its base: the plan warns with the commits, and require_up_to_date refuses the sync", async () => {
    const bot = await startBot({
      host,
      resources: () => apart("api", "web"),
      files: () => ({
        ".svc.yaml": "require_up_to_date: false\nsync_requirements:\n  - { name: web, require_up_to_date: true }\n",
        "apps/web/other.yaml": configMap("other", { value: "1" }),
        "apps/api/other.yaml": configMap("other-api", { value: "1" }),
      }),
    });
    const one = await bot.open(changeOf(["api", "web"]));
    await bot.forge.pushToBranch(REPOSITORY, "main", {
      "apps/web/other.yaml": configMap("other", { value: "2" }),
      "apps/api/other.yaml": configMap("other-api", { value: "2" }),
    });
    await bot.comment(one, "svc plan");
    expect(bot.lastComment(one)).toContain(
      "The base branch main changed apps/web/other.yaml since this branch left it",
    );
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain(
      "- `web`: the base branch main changed apps/web/other.yaml since this branch left it",
    );
    expect(bot.lastComment(one)).toContain("\nsvc sync -a api\n```");
    bot.expectChanges("sync api");
    await bot.comment(one, "svc sync -a api");
    expect(bot.lastComment(one)).toContain("✅ succeeded");
  });
});
