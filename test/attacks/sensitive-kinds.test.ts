import { describe, expect, test } from "@jest/globals";
import type { FileChanges } from "../../sandbox/forge.js";
import { HOSTS, REPOSITORY, startBot, type Bot, type BotOptions } from "../scenarios/bot.js";
import { applicationResource, asYaml, changeOf, configMap } from "../scenarios/resources.js";
import { names, runsShops, shops, shopsResource } from "../scenarios/sets.js";

const UNAPPROVED = "PR must be approved before sync";
const GRANTS = "which sets limits or grants rights";

type Text = Readonly<Record<string, unknown>>;

function object(kind: string, apiVersion: string, name: string, more: Text = {}, labels: Text = {}): string {
  return asYaml({ apiVersion, kind, metadata: { name, labels }, ...more });
}

const RBAC = "rbac.authorization.k8s.io/v1";
const ADMIN = object("ClusterRoleBinding", RBAC, "all", {
  roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
  subjects: [{ kind: "ServiceAccount", name: "default", namespace: "guestbook" }],
});
const CREATES_ADMIN = "creates rbac.authorization.k8s.io/ClusterRoleBinding all";

function start(host: Bot["host"], more: Partial<BotOptions> = {}): Promise<Bot> {
  return startBot({ host, applications: ["web"], checkWords: false, ...more });
}

const statusOf = (bot: Bot, number: number) => bot.forge.statuses(REPOSITORY, bot.seen(number).headRevision).at(-1);

