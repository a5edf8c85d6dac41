import { describe, expect, test } from "@jest/globals";
import { HOSTS, REPOSITORY, startBot, type Bot, type BotOptions } from "./bot.js";
import { planned, section } from "./plan-comment.js";
import { applicationResource, asYaml, configMap } from "./resources.js";

const OTHER = "acme/charts";
const TEMPLATE = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop}\ndata: {size: {{ .Values.size | quote }}}\n";
const CHART = {
  "chart/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
  "chart/values.yaml": "size: 0\n",
  "chart/templates/configmap.yaml": TEMPLATE,
};

type SourcesOf = (own: string, other: string) => readonly object[];

/** One application `shop` with several sources, described in the repository. */
function startShop(options: BotOptions, sourcesOf: SourcesOf, files: Readonly<Record<string, string>>): Promise<Bot> {
  const spec = (own: string) => ({ source: undefined, sources: sourcesOf(own, own.replace(REPOSITORY, OTHER)) });
  return startBot({
    applications: [],
    files: (repoURL) => ({
      ...files,
      "argocd/shop.yaml": asYaml(applicationResource("shop", { repoURL, spec: spec(repoURL) })),
    }),
    ...options,
    prepare: async (world, forge) => {
      await forge.createRepository(OTHER, { ...CHART, "values/shop.yaml": "size: 1\n" });
      const repoURL = forge.cloneUrl(REPOSITORY);
      world.argocd.addApplication(applicationResource("shop", { repoURL, spec: spec(repoURL) }));
      await options.prepare?.(world, forge);
    },
  });
}

/** Which sources the last sync got at the head commit. */
function atHead(bot: Bot, number: number): readonly boolean[] | undefined {
  const { revisions } = bot.argocd.application("shop")?.status.operationState?.syncResult ?? {};
  return revisions?.map((revision) => revision === bot.seen(number).headRevision);
}

const values = (size: number) => ({ "values/shop.yaml": `size: ${size}\n` });
const helm = { valueFiles: ["$values/values/shop.yaml"] };

