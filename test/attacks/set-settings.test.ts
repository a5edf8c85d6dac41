import { describe, expect, test } from "@jest/globals";
import type { HostId } from "../../src/names.js";
import { HOSTS, REPOSITORY, startBot, type Bot } from "../scenarios/bot.js";
import { applicationResource, asYaml, configMap } from "../scenarios/resources.js";
import { cloneUrlOf, generatedApplication, names, runsShops, shopsResource } from "../scenarios/sets.js";

type Spec = Readonly<Record<string, unknown>>;

/** The set `shops` with these members of its spec instead of its own. */
function setWith(url: string, spec: Spec, generator: object = names("de", "fr")): object {
  const set = shopsResource(url, generator) as { readonly spec: Spec };
  return { ...set, spec: { ...set.spec, ...spec } };
}

interface Running {
  readonly before?: Spec;
  /** Applications that the set owns. */
  readonly owns?: readonly { readonly name: string; readonly path?: string }[];
  /** What svc's token may do instead of everything. */
  readonly token?: "get+sync";
  readonly autoMerge?: boolean;
}

/** A set of which `shop-de` needs an approval. */
function startSet(
  host: HostId,
  { before = {}, owns = [{ name: "de" }, { name: "fr" }], token, autoMerge = true }: Running = {},
): Promise<Bot> {
  return startBot({
    host,
    applications: [],
    config: ({ argocd }) => ({
      defaults: { auto_merge: autoMerge },
      ...(token && { deployer: { token: argocd.addAccount("small", { permissions: token }) } }),
    }),
    files: (url) => ({
      ".svc.yaml": "sync_requirements: [{ name: shop-de, require_approval: true }]\n",
      "sets/shops.yaml": asYaml(setWith(url, before)),
      ...Object.fromEntries(
        ["de", "fr", "old"].map((name) => [`shops/${name}/configmap.yaml`, configMap(`shop-${name}`, { value: "1" })]),
      ),
    }),
    prepare: (world, forge) => {
      const repoURL = cloneUrlOf(forge);
      const owned = owns.map(({ name, ...more }) => generatedApplication(name, { repoURL, ...more }));
      runsShops(world, setWith(repoURL, before), owned);
    },
  });
}

const change = (bot: Bot, spec: Spec) => ({ "sets/shops.yaml": asYaml(setWith(cloneUrlOf(bot.forge), spec)) });

/** The plan says what changes, and nothing is merged before the approval that `shop-de` requires. */
async function expectHeld(bot: Bot, one: number, state = "pending", needs = "needs an approval of"): Promise<void> {
  await bot.comment(one, "svc sync");
  expect(bot.seen(one).state).toBe("open");
  const status = () => bot.forge.statuses(REPOSITORY, bot.seen(one).headRevision).at(-1);
  if (bot.host === "hosta") expect(status()).toMatchObject({ state });
  expect(bot.answers(one).join("\n").toLowerCase()).toContain(needs.toLowerCase());
  await bot.approve(one);
  if (bot.host === "hosta") expect(status()).toMatchObject({ state: "success" });
}

