import { describe, expect, test } from "@jest/globals";
import { stringify } from "yaml";
import { HOSTS, startBot, type Bot } from "./bot.js";
import { section } from "./plan-comment.js";

type Members = Readonly<Record<string, unknown>>;

function deployment(spec: Members = {}, pod: Members = {}, cpu = "500m"): string {
  return stringify({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web" },
    spec: {
      replicas: 2,
      selector: { matchLabels: { app: "web" } },
      template: {
        metadata: { labels: { app: "web" } },
        spec: { containers: [{ name: "web", image: "web:1", resources: { limits: { cpu } } }], ...pod },
      },
      ...spec,
    },
  });
}
const FILE = "apps/web/deployment.yaml";

/** What is deployed is stored as Kubernetes stores it. */
async function deployed(host: Bot["host"], deployer: object, spec: Members = {}, file = deployment()): Promise<Bot> {
  const bot = await startBot({
    host,
    applications: ["web"],
    config: { deployer: { server_dry_run: "auto", ...deployer } },
    resources: () => ({ web: { spec } }),
    files: () => ({ [FILE]: file }),
  });
  bot.argocd.storeDefaults();
  await bot.argocd.deploy("web");
  return bot;
}

const web = (bot: Bot, number: number) => section(bot.lastComment(number), "web");

describe.each(HOSTS)("what Kubernetes answers to be no change on %s", (host) => {
  test.each([
    ["an explicit default", deployment({ revisionHistoryLimit: 10 })],
    ["another spelling of an amount", deployment({}, {}, "0.5")],
    ["an empty map", deployment({}, { nodeSelector: {} })],
    ["a switch that is off", deployment({ paused: false })],
  ])("%s is shown, marked and not counted, and the sync leaves the object", async (_, head) => {
    const bot = await deployed(host, { diff_mode: "branch" });
    const before = bot.argocd.liveObject("Deployment", "guestbook", "web");
    const one = await bot.open({ [FILE]: head });
    expect(web(bot, one)).toContain(
      "**Changes:** 0 to create, 0 to update\n\n**Left as is:** 1 that no sync changes; the diff says why\n",
    );
    expect(web(bot, one)).toContain(
      "# update: apps/Deployment guestbook/web\n# The cluster already has what this says: a sync leaves it.\n@@",
    );
    expect(await bot.locked(one)).toEqual(["web"]);
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.argocd.liveObject("Deployment", "guestbook", "web")?.spec).toEqual(before?.spec);
  });

  test("what is removed counts, although the answer keeps it", async () => {
    const bot = await deployed(host, { diff_mode: "branch" });
    const one = await bot.open({ [FILE]: deployment({ replicas: undefined }) });
    expect(web(bot, one)).toContain("**Changes:** 0 to create, 1 to update");
    expect(web(bot, one)).not.toContain("a sync leaves it");
  });

  test("what Argo CD ignores counts without RespectIgnoreDifferences, also where it becomes zero", async () => {
    const rule = { group: "apps", kind: "Deployment", jsonPointers: ["/spec/replicas"] };
    const bot = await deployed(host, { diff_mode: "branch" }, { ignoreDifferences: [rule] });
    const one = await bot.open({ [FILE]: deployment({ replicas: 0 }) });
    expect(web(bot, one)).toContain("**Changes:** 0 to create, 1 to update");
    expect(web(bot, one)).not.toContain("a sync leaves it");
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.argocd.liveObject("Deployment", "guestbook", "web")).toMatchObject({ spec: { replicas: 0 } });
  });

  test("an empty map counts where Argo CD ignores something of the object that a sync writes", async () => {
    const rule = { group: "apps", kind: "Deployment", jsonPointers: ["/spec/template/spec/nodeSelector"] };
    const bot = await deployed(host, { diff_mode: "branch" }, { ignoreDifferences: [rule] });
    const one = await bot.open({ [FILE]: deployment({}, { nodeSelector: {} }) });
    expect(web(bot, one)).toContain("**Changes:** 0 to create, 1 to update");
  });

  test("in diff_mode: live the diff is Kubernetes' own, of drift as well, and nothing of it is approximate", async () => {
    const bot = await deployed(host, { diff_mode: "live" }, {}, deployment({ paused: false }, {}, "0.5"));
    const live = bot.argocd.liveObject("Deployment", "guestbook", "web");
    bot.argocd.putLiveObject({ ...live, spec: { ...(live?.spec as object), revisionHistoryLimit: 3 } });
    const one = await bot.open({ [FILE]: deployment({ paused: false, minReadySeconds: 0, replicas: 3 }, {}, "0.7") });
    expect(web(bot, one)).toContain("-  replicas: 2\n+  replicas: 3");
    expect(web(bot, one)).toMatch(/^-\s+cpu: 500m\n\+\s+cpu: 700m$/m);
    expect(web(bot, one)).not.toMatch(/^[-+].*(?:minReadySeconds|paused)/m);
    expect(web(bot, one)).not.toContain("Approximate");
  });

  test.each<[string, boolean]>([
    ["v1.34.2", false],
    ["v1.35.0", true],
  ])(
    "a default that returns is called approximate where Kubernetes is newer than svc's copy: %s",
    async (version, newer) => {
      const bot = await deployed(host, { diff_mode: "live" }, {}, deployment({ revisionHistoryLimit: 3 }));
      bot.argocd.setKubernetes(version);
      const one = await bot.open({ [FILE]: deployment() });
      expect(web(bot, one)).toContain("-  revisionHistoryLimit: 3\n+  revisionHistoryLimit: 10");
      expect(web(bot, one).includes("Approximate")).toBe(newer);
    },
  );

  test("without an answer the plan shows more, and says that it is approximate", async () => {
    const bot = await deployed(host, { diff_mode: "live", server_dry_run: "off" });
    const one = await bot.open({ [FILE]: deployment({ minReadySeconds: 0 }) });
    expect(web(bot, one)).toContain("**Changes:** 0 to create, 1 to update");
    expect(web(bot, one)).toContain(
      "Approximate:\n- `apps/Deployment guestbook/web`: without Kubernetes' answer, what it fills in or spells in another way may be shown as a change",
    );
  });
});
