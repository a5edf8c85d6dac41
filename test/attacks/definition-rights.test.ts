import { describe, expect, test } from "@jest/globals";
import type { FileChanges } from "../../sandbox/forge.js";
import { applicationName, repositoryName, revision } from "../../src/core/model/brand.js";
import type { JsonObject } from "../../src/core/model/json.js";
import type { HostId } from "../../src/names.js";
import { HOSTS, USUAL_RENDERS, nameOn, REPOSITORY, SHORT, startBot, type Bot } from "../scenarios/bot.js";
import { applicationResource, asYaml, changeOf, configMap } from "../scenarios/resources.js";

const WEAK = "require_approval: false\nsync_requirements: [{name: '*', require_approval: false}]\n";
/** What the definition of `web` looks like on a base branch that somebody made for the purpose. */
const OTHER_FOLDER = (bot: Bot) => asYaml(bot.resourceOf("web", { path: "apps/api" }));
const SAME_AS_LIVE = (bot: Bot) => asYaml(bot.resourceOf("web"));

/** A change request by `ana` into a base branch of her own, on which the policy and the definition are hers. */
async function openIntoOwnBase(bot: Bot, before: FileChanges, changes: FileChanges): Promise<number> {
  await bot.forge.pushToBranch(REPOSITORY, "mine", { ".svc.yaml": WEAK, ...before });
  return bot.open(changes, { base: "mine" });
}

async function expectNothingDriven(bot: Bot, one: number): Promise<void> {
  for (const command of ["sync --prune", "sync -a web --prune", "rollback --prune", "rollback -a web --prune"]) {
    await bot.comment(one, `svc ${command}`);
    expect([command, bot.changes()]).toEqual([command, []]);
  }
  expect(await bot.locked(one)).toEqual([]);
}

describe.each(HOSTS)("a base branch of one's own, on %s", (host) => {
  test.each<[string, (bot: Bot) => FileChanges, (bot: Bot) => FileChanges]>([
    [
      "the PR restores the live definition that the base branch had changed",
      (bot) => ({ "argocd/web.yaml": OTHER_FOLDER(bot) }),
      (bot) => ({ "argocd/web.yaml": SAME_AS_LIVE(bot) }),
    ],
    [
      "the base branch has no definition",
      () => ({ "argocd/web.yaml": null }),
      (bot) => ({ "a.yaml": SAME_AS_LIVE(bot) }),
    ],
    ["the PR changes the definition", () => ({}), (bot) => ({ "argocd/web.yaml": OTHER_FOLDER(bot) })],
    [
      "the PR makes the definition follow that branch",
      () => ({}),
      (bot) => ({
        "argocd/web.yaml": asYaml(bot.resourceOf("web", { targetRevision: "mine" })),
      }),
    ],
    ["the PR deletes the definition", () => ({}), () => ({ "argocd/web.yaml": null })],
    [
      "the PR breaks the definition",
      () => ({}),
      () => ({ "argocd/web.yaml": asYaml({ ...applicationResource("web", { repoURL: "" }) }) }),
    ],
    ["the PR doubles the definition", () => ({}), (bot) => ({ "argocd/more.yaml": OTHER_FOLDER(bot) })],
  ])("drives nothing that is live from elsewhere: %s", async (_how, before, changes) => {
    const bot = await startBot({ host, config: { defaults: { require_approval: true } } });
    const one = await openIntoOwnBase(bot, before(bot), changes(bot));
    expect(bot.lastComment(one)).toMatch(/- `web`: neither the live Application nor its parent follows mine/);
    await expectNothingDriven(bot, one);
  });

  test("drives nothing by files that the live definition reads from another branch", async () => {
    const bot = await startBot({ host, config: { defaults: { require_approval: true } } });
    const mapped = `${WEAK}applications: [{name: web, paths: ['**']}]\n`;
    const one = await openIntoOwnBase(bot, { ".svc.yaml": mapped }, changeOf(["web"]));
    expect(bot.lastComment(one)).toContain("- `web`: it follows main, not mine");
    await expectNothingDriven(bot, one);
  });

  test("is not the branch that the full name of another one means", async () => {
    const resources = () => ({ web: { targetRevision: "refs/heads/main" } });
    const bot = await startBot({ host, resources });
    await bot.forge.pushToBranch(REPOSITORY, "refs/heads/main", {
      "apps/api/configmap.yaml": configMap("api", { value: "0" }),
    });
    const one = await bot.open(changeOf(["web"]), { base: "refs/heads/main" });
    await expectNothingDriven(bot, one);
  });

  test("takes over nothing that the same PR has deployed from the right one", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(bot.moved("web"));
    bot.expectChanges("update web", "sync web");
    await bot.comment(one, "svc sync");
    const before = bot.changes().length;
    await bot.forge.pushToBranch(REPOSITORY, "mine", { ".svc.yaml": WEAK, "argocd/web.yaml": OTHER_FOLDER(bot) });
    await bot.forge.retarget(REPOSITORY, one, "mine");
    await bot.idle();
    await bot.push(one, changeOf(["web"], "3"));
    await bot.comment(one, "svc sync --prune");
    expect(bot.changes().slice(before)).toEqual([]);
    expect(await bot.locked(one)).toEqual([]);
    expect(bot.lastComment(one)).toContain("No applications are locked by this PR.");
  });
});

