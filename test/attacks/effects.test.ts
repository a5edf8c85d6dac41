import { describe, expect, test } from "@jest/globals";
import type { FileChanges } from "../../sandbox/forge.js";
import { HOSTS, startBot, type Bot, type BotOptions } from "../scenarios/bot.js";
import { applicationResource, asYaml, changeOf, configMap, type ApplicationOptions } from "../scenarios/resources.js";
import { cloneUrlOf, generatedApplication, names, runsShops, shopsResource } from "../scenarios/sets.js";

const OWN = "https://kubernetes.default.svc";
const UNAPPROVED = "PR must be approved before sync";
const RULES = (rule: string) => ({ ".svc.yaml": `sync_requirements: [{name: 'prod*', ${rule}}]\n` });

/** A parent `root`, which applies the definitions in `children`, and applications that nobody but `prod` protects. */
async function family(
  host: Bot["host"],
  {
    rule = "require_approval: true",
    prod = {},
    mid,
    ...more
  }: Partial<Omit<BotOptions, "host">> & {
    readonly rule?: string;
    readonly prod?: Partial<ApplicationOptions>;
    /** A child between `root` and `prod`. */
    readonly mid?: Partial<ApplicationOptions>;
  } = {},
): Promise<Bot> {
  const child = (name: string, repoURL: string, options: Partial<ApplicationOptions> = {}) =>
    applicationResource(name, { repoURL, namespace: "argocd", ...options });
  return startBot({
    host,
    applications: [],
    ...more,
    files: (url) => ({
      "apps/prod/configmap.yaml": configMap("prod", { value: "1" }),
      "argocd/root.yaml": asYaml(applicationResource("root", { repoURL: url, path: "children" })),
      "children/always.yaml": configMap("always", { value: "1" }),
      "apps/evil/configmap.yaml": configMap("prod", { value: "evil" }),
      ...(mid === undefined
        ? { "children/prod.yaml": asYaml(child("prod", url, prod)) }
        : {
            "children/mid.yaml": asYaml(child("mid", url, { path: "mid", ...mid })),
            "mid/prod.yaml": asYaml(child("prod", url, prod)),
          }),
      ...RULES(rule),
      ...more.files?.(url),
    }),
    prepare: async (world, forge) => {
      const url = forge.cloneUrl("acme/deploy");
      const tracked = (name: string, parent: string) => ({
        annotations: { "argocd.argoproj.io/tracking-id": `${parent}:argoproj.io/Application:argocd/${name}` },
      });
      world.argocd.addApplication(applicationResource("root", { repoURL: url, path: "children" }));
      if (mid !== undefined) {
        world.argocd.addApplication(child("mid", url, { path: "mid", ...mid, ...tracked("mid", "root") }));
      }
      world.argocd.addApplication(
        child("prod", url, { ...prod, ...tracked("prod", mid === undefined ? "root" : "mid") }),
      );
      await more.prepare?.(world, forge);
    },
  });
}

async function expectRefused(bot: Bot, text: string | RegExp, command = "svc sync -a root", by = "ana"): Promise<void> {
  await bot.comment(1, command, by);
  expect(bot.lastComment(1)).toMatch(text);
  expect(bot.changes()).toEqual([]);
  expect(bot.seen(1).state).toBe("open");
}

const changed = (bot: Bot, more: Partial<ApplicationOptions>, name = "prod"): FileChanges => ({
  [`children/${name}.yaml`]: asYaml(bot.resourceOf(name, { namespace: "argocd", ...more })),
});

/** Somebody changes a definition in Argo CD. */
function redefine(bot: Bot, name: string, more: Partial<ApplicationOptions>): void {
  const annotations = bot.argocd.application(name)?.metadata.annotations;
  bot.argocd.removeApplication(name);
  bot.argocd.addApplication(bot.resourceOf(name, { annotations, ...more }));
}