describe.each(HOSTS)("the settings of an ApplicationSet on %s", (host) => {
  test.each<[string, Spec, Spec, string]>([
    ["a policy", { syncPolicy: { applicationsSync: "create-only" } }, {}, "spec.syncPolicy"],
    [
      "what stays of a deleted application",
      {},
      { syncPolicy: { preserveResourcesOnDeletion: true } },
      "spec.syncPolicy",
    ],
    [
      "fields that it leaves alone",
      { ignoreApplicationDifferences: [{ jsonPointers: ["/spec/source/targetRevision"] }] },
      {},
      "spec.ignoreApplicationDifferences",
    ],
    ["annotations that it keeps", { preservedFields: { annotations: ["a"] } }, {}, "spec.preservedFields"],
    ["its steps", {}, { strategy: { type: "RollingSync", rollingSync: { steps: [] } } }, "spec.strategy"],
  ])("change what it owns, even if it generates the same: %s", async (_what, before, after, named) => {
    const bot = await startSet(host, { before });
    const one = await bot.open(change(bot, after));
    const plan = bot.lastComment(one);
    expect(plan).toContain(
      `its own settings change (${named}): Argo CD may treat every application that it owns differently`,
    );
    // Applications whose objects are to stay lose their finalizer.
    const summary = "syncPolicy" in after ? "2 applications changed" : "what it does to 2 applications changed";
    expect(plan).toContain(`**1 ApplicationSet: ${summary}, at the merge**`);
    await expectHeld(bot, one);
  });

  test("that stop leaving applications as they are show what those get, and need its approval", async () => {
    const before = { syncPolicy: { applicationsSync: "create-only" } };
    const bot = await startSet(host, { before, owns: [{ name: "de", path: "shops/old" }] });
    const one = await bot.open(change(bot, {}));
    expect(bot.lastComment(one)).toContain("- changes `shop-de`");
    expect(bot.lastComment(one)).toContain("# create: ConfigMap guestbook/shop-de");
    await expectHeld(bot, one);
  });

  test("that start to delete applications say which it removes", async () => {
    const before = { syncPolicy: { applicationsSync: "create-update" } };
    const bot = await startSet(host, { before, owns: [{ name: "de" }, { name: "fr" }, { name: "old" }] });
    const one = await bot.open(change(bot, {}));
    expect(bot.lastComment(one)).toContain("- removes `shop-old`");
    expect(bot.lastComment(one)).toContain("⚠️ removes the application shop-old");
    await expectHeld(bot, one);
  });

  test.each([
    [
      "lets another repository drive an application",
      { annotations: { "svc.dev/repository": "{{ .given }}" } },
      ["acme/deploy", "acme/other"],
    ],
    [
      "has an application leave its objects behind",
      { finalizers: ["{{ .given }}"] },
      ["resources-finalizer.argocd.argoproj.io", "example.com/none"],
    ],
  ] as const)("that stay, while an element %s, need its approval", async (_what, metadata, [before, after]) => {
    const set = (url: string, given: string) =>
      asYaml(shopsResource(url, { list: { elements: [{ name: "de", given }] } }, { metadata }));
    const bot = await startBot({
      host,
      applications: [],
      config: { defaults: { auto_merge: true } },
      files: (url) => ({
        ".svc.yaml": "sync_requirements: [{ name: shop-de, require_approval: true }]\n",
        "sets/shops.yaml": set(url, before),
        "shops/de/configmap.yaml": configMap("shop-de", { value: "1" }),
      }),
      prepare: (world, forge) => {
        const repoURL = cloneUrlOf(forge);
        runsShops(world, shopsResource(repoURL, names("de")), [generatedApplication("de", { repoURL })]);
      },
    });
    const one = await bot.open({ "sets/shops.yaml": set(cloneUrlOf(bot.forge), after) });
    expect(bot.lastComment(one)).toContain("- changes `shop-de`\n");
    expect(bot.lastComment(one)).toContain(
      "shop-de gets other labels, annotations or finalizers, or an operation, and keeps its definition",
    );
    await expectHeld(bot, one);
  });

  describe("that give applications an operation, which Argo CD runs at once, need an approval whatever the rules say", () => {
    const OPERATION = "operation: {sync: {revision: evil}}";
    /** The set with these applications, and what it patches into each. */
    const setOf = (url: string, patches: Readonly<Record<string, string>>, namespace?: string) => {
      const elements = Object.entries(patches).map(([name, patch]) => ({ name, patch }));
      return shopsResource(url, { list: { elements } }, { namespace, templatePatch: "{{ .patch }}" });
    };
    const files = Object.fromEntries(
      ["de", "fr"].map((name) => [`shops/${name}/a.yaml`, configMap(`shop-${name}`, { value: "1" })]),
    );

    test.each<[string, Readonly<Record<string, string>>]>([
      ["a running one", { de: "{}" }],
      ["a new one", { fr: "{}" }],
    ])("the merge of the set: %s", async (_, running) => {
      const bot = await startBot({
        host,
        applications: [],
        config: { defaults: { auto_merge: true } },
        files: (url) => ({ ...files, "sets/shops.yaml": asYaml(setOf(url, running)) }),
        prepare: (world, forge) => {
          const repoURL = cloneUrlOf(forge);
          const owned = Object.keys(running).map((name) => generatedApplication(name, { repoURL }));
          runsShops(world, setOf(repoURL, running), owned);
        },
      });
      const set = setOf(cloneUrlOf(bot.forge), { ...running, de: OPERATION });
      await expectHeld(bot, await bot.open({ "sets/shops.yaml": asYaml(set) }));
    });

    test("the sync of the parent that applies it", async () => {
      const bot = await startBot({
        host,
        applications: [],
        files: (url) => ({
          ...files,
          "argocd/root.yaml": asYaml(applicationResource("root", { repoURL: url, path: "children" })),
          "children/set.yaml": asYaml(setOf(url, { de: "{}" }, "argocd")),
        }),
        prepare: ({ argocd }, forge) => {
          const repoURL = cloneUrlOf(forge);
          argocd.addApplication(applicationResource("root", { repoURL, path: "children" }));
          argocd.addApplication(generatedApplication("de", { repoURL }));
        },
      });
      const one = await bot.open({
        "children/set.yaml": asYaml(setOf(cloneUrlOf(bot.forge), { de: OPERATION }, "argocd")),
        "shops/de/a.yaml": configMap("shop-de", { value: "2" }),
      });
      await bot.comment(one, "svc sync");
      expect(bot.lastComment(one)).toContain(
        "`shop-de`: a sync of root changes it; its definition comes with an operation",
      );
      expect(bot.changes()).toEqual([]);
    });
  });

  test("need an approval whatever the rules say, if nobody knows what it owns", async () => {
    const bot = await startSet(host);
    bot.meanwhile("argocd", { path: /\/generate$/ }, () => {
      bot.argocd.faults.add({ path: /\/api\/v1\/applications$/, fault: { kind: "status", status: 500 } });
    });
    const one = await bot.open(change(bot, { syncPolicy: { applicationsSync: "create-only" } }));
    bot.argocd.faults.clear();
    expect(bot.lastComment(one)).toContain("**Changes:** could not be previewed");
    await expectHeld(bot, one, "failure", "have somebody who may deploy it approve this commit after this plan");
  });

  test("bind the sync of the parent that applies it", async () => {
    const set = (url: string, spec: Spec) =>
      asYaml({ ...setWith(url, spec), metadata: { name: "shops", namespace: "argocd" } });
    const bot = await startBot({
      host,
      applications: [],
      files: (url) => ({
        ".svc.yaml": "sync_requirements: [{ name: shop-de, require_approval: true }]\n",
        "argocd/root.yaml": asYaml(applicationResource("root", { repoURL: url, path: "children" })),
        "children/set.yaml": set(url, { syncPolicy: { applicationsSync: "create-only" } }),
        "shops/de/configmap.yaml": configMap("shop-de", { value: "1" }),
      }),
      prepare: (world, forge) => {
        const repoURL = cloneUrlOf(forge);
        world.argocd.addApplication(applicationResource("root", { repoURL, path: "children" }));
        world.argocd.addApplication(generatedApplication("de", { repoURL }));
        world.argocd.addApplication(generatedApplication("fr", { repoURL }));
      },
    });
    const one = await bot.open({ "children/set.yaml": set(cloneUrlOf(bot.forge), {}) });
    await bot.comment(one, "svc sync -a root");
    expect(bot.lastComment(one)).toContain("- `shop-de`: a sync of root changes it");
    expect(bot.changes()).toEqual([]);
  });
});