describe.each(HOSTS)("a new target branch whose webhook was lost, on %s", (host) => {
  test("lets nobody roll back what was deployed under the rules of the old one", async () => {
    const bot = await startBot({ host, resources: () => ({ web: { targetRevision: "release" } }) });
    const rules = { ".svc.yaml": "sync_requirements: [{name: web, allowed_users: [bo]}]\n" };
    await bot.forge.pushToBranch(REPOSITORY, "release", rules);
    await bot.forge.pushToBranch(REPOSITORY, "mine", { ".svc.yaml": WEAK });
    const one = await bot.open(changeOf(["web"]), { base: "release" });
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync", "bo");
    await bot.loseWebhooks(() => bot.forge.retarget(REPOSITORY, one, "mine"));
    await bot.comment(one, "svc rollback");
    expect(bot.lastComment(one)).toContain("Plan for web is stale. Please run the plan command again.");
    expect(bot.lastComment(one)).toContain("There is no plan of it for the present target branch");
    await bot.comment(one, "svc plan");
    await bot.comment(one, "svc rollback");
    expect(bot.lastComment(one)).toContain("- `web`: the plan does not deploy it, so svc cannot tell which rules hold");
    expect(bot.lastComment(one)).not.toContain("Please run the plan command again.");
    const above = await bot.open({ ".svc.yaml": WEAK }, { base: bot.seen(one).headBranch });
    await bot.forge.retarget(REPOSITORY, one, bot.seen(above).headBranch);
    await bot.idle();
    await bot.comment(one, "svc rollback");
    expect(bot.lastComment(one)).toContain("- `web`: the plan does not deploy it, so svc cannot tell which rules hold");
    expect(bot.changes()).toEqual(["sync web"]);
    await bot.forge.retarget(REPOSITORY, one, "release");
    await bot.idle();
    await bot.comment(one, "svc rollback", "bo");
    expect(bot.lastComment(one)).toContain("✅ succeeded, `release` is deployed");
  });

  test("makes the plan and the locks of the old one worthless until the PR is planned again", async () => {
    const bot = await startBot({ host, config: { defaults: { auto_merge: true } } });
    await bot.forge.pushToBranch(REPOSITORY, "mine", { ".svc.yaml": WEAK });
    const one = await bot.open(changeOf(["web"]));
    expect(await bot.locked(one)).toEqual(["web"]);
    await bot.loseWebhooks(() => bot.forge.retarget(REPOSITORY, one, "mine"));
    for (const command of ["rollback", "rollback -a web --prune", "sync", "sync -a web --prune"]) {
      await bot.comment(one, `svc ${command}`);
      expect(bot.lastComment(one)).toContain("Plan for web is stale. Please run the plan command again.");
    }
    expect(bot.changes()).toEqual([]);
    expect(bot.seen(one).state).toBe("open");
    await bot.comment(one, "svc plan");
    expect(bot.lastComment(one)).toContain("- `web`: it follows main, not mine");
    await expectNothingDriven(bot, one);
  });
});