describe.each(HOSTS)("objects that set limits or grant rights on %s", (host) => {
  test.each<[string, string, string]>([
    ["a role's binding", ADMIN, CREATES_ADMIN],
    ["a role", object("ClusterRole", RBAC, "all", { rules: [] }), "creates rbac.authorization.k8s.io/ClusterRole all"],
    [
      "a role's binding under the name that OpenShift has for its group",
      ADMIN.replace(RBAC, "authorization.openshift.io/v1"),
      "creates authorization.openshift.io/ClusterRoleBinding",
    ],
    [
      "a project",
      object("AppProject", "argoproj.io/v1alpha1", "default", { spec: {} }),
      "AppProject guestbook/default",
    ],
    [
      "rights of Argo CD",
      configMap("argocd-rbac-cm", { "policy.default": "role:admin" }),
      "ConfigMap guestbook/argocd-rbac-cm",
    ],
    [
      "a repository of Argo CD",
      object("Secret", "v1", "repo", { stringData: { url: "x" } }, { "argocd.argoproj.io/secret-type": "repository" }),
      "Secret guestbook/repo",
    ],
    [
      "a webhook",
      object("MutatingWebhookConfiguration", "admissionregistration.k8s.io/v1", "evil", { webhooks: [] }),
      "creates admissionregistration.k8s.io/MutatingWebhookConfiguration evil",
    ],
    ["a list of them", asYaml({ apiVersion: "v1", kind: "List", items: [JSON.parse(ADMIN) as object] }), CREATES_ADMIN],
  ])("%s is a danger and needs an approval, whatever the rules say", async (_what, manifest, title) => {
    const bot = await start(host);
    const one = await bot.open({ "apps/web/more.yaml": manifest });
    expect(
      bot
        .lastComment(one)
        .split("\n")
        .find((line) => line.includes("⚠️")),
    ).toContain(title);
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain(UNAPPROVED);
    expect(bot.lastComment(one)).toContain(title);
    expect(bot.lastComment(one)).toContain(GRANTS);
    expect(bot.changes()).toEqual([]);
    await bot.approve(one);
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.changes()).toEqual(["sync web"]);
  });

  test("a changed one needs it, one that stays or goes does not", async () => {
    const role = (verbs: readonly string[]) =>
      object("Role", RBAC, "reader", { rules: [{ apiGroups: [""], resources: ["secrets"], verbs }] });
    // The token with which the role can be taken on again was withdrawn.
    const project = (items: readonly Text[]) =>
      object("AppProject", "argoproj.io/v1alpha1", "shop", {
        spec: {},
        status: { jwtTokensByRole: { ci: { items } } },
      });
    const files = { "apps/web/role.yaml": role(["get"]), "apps/web/project.yaml": project([]) };
    const bot = await start(host, { files: () => files });
    const one = await bot.open({ "apps/web/role.yaml": role(["get", "list"]) });
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain(`it changes rbac.authorization.k8s.io/Role guestbook/reader, ${GRANTS}`);
    await bot.push(one, { "apps/web/role.yaml": role(["get"]), ...changeOf(["web"]) });
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.changes()).toEqual(["sync web"]);
    await bot.push(one, { "apps/web/role.yaml": null, ...changeOf(["web"], "3") });
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).not.toContain(UNAPPROVED);
    await bot.push(one, { "apps/web/project.yaml": project([{ id: "old", iat: 1 }]) });
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain(`it changes argoproj.io/AppProject guestbook/shop, ${GRANTS}`);
  });

  test("a policy of another kind that goes needs it as well, if that kind is listed", async () => {
    const policy = object("NetworkPolicy", "networking.k8s.io/v1", "closed", { spec: { podSelector: {} } });
    const bot = await start(host, {
      config: { sensitive_kinds: [{ kind: "NetworkPolicy.networking.k8s.io" }] },
      files: () => ({ "apps/web/policy.yaml": policy }),
    });
    const one = await bot.open({ "apps/web/policy.yaml": null });
    await bot.comment(one, "svc sync --prune");
    const what = "deletes networking.k8s.io/NetworkPolicy guestbook/closed";
    expect(bot.lastComment(one)).toContain(`it ${what}, ${GRANTS}`);
    expect(bot.changes()).toEqual([]);
  });

  test("a policy that goes needs it as well, since that lifts limits, unless no sync deletes it", async () => {
    const policy = (options: string) =>
      asYaml({
        apiVersion: "admissionregistration.k8s.io/v1",
        kind: "ValidatingWebhookConfiguration",
        metadata: { name: "limits", annotations: { "argocd.argoproj.io/sync-options": options } },
        webhooks: [],
      });
    const files = { "apps/web/policy.yaml": policy(""), "apps/wiki/policy.yaml": policy("Prune=false") };
    const bot = await start(host, { applications: ["web", "wiki"], files: () => files });
    const what = "deletes admissionregistration.k8s.io/ValidatingWebhookConfiguration limits";
    const one = await bot.open({ "apps/web/policy.yaml": null });
    expect(
      bot
        .lastComment(one)
        .split("\n")
        .find((line) => line.includes("⚠️")),
    ).toContain(`${what} with --prune`);
    await bot.comment(one, "svc sync --prune");
    expect(bot.lastComment(one)).toContain(`it ${what}, ${GRANTS}`);
    expect(bot.changes()).toEqual([]);
    const two = await bot.open({ "apps/wiki/policy.yaml": null });
    bot.expectChanges("sync wiki");
    await bot.comment(two, "svc sync --prune");
    expect(bot.lastComment(two)).not.toContain(UNAPPROVED);
  });

  test.each<[string, string, string]>([
    [
      "a cluster of Argo CD, with which ApplicationSets delete applications,",
      object("Secret", "v1", "eu", { stringData: { name: "eu" } }, { "argocd.argoproj.io/secret-type": "cluster" }),
      "Secret guestbook/eu",
    ],
    [
      "a limit of traffic that the server's list has",
      object("NetworkPolicy", "networking.k8s.io/v1", "closed", { spec: { podSelector: {} } }),
      "networking.k8s.io/NetworkPolicy guestbook/closed",
    ],
  ])("%s needs it as well where it goes", async (_, manifest, title) => {
    const bot = await start(host, {
      config: {
        sensitive_kinds: [
          { kind: "Secret", label: "argocd.argoproj.io/secret-type" },
          { kind: "NetworkPolicy.networking.k8s.io" },
        ],
      },
      files: () => ({ "apps/web/more.yaml": manifest }),
    });
    const one = await bot.open({ "apps/web/more.yaml": null });
    expect(bot.lastComment(one)).toContain(`deletes ${title}`);
    await bot.comment(one, "svc sync --prune");
    expect(bot.lastComment(one)).toContain(`it deletes ${title}, ${GRANTS}`);
    expect(bot.changes()).toEqual([]);
  });

  test.each(["branch", "live", "both"])(
    "a Namespace of whose labels the definition says something else needs it, in diff_mode %s",
    async (mode) => {
      const label = "pod-security.kubernetes.io/enforce";
      const managed = (level: string) => ({
        syncPolicy: {
          syncOptions: ["CreateNamespace=true"],
          managedNamespaceMetadata: { labels: { [label]: level } },
        },
      });
      const bot = await start(host, {
        config: { deployer: { diff_mode: mode }, sensitive_kinds: [{ kind: "Namespace", label }] },
        applications: ["web", "api"],
        resources: () => ({ web: { spec: managed("restricted") } }),
        prepare: ({ argocd }) => argocd.deploy("web"),
      });
      // What runs in a Namespace does not create it.
      const first = await bot.open({
        "argocd/api.yaml": asYaml(bot.resourceOf("api", { spec: managed("privileged") })),
      });
      expect(bot.lastComment(first)).toContain("Changes Namespace guestbook: that sets limits");
      const one = await bot.open({ "argocd/web.yaml": asYaml(bot.resourceOf("web", { spec: managed("privileged") })) });
      expect(bot.lastComment(one)).toContain(`-    ${label}: restricted`);
      expect(bot.lastComment(one)).toContain(`+    ${label}: privileged`);
      expect(bot.lastComment(one)).toContain("0 to create, 1 to update");
      await bot.comment(one, "svc sync");
      expect(bot.lastComment(one)).toContain(`it changes Namespace guestbook, ${GRANTS}`);
      expect(bot.changes()).toEqual([]);
      const two = await bot.open({
        "apps/fresh/a.yaml": configMap("fresh", { a: "1" }),
        "argocd/fresh.yaml": asYaml(bot.resourceOf("fresh", { spec: managed("privileged") })),
      });
      expect(bot.lastComment(two)).toContain("Creates Namespace guestbook: that sets limits");
    },
  );

  test.each(["live", "both"])(
    "in diff_mode %s it needs the approval even if the difference is ignored",
    async (mode) => {
      const ignoreDifferences = [
        { group: "rbac.authorization.k8s.io", kind: "*", jsonPointers: ["/subjects", "/roleRef"] },
      ];
      const bot = await start(host, {
        config: { deployer: { diff_mode: mode } },
        resources: () => ({ web: { spec: { ignoreDifferences } } }),
      });
      const one = await bot.open({ "apps/web/more.yaml": ADMIN });
      await bot.comment(one, "svc sync");
      expect(bot.lastComment(one)).toContain(`it ${CREATES_ADMIN}, ${GRANTS}`);
      expect(bot.changes()).toEqual([]);
    },
  );

  test("where Argo CD deploys it at the merge, an approval is needed before: auto-sync", async () => {
    const bot = await start(host, {
      config: { [host]: { commit_status: true } },
      resources: () => ({ web: { spec: { syncPolicy: { automated: {} } } } }),
    });
    const one = await bot.open({ "apps/web/more.yaml": ADMIN });
    await expectHeldBack(bot, one, "web");
  });

  test("where Argo CD deploys it at the merge, an approval is needed before: a new application", async () => {
    const bot = await start(host, { config: { [host]: { commit_status: true } } });
    const one = await bot.open({
      "apps/fresh/more.yaml": ADMIN,
      "argocd/fresh.yaml": asYaml(bot.resourceOf("fresh")),
    });
    await expectHeldBack(bot, one, "fresh");
  });

  test("where Argo CD deploys it at the merge, an approval is needed before: a child of a new application, and its child", async () => {
    const child = (bot: Bot, name: string, path: string) => asYaml(bot.resourceOf(name, { namespace: "argocd", path }));
    const bot = await start(host, { config: { [host]: { commit_status: true } } });
    const one = await bot.open({
      "argocd/root.yaml": asYaml(bot.resourceOf("root", { path: "children" })),
      "children/mid.yaml": child(bot, "mid", "mid"),
      "mid/leaf.yaml": child(bot, "leaf", "leaf"),
      "leaf/more.yaml": ADMIN,
    });
    await expectHeldBack(bot, one, "leaf");
  });

  test("where Argo CD deploys it at the merge, an approval is needed before: a generated application", async () => {
    const bot = await start(host, {
      config: { [host]: { commit_status: true } },
      files: (url) => ({
        "sets/shops.yaml": shops(url, names("one")),
        "shops/one/a.yaml": configMap("one", { a: "1" }),
      }),
      prepare: (world, forge) => {
        runsShops(world, shopsResource(forge.cloneUrl(REPOSITORY), names("one")), []);
      },
    });
    const one = await bot.open({
      "sets/shops.yaml": shops(bot.forge.cloneUrl(REPOSITORY), names("one", "two")),
      "shops/two/more.yaml": ADMIN,
    });
    await expectHeldBack(bot, one, "shop-two");
  });

  test("where the merge deletes an application with a policy, an approval is needed before", async () => {
    const limits = object("ValidatingWebhookConfiguration", "admissionregistration.k8s.io/v1", "limits");
    const bot = await start(host, {
      config: { [host]: { commit_status: true } },
      files: () => ({ "apps/web/policy.yaml": limits }),
      prepare: ({ argocd }, forge) => {
        argocd.removeApplication("web");
        const resource = applicationResource("web", { repoURL: forge.cloneUrl(REPOSITORY) });
        const finalizers = ["resources-finalizer.argocd.argoproj.io"];
        argocd.addApplication({ ...resource, metadata: { name: "web", finalizers } });
      },
    });
    await bot.argocd.deploy("web");
    const one = await bot.open({ "argocd/web.yaml": null });
    await expectHeldBack(bot, one, "web", "deletes admissionregistration.k8s.io/ValidatingWebhookConfiguration limits");
  });

  test("a child that deploys itself needs it at the sync of its parent", async () => {
    const automated = { syncPolicy: { automated: {} } };
    const tracked = (name: string) => ({
      annotations: { "argocd.argoproj.io/tracking-id": `root:argoproj.io/Application:argocd/${name}` },
    });
    const child = (url: string, path: string) =>
      asYaml(applicationResource("kid", { repoURL: url, namespace: "argocd", path, spec: automated }));
    const bot = await startBot({
      host,
      applications: ["root"],
      files: (url) => ({ "apps/root/kid.yaml": child(url, "kid"), "kid/a.yaml": configMap("kid", { a: "1" }) }),
      prepare: ({ argocd }, forge) => {
        const repoURL = forge.cloneUrl(REPOSITORY);
        argocd.addApplication(
          applicationResource("kid", { repoURL, namespace: "argocd", path: "kid", spec: automated, ...tracked("kid") }),
        );
      },
    });
    const url = bot.forge.cloneUrl(REPOSITORY);
    const one = await bot.open({ "apps/root/kid.yaml": child(url, "kid-2"), "kid-2/more.yaml": ADMIN });
    await bot.comment(one, "svc sync -a root");
    expect(bot.lastComment(one)).toContain(UNAPPROVED);
    expect(bot.lastComment(one)).toMatch(/- `kid`: [^\n]*creates rbac\.authorization\.k8s\.io\/ClusterRoleBinding all/);
    expect(bot.changes()).toEqual([]);
  });

  test("the server's list replaces the default, an empty one turns it off, and a repository's file has no say", async () => {
    const off = await start(host, {
      config: { sensitive_kinds: [] },
      files: () => ({ ".svc.yaml": "auto_merge: false\n" }),
    });
    const one = await off.open({ "apps/web/more.yaml": ADMIN });
    off.expectChanges("sync web");
    await off.comment(one, "svc sync");
    expect(off.changes()).toEqual(["sync web"]);

    const listed = { kind: "ConfigMap", name: "we*", label: "tier=core" };
    const own = await start(host, { config: { sensitive_kinds: [listed] } });
    const two = await own.open({
      "apps/web/configmap.yaml": object("ConfigMap", "v1", "web", { data: { value: "2" } }, { tier: "core" }),
      "apps/web/more.yaml": ADMIN,
    });
    await own.comment(two, "svc sync");
    expect(own.lastComment(two)).toContain(`it changes ConfigMap guestbook/web, ${GRANTS}`);
    expect(own.lastComment(two)).not.toContain("ClusterRoleBinding all");

    const three = await own.open({ ".svc.yaml": "sensitive_kinds: []\n" } satisfies FileChanges);
    await own.comment(three, "svc plan");
    expect(own.lastComment(three)).toContain("sensitive_kinds: unknown key");
  });
});

async function expectHeldBack(bot: Bot, number: number, application: string, what = CREATES_ADMIN): Promise<void> {
  if (bot.host === "hostb") {
    bot.forge.runPipeline(REPOSITORY, number);
    await bot.comment(number, "svc plan");
  }
  expect(
    bot
      .lastComment(number)
      .split("\n")
      .find((line) => line.includes("⚠️")),
  ).toContain(what);
  expect(statusOf(bot, number)).toMatchObject({ state: "pending", description: expect.stringContaining("approv") });
  expect(bot.lastComment(number)).toContain(application);
  await bot.approve(number);
  await bot.idle();
  expect(statusOf(bot, number)).toMatchObject({ state: "success" });
  expect(bot.changes()).toEqual([]);
}