const ROLLING = { strategy: { type: "RollingSync", rollingSync: { steps: [] } } };
const REASON =
  "the ApplicationSet shops syncs it by RollingSync, which counts as auto-sync: Argo CD deploys it by itself";
const value = (text: string) => ({ "shops/fr/configmap.yaml": configMap("shop-fr", { value: text }) });
const REFUSED = [
  "Application shop-fr has auto-sync enabled. Disable auto-sync before using the service to prevent conflicts.",
  "The ApplicationSet shops syncs shop-fr by RollingSync, which counts as auto-sync: set the set's `strategy.type` to `AllAtOnce`.",
].join("\n\n");
const FR = [{ name: "fr" }];

/** Somebody changes the strategy of the running set. */
function rolls(bot: Bot): void {
  bot.argocd.addApplicationSet(setWith(cloneUrlOf(bot.forge), ROLLING));
  bot.clock.advance(15_000);
}

describe.each(HOSTS)("an ApplicationSet that syncs in steps on %s", (host) => {
  test("would take out what is deployed before the merge, so its applications count as auto-synced", async () => {
    const bot = await startSet(host, { before: ROLLING, owns: FR });
    const one = await bot.open(value("2"));
    expect(bot.lastComment(one)).toContain(`Not deployed by a sync: ${REASON} at the merge`);
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain(REFUSED);
    expect(bot.changes()).toEqual([]);
  });

  test("only from a commit of the change itself on bars its applications as well", async () => {
    const bot = await startSet(host, { owns: FR });
    const one = await bot.open({ ...change(bot, ROLLING), ...value("2") });
    expect(bot.lastComment(one)).toContain(`Not deployed by a sync: ${REASON} at the merge`);
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain(REFUSED);
    expect(bot.changes()).toEqual([]);
  });

  test("from after the plan on bars the sync", async () => {
    const bot = await startSet(host, { owns: FR });
    const one = await bot.open(value("2"));
    rolls(bot);
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain(REFUSED);
    expect(bot.changes()).toEqual([]);
  });

  test("from after a sync on bars the rollback", async () => {
    const bot = await startSet(host, { owns: FR, autoMerge: false });
    const one = await bot.open(value("2"));
    bot.expectChanges("sync shop-fr");
    await bot.comment(one, "svc sync");
    expect(bot.liveValue("shop-fr")).toBe("2");
    rolls(bot);
    await bot.comment(one, "svc rollback");
    expect(bot.lastComment(one)).toContain(REFUSED);
    expect(bot.changes()).toEqual(["sync shop-fr"]);
  });

  test("deploys at the merge what needs an approval before", async () => {
    const bot = await startSet(host, { before: ROLLING });
    const one = await bot.open({ "shops/de/configmap.yaml": configMap("shop-de", { value: "2" }) });
    expect(bot.lastComment(one)).toContain(`Not deployed by a sync: ${REASON} at the merge`);
    await expectHeld(bot, one);
  });

  test("may be one that svc cannot read, and the plan says so", async () => {
    const bot = await startSet(host, { before: ROLLING, token: "get+sync" });
    const one = await bot.open(value("2"));
    expect(bot.lastComment(one)).toContain(
      "Its ApplicationSet shops could not be read: if its strategy is RollingSync, Argo CD syncs this application by itself",
    );
  });
});