const CHARTS = "acme/charts";
const CHART = {
  "chart/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
  "chart/values.yaml": "size: 0\n",
  "chart/templates/configmap.yaml":
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop}\ndata: {size: {{ .Values.size | quote }}}\n",
  "confidential/configmap.yaml": configMap("shop", { value: "not-for-ana" }),
};
const values = (size: number) => ({ "values/shop.yaml": `size: ${size}\n` });
const NOT_OWNED = "changes its definition, which acme/deploy does not own";
const REFUSED = /No applications are locked by this PR\.|Not locked by this (?:PR|MR): `shop`/;

type Sources = (own: string, charts: string) => readonly object[];
const chartElsewhere: Sources = (own, charts) => [
  { repoURL: charts, path: "chart", targetRevision: "main", helm: { valueFiles: ["$values/values/shop.yaml"] } },
  { repoURL: own, targetRevision: "main", ref: "values" },
];
const chartOfHelmRepository: Sources = (own) => [
  { repoURL: "https://charts.example.com", chart: "shop", targetRevision: "4.2.1" },
  { repoURL: own, targetRevision: "main", ref: "values" },
];
const oneOfTwo: Sources = (own, charts) => [
  { repoURL: charts, path: "chart", targetRevision: "main" },
  { repoURL: own, path: "values", targetRevision: "main", ref: "values" },
];

const urls = (bot: Bot) => [bot.forge.cloneUrl(REPOSITORY), bot.forge.cloneUrl(CHARTS)] as const;
const specOf = (sources: readonly object[]) => ({ source: undefined, sources });

interface Shop {
  readonly sources: Sources;
  readonly annotations?: Readonly<Record<string, string>>;
  /** Sources of a live application `root` that tracks `shop`. */
  readonly root?: Sources;
}

/** Argo CD runs `shop`, and this repository holds a file that claims to define it. */
function startShop(host: HostId, { sources, annotations, root }: Shop): Promise<Bot> {
  const tracking = { "argocd.argoproj.io/tracking-id": "root:argoproj.io/Application:argocd/shop" };
  return startBot({
    host,
    config: USUAL_RENDERS,
    applications: [],
    files: (own) => ({
      ...values(1),
      "argocd/shop.yaml": asYaml(
        applicationResource("shop", { repoURL: own, spec: specOf(sources(own, own.replace(REPOSITORY, CHARTS))) }),
      ),
    }),
    prepare: async ({ argocd }, forge) => {
      await forge.createRepository(CHARTS, CHART);
      const [repoURL, charts] = [forge.cloneUrl(REPOSITORY), forge.cloneUrl(CHARTS)];
      argocd.addApplication(
        applicationResource("shop", {
          repoURL,
          spec: specOf(sources(repoURL, charts)),
          annotations: { ...(root === undefined ? {} : tracking), ...annotations },
        }),
      );
      for (const version of ["4.2.1", "4.3.0"]) argocd.setManifests({ path: "shop" }, version, []);
      if (root === undefined) return;
      argocd.addApplication(applicationResource("root", { repoURL, spec: specOf(root(repoURL, charts)) }));
    },
  });
}

/** Leads `shop` to another folder of the repository that holds its chart. */
function rewritten(bot: Bot): FileChanges {
  const [own, charts] = urls(bot);
  const sources = [
    { repoURL: charts, path: "confidential", targetRevision: "main" },
    { repoURL: own, targetRevision: "main", ref: "values" },
  ];
  return { "argocd/shop.yaml": asYaml(bot.resourceOf("shop", { spec: specOf(sources) })) };
}