describe.each(HOSTS)("what a sync reaches on %s", (host) => {
  test("the changed definition of a child needs the approval that the child's rule requires", async () => {
    const bot = await family(host);
    await bot.open(changed(bot, { path: "apps/evil" }));
    await expectRefused(bot, UNAPPROVED);
    expect(bot.lastComment(1)).toContain("- `prod`: a sync of root changes it");
    await bot.approve(1);
    bot.expectChanges("sync root");
    await bot.comment(1, "svc sync -a root");
    expect(bot.changes()).toContain("sync root");
  });

  test("allowed_users of a child bind the sync of its parent", async () => {
    const bot = await family(host, { rule: "allowed_users: [bo]" });
    await bot.open(changed(bot, { path: "apps/evil" }));
    await expectRefused(bot, /may not run `svc sync` for:[^]*- `prod`: only bo may; a sync of root changes it/);
  });

  test("a child whose auto-sync is turned on, by an empty block or by a member of it, needs an approval without any rule", async () => {
    for (const automated of [{}, { enabled: true }, { prune: true }]) {
      const bot = await family(host, { rule: "require_up_to_date: false" });
      await bot.open(changed(bot, { path: "apps/prod", spec: { syncPolicy: { automated } } }));
      expect(bot.answers(1)[0]).toContain("- `prod`: turns auto-sync on");
      await expectRefused(bot, /- `prod`: a sync of root changes it; its definition turns auto-sync on/);
    }
  });

  test("a child that is removed or renamed needs what its rule requires", async () => {
    const bot = await family(host);
    await bot.open({ "children/prod.yaml": null });
    await expectRefused(bot, UNAPPROVED, "svc sync -a root --prune");
    await bot.push(1, changed(bot, { path: "apps/prod" }, "other"));
    await expectRefused(bot, UNAPPROVED, "svc sync -a root --prune");
  });

  test("a child that Prune=false keeps by the target branch alone, and not in the cluster, needs what its rule requires", async () => {
    const kept = { annotations: { "argocd.argoproj.io/sync-options": "Prune=false" } };
    const child = (url: string) => asYaml(applicationResource("prod", { repoURL: url, namespace: "argocd", ...kept }));
    const files = (url: string) => ({ "children/prod.yaml": child(url) });
    const bot = await family(host, { files });
    await bot.open({ "children/prod.yaml": null });
    const why = "although the files say Prune=false, which it does not have in the cluster";
    expect(bot.lastComment(1)).toContain(`- Deletes argoproj.io/Application argocd/prod with --prune ${why}.`);
    expect(bot.lastComment(1)).toContain("**Deletes:** 1 to delete");
    expect(bot.lastComment(1)).not.toMatch(/Stays|Keeps/);
    await expectRefused(bot, UNAPPROVED, "svc sync -a root --prune");
    const reading = await family(host, { files, config: { deployer: { diff_mode: "live" } } });
    await reading.open({ "children/prod.yaml": null });
    expect(reading.lastComment(1)).toContain("**Deletes:** 1 to delete");
    expect(reading.lastComment(1)).toContain("Applications it would delete: `prod`\n");
    expect(reading.lastComment(1)).not.toMatch(/Stays|Keeps|left in the cluster/);
    await expectRefused(reading, UNAPPROVED, "svc sync -a root --prune");
  });

  test("a child that Prune=false keeps needs nothing where its parent loses it, also if it differs in Argo CD", async () => {
    const annotations = { "argocd.argoproj.io/sync-options": "Prune=false" };
    const child = (url: string) =>
      asYaml(applicationResource("prod", { repoURL: url, namespace: "argocd", annotations }));
    const bot = await family(host, { files: (url) => ({ "children/prod.yaml": child(url) }) });
    const live = bot.argocd.application("prod")?.metadata.annotations;
    bot.argocd.removeApplication("prod");
    bot.argocd.addApplication(
      bot.resourceOf("prod", { annotations: { ...live, ...annotations }, path: "apps/hotfix", namespace: "argocd" }),
    );
    bot.clock.advance(60_000);
    // Sets need not be listed for it.
    bot.argocd.faults.add({ path: /\/applicationsets(\?|$)/, fault: { kind: "status", status: 403, body: "{}" } });
    await bot.open({ "children/prod.yaml": null });
    expect(bot.lastComment(1)).not.toMatch(/root gives it|definition still changes/);
    bot.expectChanges("sync root");
    await bot.comment(1, "svc sync -a root --prune");
    expect(bot.lastComment(1)).toContain("✅ succeeded");

    // That of its name in another namespace, without the option, is another one.
    const inTeam = (url: string, more: object = {}) =>
      applicationResource("prod", { repoURL: url, namespace: "team-a", annotations: { ...annotations, ...more } });
    const twice = await family(host, {
      files: (url) => ({ "children/team.yaml": asYaml(inTeam(url)) }),
      prepare: ({ argocd }, forge) => {
        const tracked = { "argocd.argoproj.io/tracking-id": "root:argoproj.io/Application:team-a/prod" };
        argocd.addApplication(inTeam(cloneUrlOf(forge), tracked));
      },
    });
    await twice.open({ "children/team.yaml": null });
    expect(twice.lastComment(1)).toContain("Keeps argoproj.io/Application team-a/prod");
    expect(twice.lastComment(1)).not.toContain("although the files say");
  });

  test("a child in another namespace is bound by the rule of its bare name", async () => {
    const bot = await family(host);
    await bot.open(changed(bot, { path: "apps/evil", namespace: "team-a" }, "prod-two"));
    await expectRefused(bot, /- `team-a\/prod-two`: a sync of root changes it/);
  });

  test("a child that only differs in Argo CD needs it as well, found by the plan or later by the sync", async () => {
    const bot = await family(host);
    const note = asYaml({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "note", namespace: "notes" } });
    await bot.open({ "children/note.yaml": note });
    redefine(bot, "prod", { path: "apps/hotfix" });
    bot.clock.advance(60_000);
    await expectRefused(bot, /Plan for root is stale[^]*definition of prod changed in Argo CD/);
    await bot.comment(1, "svc plan");
    await expectRefused(bot, /- `prod`: a sync of root changes it/);
  });

  test("a child that somebody changes in Argo CD while the sync of its parent is checked keeps that definition", async () => {
    const bot = await family(host);
    const note = asYaml({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "note", namespace: "notes" } });
    await bot.open({ "children/note.yaml": note });
    bot.meanwhile("argocd", { method: "GET", path: /\/applications\/root$/ }, () => {
      bot.clock.advance(1000);
      redefine(bot, "prod", { path: "apps/hotfix" });
    });
    await expectRefused(bot, /Plan for root is stale[^]*definition of prod changed in Argo CD/);
  });

  test("a parent that renders the same on both sides still reaches a child that differs in Argo CD", async () => {
    const bot = await family(host);
    redefine(bot, "prod", { path: "apps/hotfix" });
    await bot.open({ "argocd/root.yaml": asYaml(bot.resourceOf("root", { path: "children", labels: { a: "b" } })) });
    await expectRefused(bot, /- `prod`: a sync of root changes it/);
  });

  test("a child whose manifest carries an operation, which Argo CD runs at once, needs an approval without any rule", async () => {
    const bot = await family(host, { rule: "require_up_to_date: false" });
    const operation = { sync: { revision: "evil" } };
    const child = { ...bot.resourceOf("prod", { namespace: "argocd" }), operation };
    await bot.open({ "children/prod.yaml": asYaml(child) });
    await expectRefused(bot, /- `prod`: a sync of root changes it; its definition comes with an operation, /);
    await bot.push(1, { "children/prod.yaml": asYaml({ ...child, operation: null }) });
    expect(bot.lastComment(1)).not.toContain("comes with an operation");
  });

  test("a new application needs an approval without any rule if its file carries an operation", async () => {
    const bot = await family(host, { rule: "require_up_to_date: false" });
    const fresh = { ...bot.resourceOf("fresh", { path: "lane" }), operation: { sync: { revision: "evil" } } };
    const files = { "argocd/fresh.yaml": asYaml(fresh), "lane/a.yaml": configMap("fresh", { value: "1" }) };
    const one = await bot.open(files);
    expect(bot.lastComment(one)).toContain("- `fresh`: comes with an operation, which Argo CD runs at once");
    await bot.push(one, { "argocd/fresh.yaml": asYaml({ ...fresh, operation: null }) });
    expect(bot.lastComment(one)).not.toContain("eeds an approval");
  });

  test("a running application needs an approval without any rule if its changed file carries an operation", async () => {
    const bot = await family(host, { rule: "require_up_to_date: false" });
    const root = { ...bot.resourceOf("root", { path: "children" }), operation: { sync: { revision: "evil" } } };
    const one = await bot.open({ "argocd/root.yaml": asYaml(root) });
    expect(bot.answers(one).join()).toContain("- `root`: comes with an operation, which Argo CD runs at once");
    await bot.push(one, {
      "argocd/root.yaml": asYaml(root),
      "children/always.yaml": configMap("always", { value: "2" }),
    });
    await expectRefused(bot, /- `root`: its definition comes with an operation/);
  });

  test("a new child of a new application needs an approval without any rule if its manifest carries an operation", async () => {
    const bot = await family(host, { rule: "require_up_to_date: false" });
    const kid = {
      ...bot.resourceOf("kid", { namespace: "argocd", path: "lane" }),
      operation: { sync: { revision: "evil" } },
    };
    const one = await bot.open({
      "argocd/fresh.yaml": asYaml(bot.resourceOf("fresh", { path: "fresh" })),
      "fresh/kid.yaml": asYaml(kid),
      "lane/a.yaml": configMap("kid", { value: "1" }),
    });
    expect(bot.lastComment(one)).toContain("- `kid`: comes with an operation, which Argo CD runs at once");
  });

  test("what a removed child has deployed goes with it, and needs what its rules require", async () => {
    const bot = await family(host, { mid: {} });
    await bot.open({ "children/mid.yaml": null });
    await expectRefused(bot, /- `prod`: a sync of root changes it/, "svc sync -a root --prune");
  });

  test("a grandchild below a child that Argo CD deploys by itself needs what its rule requires", async () => {
    const automated = { spec: { syncPolicy: { automated: {} } } };
    const bot = await family(host, { mid: automated });
    await bot.forge.pushToBranch("acme/deploy", "evil", {
      "mid/prod.yaml": asYaml(bot.resourceOf("prod", { path: "apps/evil" })),
    });
    await bot.open(changed(bot, { path: "mid", targetRevision: "evil", ...automated }, "mid"));
    await expectRefused(bot, UNAPPROVED);
  });

  test("a new child that Argo CD deploys by itself needs an approval, since nobody saw what it applies", async () => {
    const bot = await family(host);
    await bot.open({
      ...changed(
        bot,
        { path: "lane", targetRevision: "0".repeat(40), spec: { syncPolicy: { automated: {} } } },
        "harmless",
      ),
    });
    await expectRefused(bot, /- `harmless`: a sync of root changes it; it could not be evaluated/);
  });

  test("a new child that Argo CD deploys by itself is bound by who deploys to the namespaces of its objects", async () => {
    const prod = { spec: { destination: { server: OWN, namespace: "shop" } } };
    const bot = await family(host, { rule: "allowed_users: [bo]", prod });
    const repoURL = bot.forge.cloneUrl("acme/deploy");
    const options = { repoURL, namespace: "argocd", path: "lane", spec: { syncPolicy: { automated: {} } } };
    const more = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "more", namespace: "shop" }, data: {} };
    const one = await bot.open({
      "children/harmless.yaml": asYaml(applicationResource("harmless", options)),
      "lane/more.yaml": asYaml(more),
    });
    await bot.approve(one);
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("the rules of prod hold, because prod deploys to the namespace shop, too");
    expect(bot.changes()).toEqual([]);
  });

  test.each([
    ["v3.5.1", {}],
    ["v3.0.0", { enabled: false }],
  ])(
    "a new application of a set below the parent that Argo CD %s deploys by itself is bound by them, too: %j",
    async (version, automated) => {
      const prod = { spec: { destination: { server: OWN, namespace: "shop" } } };
      const bot = await family(host, { rule: "allowed_users: [bo]", prod, argocd: { version } });
      const options = { namespace: "argocd", path: "lane", spec: { syncPolicy: { automated } } };
      const one = await bot.open({
        "children/set.yaml": asYaml(shopsResource(bot.forge.cloneUrl("acme/deploy"), names("de"), options)),
        "lane/more.yaml": asYaml(object),
      });
      await bot.approve(one);
      await bot.comment(one, "svc sync");
      expect(bot.lastComment(one)).toContain(bound);
      expect(bot.changes()).toEqual([]);
    },
  );

  const bound = "the rules of prod hold, because prod deploys to the namespace shop, too";
  const unseen =
    "- `harmless`: a sync of root changes it; it could not be evaluated: the plan cannot show what goes with it";
  test.each([
    ["a child", ["harmless"], 1, bound],
    ["a child of a child", ["mid", "harmless"], 2, bound],
    ["a child beyond argocd.preview_limit", ["mid", "harmless"], 1, unseen],
    ["a child whose objects cannot be read", ["harmless"], 1, unseen],
  ])(
    "%s that a sync deletes is bound by who deploys to the namespaces of the objects that go with it",
    async (_, all, limit, expected) => {
      const prod = { spec: { destination: { server: OWN, namespace: "shop" } } };
      const more = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "more", namespace: "shop" }, data: {} };
      const finalizers = ["resources-finalizer.argocd.argoproj.io"];
      const folder = (at: number) => (at === all.length ? "lane" : at === 0 ? "children" : `below-${all[at - 1]}`);
      const made = (name: string, at: number, repoURL: string) => {
        const tracked = `${all[at - 1] ?? "root"}:argoproj.io/Application:argocd/${name}`;
        const annotations = { "argocd.argoproj.io/tracking-id": tracked };
        const one = applicationResource(name, { repoURL, namespace: "argocd", path: folder(at + 1), annotations });
        return { ...one, metadata: { name, namespace: "argocd", annotations, finalizers } };
      };
      const bot = await family(host, {
        rule: "allowed_users: [bo]",
        prod,
        // What is added besides must not use up the room for what is deleted.
        config: { deployer: { preview_limit: limit } },
        files: (url) => ({
          ...Object.fromEntries(all.map((name, at) => [`${folder(at)}/${name}.yaml`, asYaml(made(name, at, url))])),
          "lane/more.yaml": asYaml(more),
        }),
        prepare: async ({ argocd }, forge) => {
          for (const [at, name] of all.entries()) {
            argocd.addApplication(made(name, at, forge.cloneUrl("acme/deploy")));
            await argocd.deploy(name);
          }
          const untold = { path: /harmless\/managed-resources$/, fault: { kind: "status", status: 500 } } as const;
          if (expected === unseen) argocd.faults.add(untold);
        },
      });
      const added = asYaml(bot.resourceOf("added", { path: "lane" }));
      const one = await bot.open({ [`children/${all[0]}.yaml`]: null, "argocd/added.yaml": added });
      if (expected === bound) await bot.approve(one);
      await bot.comment(one, "svc sync -a root --prune");
      expect(bot.lastComment(one)).toContain(expected);
      expect(bot.changes()).toEqual([]);
    },
  );

  const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "more", namespace: "shop" }, data: {} };
  const metadata = { name: "more" };
  const policy = { apiVersion: "admissionregistration.k8s.io/v1", kind: "ValidatingAdmissionPolicy", metadata };
  const gone =
    "- `harmless`: a sync of root changes it; it deletes admissionregistration.k8s.io/ValidatingAdmissionPolicy guestbook/more";
  test.each([
    ["bound by the namespaces of its objects", object, bound],
    ["deleted with a policy only after an approval", policy, gone],
  ])("a child that a sync deletes is %s, also if its own files change", async (_, deployed, expected) => {
    const finalizers = ["resources-finalizer.argocd.argoproj.io"];
    const made = (repoURL: string) => {
      const annotations = { "argocd.argoproj.io/tracking-id": "root:argoproj.io/Application:argocd/harmless" };
      const one = applicationResource("harmless", { repoURL, namespace: "argocd", path: "lane" });
      return { ...one, metadata: { name: "harmless", namespace: "argocd", annotations, finalizers } };
    };
    const resources = ["always.yaml", "prod.yaml"];
    const bot = await family(host, {
      rule: "allowed_users: [bo]",
      prod: { spec: { destination: { server: OWN, namespace: "shop" } } },
      files: (url) => ({
        "children/kustomization.yaml": asYaml({ resources: [...resources, "harmless.yaml"] }),
        "children/harmless.yaml": asYaml(made(url)),
        "lane/more.yaml": asYaml(deployed),
        "lane/own.yaml": configMap("own", { value: "1" }),
      }),
      prepare: async ({ argocd }, forge) => {
        argocd.addApplication(made(forge.cloneUrl("acme/deploy")));
        await argocd.deploy("harmless");
      },
    });
    const one = await bot.open({
      "children/kustomization.yaml": asYaml({ resources }),
      "lane/own.yaml": configMap("own", { value: "2" }),
    });
    await bot.comment(one, "svc plan -a harmless");
    if (expected === bound) await bot.approve(one);
    await bot.comment(one, "svc sync -a root --prune");
    expect(bot.lastComment(one)).toContain(expected);
    expect(bot.changes()).toEqual([]);
  });

  test.each([
    ["bound by the namespaces of its objects", object, bound],
    ["deleted with a policy only after an approval", policy, unseen.replace("harmless", "shop-de")],
  ])(
    "an application of another repository that a set below the parent no longer makes is %s",
    async (_, deployed, expected) => {
      const setOf = (url: string, ...all: readonly string[]) => {
        const source = { repoURL: url.replace("acme/deploy", "acme/other"), targetRevision: "main", path: "lane" };
        const set = shopsResource(url, names(...all), { namespace: "argocd", spec: { source } });
        return { "children/set.yaml": asYaml(set) };
      };
      const bot = await family(host, {
        rule: "allowed_users: [bo]",
        prod: { spec: { destination: { server: OWN, namespace: "shop" } } },
        files: (url) => setOf(url, "de", "it"),
        prepare: async ({ argocd }, forge) => {
          await forge.createRepository("acme/other", { "lane/more.yaml": asYaml(deployed) });
          await argocd.deploy("root");
          await argocd.deploy("shop-de");
        },
      });
      const one = await bot.open(setOf(bot.forge.cloneUrl("acme/deploy"), "it"));
      if (expected === bound) await bot.approve(one);
      await bot.comment(one, "svc sync -a root");
      expect(bot.lastComment(one)).toContain(expected);
      expect(bot.changes()).toEqual([]);
    },
  );

  test.each<[string, readonly string[], readonly string[]]>([
    ["moves to another parent", ["children"], ["mid"]],
    ["leaves two parents, of which the first has not made it,", ["children", "mid"], []],
  ])("a child that %s is bound by the namespaces of what goes with it", async (_, before, after) => {
    const finalizers = ["resources-finalizer.argocd.argoproj.io"];
    const made = (repoURL: string) => {
      const annotations = { "argocd.argoproj.io/tracking-id": "root:argoproj.io/Application:argocd/harmless" };
      const one = applicationResource("harmless", { repoURL, namespace: "argocd", path: "lane" });
      return { ...one, metadata: { name: "harmless", namespace: "argocd", annotations, finalizers } };
    };
    const bot = await family(host, {
      rule: "allowed_users: [bo]",
      mid: {},
      prod: { spec: { destination: { server: OWN, namespace: "shop" } } },
      files: (url) => ({
        ...Object.fromEntries(before.map((folder) => [`${folder}/harmless.yaml`, asYaml(made(url))])),
        "lane/more.yaml": asYaml(object),
      }),
      prepare: async ({ argocd }, forge) => {
        argocd.addApplication(made(forge.cloneUrl("acme/deploy")));
        await argocd.deploy("harmless");
      },
    });
    const moved = asYaml(made(bot.forge.cloneUrl("acme/deploy")));
    const one = await bot.open({
      ...Object.fromEntries(before.map((folder) => [`${folder}/harmless.yaml`, null])),
      ...Object.fromEntries(after.map((folder) => [`${folder}/harmless.yaml`, moved])),
    });
    await bot.approve(one);
    await bot.comment(one, "svc sync -a root --prune");
    expect(bot.lastComment(one)).toContain(bound);
    expect(bot.changes()).toEqual([]);
  });

  test("a new application that two sets make is bound by the namespaces of what each of them deploys", async () => {
    const bot = await family(host, {
      rule: "allowed_users: [bo]",
      prod: { spec: { destination: { server: OWN, namespace: "shop" } } },
    });
    const setOf = (name: string, path: string) =>
      asYaml({ ...shopsResource(cloneUrlOf(bot.forge), names("x"), { path }), metadata: { name } });
    const one = await bot.open({
      "sets/evil.yaml": setOf("evil", "lane"),
      "sets/harmless.yaml": setOf("harmless", "apps/harmless"),
      "lane/more.yaml": asYaml(object),
      "apps/harmless/a.yaml": configMap("x", { value: "1" }),
    });
    const plan = await bot.stores.plans.find(bot.ref(one));
    const evil = plan?.applicationSets.find(({ name }) => name === "evil");
    expect(evil?.members).toMatchObject([
      { namespaces: ["shop"], boundAs: expect.arrayContaining([expect.objectContaining({ application: "prod" })]) },
    ]);
  });

  test("a new child that two new applications define needs an approval, since only one of them is rendered", async () => {
    const bot = await family(host, { rule: "require_up_to_date: false" });
    const syncPolicy = { automated: {} };
    const kid = (path: string) => asYaml(bot.resourceOf("kid", { namespace: "argocd", path, spec: { syncPolicy } }));
    const parent = (name: string) => asYaml(bot.resourceOf(name, { path: name, spec: { syncPolicy } }));
    const files = (second: string) => ({
      "argocd/one.yaml": parent("one"),
      "argocd/two.yaml": parent("two"),
      "one/kustomization.yaml": asYaml({ resources: ["kid.txt"] }),
      "one/kid.txt": kid("lane"),
      "two/kustomization.yaml": asYaml({ resources: ["kid.txt"] }),
      "two/kid.txt": kid(second),
      "lane/a.yaml": configMap("kid", { value: "1" }),
      "other/policy.yaml": asYaml(policy),
    });
    const one = await bot.open(files("lane"));
    expect(bot.lastComment(one)).not.toContain("eeds an approval");
    await bot.push(one, files("other"));
    expect(bot.lastComment(one)).toContain("eeds an approval");
  });

  test("a child that moves with a policy is deleted only after an approval, also after a plan of its new parent alone", async () => {
    const annotations = { "argocd.argoproj.io/tracking-id": "root:argoproj.io/Application:argocd/harmless" };
    const made = (repoURL: string, path = "lane") => ({
      ...applicationResource("harmless", { repoURL, namespace: "argocd", path }),
      metadata: {
        ...{ name: "harmless", namespace: "argocd", annotations },
        finalizers: ["resources-finalizer.argocd.argoproj.io"],
      },
    });
    const all = (...resources: readonly string[]) => asYaml({ resources });
    const bot = await family(host, {
      rule: "require_up_to_date: false",
      mid: {},
      files: (url) => ({
        // No files of a name that svc reads definitions from.
        "children/kustomization.yaml": all("always.yaml", "mid.yaml", "harmless.txt"),
        "children/harmless.txt": asYaml(made(url)),
        "mid/kustomization.yaml": all("prod.yaml"),
        // What it becomes cannot be rendered.
        "mid/harmless.txt": asYaml(made(url, "none")),
        "lane/more.yaml": asYaml(policy),
      }),
      prepare: async ({ argocd }, forge) => {
        argocd.addApplication(made(forge.cloneUrl("acme/deploy")));
        await argocd.deploy("harmless");
      },
    });
    const one = await bot.open({
      "children/kustomization.yaml": all("always.yaml", "mid.yaml"),
      "mid/kustomization.yaml": all("prod.yaml", "harmless.txt"),
    });
    await bot.comment(one, "svc plan -a mid");
    await bot.comment(one, "svc sync -a root --prune");
    expect(bot.lastComment(one)).toContain(gone);
    expect(bot.lastComment(one)).not.toContain("cannot show what goes with it");
    expect(bot.changes()).toEqual([]);
  });

  test("a child that a set generated as well, which does not own it, is bound by the namespaces of what goes with it", async () => {
    const resources = ["always.yaml", "prod.yaml"];
    const finalizers = ["resources-finalizer.argocd.argoproj.io"];
    const annotations = { "argocd.argoproj.io/tracking-id": "root:argoproj.io/Application:argocd/shop-x" };
    const made = (repoURL: string) => ({
      ...applicationResource("shop-x", { repoURL, namespace: "argocd", path: "lane" }),
      metadata: { name: "shop-x", namespace: "argocd", annotations, finalizers },
    });
    const bot = await family(host, {
      rule: "allowed_users: [bo]",
      prod: { spec: { destination: { server: OWN, namespace: "shop" } } },
      files: (url) => ({
        "children/kustomization.yaml": asYaml({ resources: [...resources, "child.txt"] }),
        "children/child.txt": asYaml(made(url)),
        "sets/shops.yaml": asYaml(shopsResource(url, names("it", "x"))),
        "shops/it/a.yaml": configMap("it", { value: "1" }),
        "lane/more.yaml": asYaml(object),
      }),
      prepare: async (world, forge) => {
        const repoURL = cloneUrlOf(forge);
        runsShops(world, shopsResource(repoURL, names("it", "x")), [
          generatedApplication("it", { repoURL }),
          made(repoURL),
        ]);
        await world.argocd.deploy("shop-x");
      },
    });
    const one = await bot.open({
      "children/kustomization.yaml": asYaml({ resources }),
      "sets/shops.yaml": asYaml(shopsResource(cloneUrlOf(bot.forge), names("it"))),
    });
    await bot.approve(one);
    await bot.comment(one, "svc sync -a root --prune");
    expect(bot.lastComment(one)).toContain(bound);
    expect(bot.changes()).toEqual([]);
  });

  test("an application that the changed policy of a set below the parent lets go is bound by its namespaces", async () => {
    const setOf = (url: string, applicationsSync: string) =>
      asYaml(shopsResource(url, names("it"), { namespace: "argocd", syncPolicy: { applicationsSync } }));
    const bot = await family(host, {
      rule: "allowed_users: [bo]",
      prod: { spec: { destination: { server: OWN, namespace: "shop" } } },
      files: (url) => ({
        // No file of a name that svc reads definitions from.
        "children/kustomization.yaml": asYaml({ resources: ["always.yaml", "prod.yaml", "set.txt"] }),
        "children/set.txt": setOf(url, "create-update"),
        "shops/it/a.yaml": configMap("it", { value: "1" }),
        "shops/old/more.yaml": asYaml(object),
      }),
      prepare: async ({ argocd }, forge) => {
        await argocd.deploy("root");
        const one = generatedApplication("old", { repoURL: cloneUrlOf(forge) }) as { readonly metadata: object };
        const finalizers = ["resources-finalizer.argocd.argoproj.io"];
        argocd.addApplication({ ...one, metadata: { ...one.metadata, namespace: "argocd", finalizers } });
        await argocd.deploy("shop-old");
      },
    });
    const one = await bot.open({ "children/set.txt": setOf(cloneUrlOf(bot.forge), "sync") });
    await bot.approve(one);
    await bot.comment(one, "svc sync -a root");
    expect(bot.lastComment(one)).toContain(bound);
    expect(bot.changes()).toEqual([]);
  });

  test("a set below the parent that stops leaving applications as they are shows what those get", async () => {
    const setOf = (url: string, applicationsSync: string) =>
      asYaml(shopsResource(url, names("it"), { namespace: "argocd", syncPolicy: { applicationsSync } }));
    const bot = await family(host, {
      files: (url) => ({
        "children/kustomization.yaml": asYaml({ resources: ["always.yaml", "prod.yaml", "set.txt"] }),
        "children/set.txt": setOf(url, "create-only"),
        "shops/it/a.yaml": configMap("it", { value: "1" }),
        "shops/old/a.yaml": configMap("old", { value: "1" }),
      }),
      prepare: async ({ argocd }, forge) => {
        await argocd.deploy("root");
        const one = generatedApplication("it", { repoURL: cloneUrlOf(forge), path: "shops/old" });
        argocd.removeApplication("shop-it");
        argocd.addApplication(one);
        await argocd.deploy("shop-it");
      },
    });
    const one = await bot.open({ "children/set.txt": setOf(cloneUrlOf(bot.forge), "sync") });
    expect(bot.lastComment(one)).toContain("# create: ConfigMap guestbook/it");
  });

  test("what goes with the applications of a set below one that the merge deletes is bound by its namespaces", async () => {
    const inner = (url: string) => ({
      ...shopsResource(url, names("leaf"), { namespace: "argocd", path: "lane" }),
      metadata: { name: "inner", namespace: "argocd" },
    });
    const bot = await family(host, {
      rule: "allowed_users: [bo]",
      prod: { spec: { destination: { server: OWN, namespace: "shop" } } },
      files: (url) => ({
        "sets/shops.yaml": asYaml(shopsResource(url, names("de", "it"))),
        "shops/it/a.yaml": configMap("it", { value: "1" }),
        "shops/de/inner.yaml": asYaml(inner(url)),
        "lane/more.yaml": asYaml(object),
      }),
      prepare: async (world, forge) => {
        const repoURL = cloneUrlOf(forge);
        const finalizers = ["resources-finalizer.argocd.argoproj.io"];
        const made = (name: string, set: string, path = `shops/${name}`) => {
          const one = generatedApplication(name, { repoURL, path, namespace: "argocd" }) as {
            readonly metadata: object;
          };
          const ownerReferences = [{ apiVersion: "argoproj.io/v1alpha1", kind: "ApplicationSet", name: set, uid: set }];
          return { ...one, metadata: { ...one.metadata, finalizers, ownerReferences } };
        };
        const all = [made("de", "shops"), made("it", "shops"), made("leaf", "inner", "lane")];
        runsShops(world, shopsResource(repoURL, names("de", "it")), all);
        for (const name of ["shop-de", "shop-it", "shop-leaf"]) await world.argocd.deploy(name);
      },
    });
    const one = await bot.open({ "sets/shops.yaml": asYaml(shopsResource(cloneUrlOf(bot.forge), names("it"))) });
    const plan = await bot.stores.plans.find(bot.ref(one));
    const members = plan?.applicationSets.flatMap((set) => set.members) ?? [];
    expect(members.find(({ application }) => application === "shop-leaf")).toMatchObject({
      definition: { kind: "removed" },
      namespaces: ["shop"],
      boundAs: expect.arrayContaining([expect.objectContaining({ application: "prod" })]),
    });
  });

  test("a set below the parent reaches the applications that it generates", async () => {
    const bot = await family(host);
    const template = {
      metadata: { name: "{{name}}" },
      spec: {
        project: "default",
        source: { repoURL: bot.forge.cloneUrl("acme/deploy"), path: "apps/evil" },
        destination: { server: "https://kubernetes.default.svc", namespace: "guestbook" },
      },
    };
    const set = {
      apiVersion: "argoproj.io/v1alpha1",
      kind: "ApplicationSet",
      metadata: { name: "shops", namespace: "argocd" },
      spec: { generators: [{ list: { elements: [{ name: "prod" }] } }], template },
    };
    await bot.open({ "children/set.yaml": asYaml(set) });
    await expectRefused(bot, /- `prod`: a sync of root changes it/);
  });
});

