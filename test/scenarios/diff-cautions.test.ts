import { describe, expect, test } from "@jest/globals";
import { stringify } from "yaml";
import { HOSTS, startBot } from "./bot.js";
import { section } from "./plan-comment.js";
import { asYaml, configMap } from "./resources.js";

function resource(apiVersion: string, kind: string, name: string, more: object = {}, metadata: object = {}): string {
  return stringify({ apiVersion, kind, metadata: { name, ...metadata }, ...more });
}

function deployment(app: string, env: readonly string[], options?: string): string {
  const annotations = options === undefined ? {} : { annotations: { "argocd.argoproj.io/sync-options": options } };
  const containers = [{ name: "web", image: "web:1", env: env.map((name) => ({ name, value: "1" })) }];
  const spec = {
    selector: { matchLabels: { app } },
    template: { metadata: { labels: { app } }, spec: { containers } },
  };
  return resource("apps/v1", "Deployment", "web", { spec }, annotations);
}

const DATA = resource("v1", "PersistentVolumeClaim", "data", { spec: { storageClassName: "fast" } });

describe.each(HOSTS)("what a plan calls out on %s", (host) => {
  test("an object of the merge before is in no danger, although Argo CD has not compared with that merge yet", async () => {
    const bot = await startBot({ host, config: { defaults: { auto_merge: true } } });
    const one = await bot.open({ "apps/web/one.yaml": configMap("one", { value: "1" }) });
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.seen(one).state).toBe("merged");
    const two = await bot.open({ "apps/web/two.yaml": configMap("two", { value: "1" }) });
    expect(section(bot.lastComment(two), "web")).toContain("create: ConfigMap guestbook/two");
    expect(bot.lastComment(two)).not.toContain("guestbook/one");
    const three = await bot.open({ "apps/web/one.yaml": null });
    await bot.comment(two, "svc unlock");
    expect(bot.lastComment(three)).toContain("delete: ConfigMap guestbook/one");
  });

  test("an object whose name is no text is a danger: its sync will fail", async () => {
    const bot = await startBot({ host });
    const one = await bot.open({ "apps/web/no.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: n}\n" });
    const plan = bot.lastComment(one);
    expect(section(plan, "web")).toContain(
      "- Kubernetes cannot take ConfigMap guestbook/(without a name), whose metadata.name must be text: the sync will fail.",
    );
    expect(plan.split("\n")[2]).toContain("Kubernetes refuses");
  });

  test("words that Kubernetes reads otherwise are read like that, and named with their line", async () => {
    const paused = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n";
    const bot = await startBot({
      host,
      files: () => ({ "apps/web/deployment.yaml": `${paused}  minReadySeconds: 010\n` }),
    });
    const one = await bot.open({
      "apps/web/deployment.yaml": `${paused}  minReadySeconds: 010\n  paused: on\n  replicas: 1_0 # or on\n`,
      ".github/workflows/check.yml": "on: push\n",
    });
    expect(section(bot.lastComment(one), "web")).toContain("+  paused: true\n+  replicas: 10\n");
    const notes = bot
      .lastComment(one)
      .split("\n")
      .filter((line) => line.includes("for Kubernetes"));
    expect(notes).toEqual([
      "- `apps/web/deployment.yaml, line 6: on is true for Kubernetes. Write it in quotes if a text is meant.`",
      "- `apps/web/deployment.yaml, line 7: 1_0 is 10 for Kubernetes. Write it in quotes if a text is meant.`",
    ]);
  });

  test("deletes of volumes and refused changes stand right under the counts, the worst first", async () => {
    const bot = await startBot({
      host,
      files: () => ({
        "apps/web/claim.yaml": DATA,
        "apps/web/deployment.yaml": deployment("web", ["A"]),
        "apps/web/kept.yaml": resource(
          "v1",
          "ConfigMap",
          "kept",
          {},
          {
            annotations: { "argocd.argoproj.io/sync-options": "Prune=false" },
          },
        ),
      }),
    });
    const one = await bot.open({
      "apps/web/claim.yaml": null,
      "apps/web/kept.yaml": null,
      "apps/web/deployment.yaml": deployment("shop", ["A"]),
      "apps/web/namespace.yaml": resource("v1", "Namespace", "shop"),
      "apps/web/migrate.yaml": resource(
        "batch/v1",
        "Job",
        "migrate",
        {},
        {
          annotations: { "argocd.argoproj.io/hook": "PreSync" },
        },
      ),
    });
    expect(section(bot.lastComment(one), "web")).toContain(
      [
        "**Changes:** 1 to create, 1 to update",
        "**Deletes:** 1 to delete (kept in the cluster without --prune)",
        "**Stays:** 1 left in the cluster by any sync (Prune=false)",
        "**Hooks:** 1 changed",
        [
          "**Caution:**",
          "- Pruning PersistentVolumeClaim guestbook/data: its data is lost unless the volume's reclaim policy is Retain.",
          "- Kubernetes refuses to change spec.selector of apps/Deployment guestbook/web: the sync will fail unless it is replaced (argocd.argoproj.io/sync-options: Replace=true,Force=true).",
          "- Keeps ConfigMap guestbook/kept in the cluster even with --prune, because of Prune=false: delete it by hand if it is to go.",
          "- Creates Namespace shop.",
          "- Runs the new hook batch/Job guestbook/migrate (PreSync).",
        ].join("\n"),
        "<details open>",
      ].join("\n\n"),
    );
    expect(bot.lastComment(one).split("\n")[2]).toContain(
      "⚠️ deletes PersistentVolumeClaim guestbook/data with --prune, Kubernetes refuses to change apps/Deployment guestbook/web · [`web`]",
    );
  });

  test("a destination that is written in another way hides nothing: the name may be that of the same cluster", async () => {
    const at = (cluster: object) => ({ spec: { destination: { ...cluster, namespace: "guestbook" } } });
    const bot = await startBot({
      host,
      applications: ["web"],
      resources: () => ({ web: at({ name: "prod" }) }),
      files: () => ({
        "apps/web/claim.yaml": DATA,
        "apps/web/deployment.yaml": deployment("web", ["A"]),
        "apps/web/role.yaml": resource("rbac.authorization.k8s.io/v1", "Role", "web", { rules: [] }),
      }),
    });
    const one = await bot.open({
      "argocd/web.yaml": asYaml(bot.resourceOf("web", at({ server: "https://10.0.0.12:6443" }))),
      "apps/web/claim.yaml": null,
      "apps/web/deployment.yaml": deployment("shop", ["A"]),
    });
    const web = section(bot.lastComment(one), "web");
    expect(web).toContain("- Pruning PersistentVolumeClaim guestbook/data: its data is lost");
    expect(web).toContain("- Kubernetes refuses to change spec.selector of apps/Deployment guestbook/web");
    expect(web).toContain("# create: rbac.authorization.k8s.io/Role guestbook/web");
    expect(web).toContain("in place of prod: if that is another one, everything is created there");
  });

  test("with the option that replaces the object, the plan says that it is deleted and created anew", async () => {
    const bot = await startBot({ host, files: () => ({ "apps/web/deployment.yaml": deployment("web", ["A"]) }) });
    const one = await bot.open({ "apps/web/deployment.yaml": deployment("shop", ["A"], "Replace=true,Force=true") });
    const web = section(bot.lastComment(one), "web");
    expect(web).toContain("- Deletes apps/Deployment guestbook/web and creates it anew (Force=true)");
    expect(web).not.toContain("the sync will fail");
  });

  test("with the option newly in its definition, the plan says that everything is overwritten, changed or not", async () => {
    const bot = await startBot({ host, prepare: ({ argocd }) => argocd.deploy("web") });
    const replaced = bot.resourceOf("web", { spec: { syncPolicy: { syncOptions: ["Replace=true"] } } });
    const one = await bot.open({ "argocd/web.yaml": asYaml(replaced) });
    const what = "Overwrites every object whole, also those that do not change (Replace=true)";
    expect(section(bot.lastComment(one), "web")).toContain(`- ${what}: what others wrote into them is lost`);
    expect(bot.lastComment(one).split("\n")[2]).toContain("overwrites every object");
    bot.expectChanges("update web", "sync web");
    await bot.comment(one, "svc sync");
    await bot.push(one, { "apps/web/configmap.yaml": configMap("web-cfg", { message: "two" }) });
    expect(bot.lastComment(one)).not.toContain("verwrites every object");
  });

  test("another order in a Pod template is a change and is shown as one of order, in a Role it is none", async () => {
    const role = (...verbs: string[]) =>
      resource("rbac.authorization.k8s.io/v1", "Role", "web", { rules: verbs.map((verb) => ({ verbs: [verb] })) });
    const bot = await startBot({
      host,
      files: () => ({
        "apps/web/deployment.yaml": deployment("web", ["A", "B"]),
        "apps/web/role.yaml": role("get", "list"),
      }),
    });
    const one = await bot.open({ "apps/web/role.yaml": role("list", "get") });
    expect(section(bot.lastComment(one), "web")).toContain(
      "No changes: the head commit and the target branch render the same.",
    );
    await bot.push(one, { "apps/web/deployment.yaml": deployment("web", ["B", "A"]) });
    const web = section(bot.lastComment(one), "web");
    expect(web).toContain("**Changes:** 0 to create, 1 to update");
    expect(web).toContain(
      "# Only the order of spec.template.spec.containers[].env changes: the Pods are rolled for it.",
    );
  });

  test("the Applications that a parent would create, change and delete are named", async () => {
    const child = (bot: { resourceOf(name: string, more: object): object }, name: string, path: string) =>
      asYaml(bot.resourceOf(name, { path, namespace: "argocd" }));
    const bot = await startBot({
      host,
      applications: ["parent"],
      files: (cloneUrl) => {
        const described = (name: string) => ({
          apiVersion: "argoproj.io/v1alpha1",
          kind: "Application",
          metadata: { name, namespace: "argocd" },
          spec: {
            project: "default",
            source: { repoURL: cloneUrl, path: "shop", targetRevision: "main" },
            destination: { server: "https://kubernetes.default.svc", namespace: "guestbook" },
          },
        });
        return {
          "shop/configmap.yaml": configMap("shop", { value: "1" }),
          "apps/parent/gone.yaml": asYaml(described("gone")),
          "apps/parent/moved.yaml": asYaml(described("moved")),
        };
      },
    });
    const one = await bot.open({
      "apps/parent/gone.yaml": null,
      "apps/parent/moved.yaml": child(bot, "moved", "shop/other"),
      "apps/parent/fresh.yaml": child(bot, "fresh", "shop"),
    });
    expect(section(bot.lastComment(one), "parent")).toContain(
      "Applications it would create: `fresh`; change: `moved`; delete: `gone`",
    );
  });
});