describe.each(HOSTS)("a repository that does not render all of an application, on %s", (host) => {
  const sides: readonly [string, Shop][] = [
    ["its values for a chart of another repository", { sources: chartElsewhere }],
    ["its values for a chart of a Helm repository", { sources: chartOfHelmRepository }],
    ["one of two sources that render manifests", { sources: oneOfTwo }],
    ["its values, and those of the parent that tracks it", { sources: chartElsewhere, root: chartElsewhere }],
    ["its values, and one of two sources of the parent that tracks it", { sources: chartElsewhere, root: oneOfTwo }],
  ];

  test.each(sides)("changes no definition, neither shown nor deployed: it holds %s", async (_what, shop) => {
    const bot = await startShop(host, shop);
    const one = await bot.open({ ...rewritten(bot), ...values(2) });
    expect(bot.lastComment(one)).toContain(NOT_OWNED);
    expect(bot.lastComment(one)).toContain(
      `set the annotation svc.dev/repository: ${nameOn(host, REPOSITORY)} on the live Application`,
    );
    await bot.approve(one);
    await bot.comment(one, "svc sync -a shop");
    expect(bot.lastComment(one)).toMatch(REFUSED);
    expect(bot.answers(one).join("\n")).not.toContain("not-for-ana");
    expect(bot.changes()).toEqual([]);
    const rendered = bot.argocd.requests.filter(
      ({ method, path }) => method === "POST" && path.endsWith("/applications"),
    );
    expect(rendered).toEqual([]);
  });

  test("takes no lock by a PR that deletes its copy of the definition", async () => {
    const bot = await startShop(host, { sources: chartElsewhere });
    const one = await bot.open({ "argocd/shop.yaml": null });
    expect(bot.lastComment(one)).toContain(`- \`shop\`: this ${SHORT[host]} ${NOT_OWNED}`);
    expect(await bot.locked(one)).toEqual([]);
  });

  test("deploys the values that it holds with the live definition, whatever its own copy says", async () => {
    const bot = await startShop(host, { sources: chartElsewhere });
    await bot.forge.pushToBranch(REPOSITORY, "main", rewritten(bot));
    const one = await bot.open(values(2));
    expect(bot.lastComment(one)).toContain('-  size: "1"\n+  size: "2"');
    bot.expectChanges("sync shop");
    await bot.comment(one, "svc sync");
    expect(bot.changes()).toEqual(["sync shop"]);
    expect(bot.liveValue("shop", "size")).toBe("2");
  });

  test("writes no definition of its own while another PR's is deployed and not merged", async () => {
    const bot = await startShop(host, { sources: chartElsewhere });
    await bot.forge.pushToBranch(REPOSITORY, "main", rewritten(bot));
    const live = JSON.parse(asYaml(specOf(chartElsewhere(...urls(bot))))) as JsonObject;
    await bot.stores.deployments.save({
      application: applicationName("shop"),
      change: { host, repository: repositoryName(CHARTS), number: 1 },
      revision: revision("1".repeat(40)),
      outcome: "succeeded",
      pins: [],
      specBefore: { ...live, revisionHistoryLimit: 3 },
      specWritten: live,
      approvers: [],
      user: "bo",
      runId: "1",
      timestamp: bot.clock.now().toISOString(),
    });
    const one = await bot.open(values(2));
    expect(bot.lastComment(one)).toContain(`its live definition is the one of another ${SHORT[host]}`);
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toMatch(REFUSED);
    expect(bot.changes()).toEqual([]);
  });

  test.each<[string, Shop]>([
    [
      "the live annotation",
      { sources: chartElsewhere, annotations: { "svc.dev/repository": nameOn(host, REPOSITORY) } },
    ],
    [
      "a parent that is rendered from it alone",
      { sources: chartElsewhere, root: (own) => [{ repoURL: own, path: "argocd", targetRevision: "main" }] },
    ],
  ])("changes the definition after all by %s", async (_how, shop) => {
    const bot = await startShop(host, shop);
    const [own, charts] = urls(bot);
    const sources = chartElsewhere(own, charts).map((source, index) =>
      index === 0 ? { ...source, helm: { valueFiles: [], parameters: [{ name: "size", value: "7" }] } } : source,
    );
    const one = await bot.open({ "argocd/shop.yaml": asYaml(bot.resourceOf("shop", { spec: specOf(sources) })) });
    expect(bot.lastComment(one)).not.toContain(NOT_OWNED);
    expect(await bot.locked(one)).toContain("shop");
  });
});