describe.each(HOSTS)("what a definition takes the place of on %s", (host) => {
  const two = (host: Bot["host"], rule = "require_approval: true", more: Partial<BotOptions> = {}) =>
    startBot({
      host,
      applications: ["dev", "prod"],
      resources: () => ({ prod: { project: "default", spec: { destination: { server: OWN, namespace: "prod" } } } }),
      files: () => RULES(rule),
      ...more,
    });
  const dev = (bot: Bot, more: Partial<ApplicationOptions>): FileChanges => ({
    "argocd/dev.yaml": asYaml(bot.resourceOf("dev", more)),
  });

  test.each<[string, Partial<ApplicationOptions>, string]>([
    ["another project", { project: "shop" }, "project moves from default to shop"],
    ["another namespace", { spec: { destination: { server: OWN, namespace: "prod" } } }, "destination moves from"],
    [
      "a cluster by its name",
      { spec: { destination: { name: "west", namespace: "guestbook" } } },
      "destination moves from",
    ],
    ["auto-sync", { spec: { syncPolicy: { automated: {} } } }, "turns auto-sync on"],
    [
      "auto-sync that old servers switch on",
      { spec: { syncPolicy: { automated: { enabled: false } } } },
      "turns auto-sync on",
    ],
  ])("%s needs an approval whatever the rules say, and the plan begins with it", async (_what, more, text) => {
    const bot = await two(host, "require_up_to_date: false");
    bot.argocd.addProject("shop");
    await bot.open(dev(bot, more));
    expect(bot.answers(1)[0]).toMatch(
      new RegExp(`^<!--.*-->\\n## svc Plan\\n[^\\n]*\\n\\n⚠️[^\\n]*\\n- \`dev\`: ${text}`),
    );
    await bot.comment(1, "svc sync");
    expect(bot.lastComment(1)).toMatch(/PR must be approved before sync|No applications are locked by this PR/);
    expect(bot.changes()).toEqual([]);
  });

  test.each<[string, Partial<ApplicationOptions>, string]>([
    ["a second project", { spec: { Project: "shop" } }, "Project"],
    ["another destination, with a letter that Go folds", { spec: { deſtination: { server: OWN } } }, "deſtination"],
    ["auto-sync", { spec: { syncpolicy: { automated: {} } } }, "syncpolicy"],
  ])("a key that only Argo CD takes for %s deploys nothing, and the plan names it", async (_what, more, key) => {
    const bot = await two(host, "require_up_to_date: false");
    bot.argocd.addProject("shop");
    await bot.open({ ...dev(bot, more), ...changeOf(["dev"]) });
    expect(bot.lastComment(1)).toContain("could not be evaluated");
    expect(bot.lastComment(1)).toContain(`the definition has the key "${key}", which Argo CD reads as `);
    await bot.approve(1);
    await bot.comment(1, "svc sync");
    expect(bot.changes()).toEqual([]);
  });

  test("another repository in one of two sources needs an approval whatever the rules say", async () => {
    const bot = await two(host, "require_up_to_date: false");
    const url = bot.forge.cloneUrl("acme/deploy");
    await bot.forge.createRepository("acme/other", { "evil/configmap.yaml": configMap("dev", { value: "evil" }) });
    const sources = [
      { repoURL: url, path: "apps/dev", targetRevision: "main" },
      { repoURL: bot.forge.cloneUrl("acme/other"), path: "evil", targetRevision: "main" },
    ];
    await bot.open(dev(bot, { spec: { source: undefined, sources } }));
    expect(bot.answers(1)[0]).toContain("- `dev`: repository moves from");
    await bot.comment(1, "svc sync");
    expect(bot.lastComment(1)).toContain(UNAPPROVED);
    expect(bot.changes()).toEqual([]);
  });

  test("the rules of the applications at the new destination hold, lists of people included", async () => {
    const bot = await two(host, "allowed_users: [bo]");
    await bot.open(dev(bot, { spec: { destination: { server: OWN, namespace: "prod" } } }));
    await bot.approve(1);
    await bot.comment(1, "svc sync");
    expect(bot.lastComment(1)).toContain("- `dev`: only bo may");
    expect(bot.changes()).toEqual([]);
  });

  test("the rules of an application hold for whoever changes its objects", async () => {
    const bot = await two(host, "require_approval: true", {
      resources: () => ({}),
      prepare: ({ argocd }) => argocd.deploy("prod"),
    });
    await bot.open({ "apps/dev/more.yaml": configMap("prod", { value: "evil" }) });
    await bot.comment(1, "svc sync");
    expect(bot.lastComment(1)).toContain("- `dev`: the rules of prod hold, because it changes objects of prod");
    expect(bot.changes()).toEqual([]);
  });

  test("they hold for a new application that brings objects, or the definition, of one that they are about", async () => {
    const bot = await two(host, "require_approval: true", {
      resources: () => ({}),
      prepare: ({ argocd }) => argocd.deploy("prod"),
    });
    const spec = { destination: { server: OWN, namespace: "elsewhere" } };
    const taken = configMap("prod", { value: "evil" }).replace("name: prod", "name: prod\n  namespace: guestbook");
    await bot.open({
      "apps/thief/configmap.yaml": taken,
      "argocd/thief.yaml": asYaml(bot.resourceOf("thief", { spec })),
      "boss/Chart.yaml": "apiVersion: v2\nname: boss\nversion: 1.0.0\n",
      "boss/values.yaml": "kind: Application\n",
      "boss/templates/prod.yaml": asYaml(bot.resourceOf("prod", { path: "apps/dev", namespace: "argocd" })).replace(
        '"Application"',
        "{{ .Values.kind }}",
      ),
      "argocd/boss.yaml": asYaml(bot.resourceOf("boss", { path: "boss", spec })),
    });
    const plan = await bot.stores.plans.find(bot.ref(1));
    const members = (name: string) =>
      plan?.applications.find(({ application }) => application === name)?.effect.members ?? [];
    expect(members("thief")[0]?.boundAs).toContainEqual(
      expect.objectContaining({ application: "prod", because: "it changes objects of prod" }),
    );
    expect(members("boss")).toMatchObject([{ application: "boss" }, { application: "prod" }]);
    expect(bot.lastComment(1)).toMatch(/^Needs an approval of/m);
    await bot.comment(1, "svc sync");
    expect(bot.changes()).toEqual([]);
    expect(bot.seen(1).state).toBe("open");
  });

  test("a definition that changes in Argo CD after the plan is not what was approved", async () => {
    const bot = await two(host, "require_up_to_date: false");
    await bot.open({ "apps/dev/configmap.yaml": configMap("dev", { value: "2" }) });
    redefine(bot, "dev", { spec: { destination: { server: OWN, namespace: "prod" } } });
    await bot.comment(1, "svc sync");
    expect(bot.lastComment(1)).toMatch(
      /Plan for dev is stale[^]*since the plan, the destination and definition of dev changed/,
    );
    expect(bot.changes()).toEqual([]);
  });
});