describe.each(HOSTS)("applications with several sources on %s", (host) => {
  describe.each(["auto", "always"])("with temporary_apps: %s", (temporaryApps) => {
    const options: BotOptions = { host, config: { deployer: { temporary_apps: temporaryApps } } };

    test.each<[string, SourcesOf, Readonly<Record<string, string>>, readonly boolean[]]>([
      [
        "`sources` with one element",
        (own) => [
          { repoURL: own, path: "chart", targetRevision: "main", helm: { valueFiles: ["../values/shop.yaml"] } },
        ],
        { ...CHART, ...values(1) },
        [true],
      ],
      [
        "a chart of this repository and its `ref` source, pinned together",
        (own) => [
          { repoURL: own, path: "chart", targetRevision: "HEAD", helm },
          { repoURL: own, targetRevision: "main", ref: "values" },
        ],
        { ...CHART, ...values(1) },
        [true, true],
      ],
      [
        "a chart elsewhere and the `ref` source of this repository",
        (own, other) => [
          { repoURL: other, path: "chart", targetRevision: "main", helm },
          { repoURL: own, targetRevision: "", ref: "values" },
        ],
        values(1),
        [false, true],
      ],
      [
        "a `ref` source with a path of its own",
        (own, other) => [
          { repoURL: own, path: "extra", targetRevision: "main", ref: "values" },
          { repoURL: other, path: "chart", targetRevision: "main", helm },
        ],
        { ...values(1), "extra/configmap.yaml": configMap("extra", { value: "1" }) },
        [true, false],
      ],
      [
        "two sources of this repository, one written in another form",
        (own) => [
          { repoURL: own, path: "extra", targetRevision: "refs/heads/main" },
          {
            repoURL: own.replace(/\.git$/, ""),
            path: "chart",
            targetRevision: "main",
            helm: { valueFiles: ["/values/shop.yaml"] },
          },
        ],
        { ...CHART, ...values(1), "extra/configmap.yaml": configMap("extra", { value: "1" }) },
        [true, true],
      ],
    ])("%s: planned and synced at the head commit", async (_, sourcesOf, files, moved) => {
      const bot = await startShop(options, sourcesOf, files);
      const one = await bot.open(values(2));
      expect(planned(bot.lastComment(one))).toEqual(["shop"]);
      expect(section(bot.lastComment(one), "shop")).toContain('-  size: "1"\n+  size: "2"');
      expect(section(bot.lastComment(one), "shop")).toContain("**Changes:** 0 to create, 1 to update");
      bot.expectChanges("sync shop");
      await bot.comment(one, "svc sync");
      expect(atHead(bot, one)).toEqual(moved);
      expect(bot.liveValue("shop", "size")).toBe("2");
    });
  });

  test("a `ref` source of another repository keeps its own revision", async () => {
    const bot = await startShop(
      { host },
      (own, other) => [
        { repoURL: own, path: "chart", targetRevision: "main", helm },
        { repoURL: other, targetRevision: "main", ref: "values" },
      ],
      CHART,
    );
    const one = await bot.open({ "chart/templates/configmap.yaml": TEMPLATE.replace("name: shop", "name: bank") });
    expect(section(bot.lastComment(one), "shop")).toContain("**Changes:** 1 to create, 0 to update");
    bot.expectChanges("sync shop");
    await bot.comment(one, "svc sync");
    expect(atHead(bot, one)).toEqual([true, false]);
    expect(bot.liveValue("bank", "size")).toBe("1");
  });

  test("a chart beside its values: a new version in the Application resource is planned and synced with the values of the head commit", async () => {
    const sources = (own: string, targetRevision: string) => [
      { repoURL: "https://charts.example.com", chart: "shop", targetRevision },
      { repoURL: own, targetRevision: "main", ref: "values" },
    ];
    const bot = await startShop({ host }, (own) => sources(own, "4.2.1"), values(1));
    const annotations = { "svc.dev/repository": REPOSITORY };
    const live = { source: undefined, sources: sources(bot.forge.cloneUrl(REPOSITORY), "4.2.1") };
    bot.argocd.addApplication(bot.resourceOf("shop", { annotations, spec: live }));
    for (const version of ["4.2.1", "4.3.0"]) {
      const manifest = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "shop" }, data: { value: version } };
      bot.argocd.setManifests({ path: "shop" }, version, [manifest]);
    }
    const spec = { source: undefined, sources: sources(bot.forge.cloneUrl(REPOSITORY), "4.3.0") };
    const one = await bot.open({ "argocd/shop.yaml": asYaml(bot.resourceOf("shop", { spec })) });
    expect(section(bot.lastComment(one), "shop")).toMatch(/-\s+value: 4\.2\.1\n\+\s+value: 4\.3\.0/);
    bot.expectChanges("update shop", "sync shop");
    await bot.comment(one, "svc sync");
    const { revisions } = bot.argocd.application("shop")?.status.operationState?.syncResult ?? {};
    expect(revisions).toEqual(["4.3.0", bot.seen(one).headRevision]);
    expect(bot.liveValue("shop")).toBe("4.3.0");
  });

  test("a PR that makes several sources of one is planned and synced by positions, and rolled back to the one source", async () => {
    const bot = await startShop({ host }, (own) => [{ repoURL: own, path: "extra", targetRevision: "main" }], {
      ...values(1),
      "extra/configmap.yaml": configMap("extra", { value: "1" }),
    });
    const repoURL = bot.forge.cloneUrl(REPOSITORY);
    bot.argocd.addApplication(bot.resourceOf("shop", { path: "extra" }));
    const sources = [
      { repoURL: repoURL.replace(REPOSITORY, OTHER), path: "chart", targetRevision: "main", helm },
      { repoURL, path: "extra", targetRevision: "main", ref: "values" },
    ];
    const several = asYaml(bot.resourceOf("shop", { spec: { source: undefined, sources } }));
    const one = await bot.open({
      "argocd/shop.yaml": several,
      "extra/configmap.yaml": configMap("extra", { value: "2" }),
    });
    await bot.approve(one);
    expect(section(bot.lastComment(one), "shop")).toContain("**Changes:** 1 to create, 1 to update");
    await bot.approve(one);
    bot.expectChanges("update shop", "sync shop");
    await bot.comment(one, "svc sync");
    expect(atHead(bot, one)).toEqual([false, true]);
    expect(bot.liveValue("extra")).toBe("2");
    expect(bot.liveValue("shop", "size")).toBe("1");
    await bot.comment(one, "svc rollback");
    expect(bot.argocd.application("shop")?.spec.sources).toBeUndefined();
    expect(bot.liveValue("extra")).toBe("1");
  });
});
