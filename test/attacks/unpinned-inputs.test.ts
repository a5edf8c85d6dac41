import { describe, expect, test } from "@jest/globals";
import type { HostId } from "../../src/names.js";
import { HOSTS, USUAL_RENDERS, startBot, type Bot, type BotOptions } from "../scenarios/bot.js";
import { applicationResource, changeOf } from "../scenarios/resources.js";
import { cloneUrlOf } from "../scenarios/sets.js";

const CHARTS = "https://charts.example.com";
const REQUIRED = { ".svc.yaml": "sync_requirements: [{ name: web, require_approval: true }]\n" };

/** What the chart renders, whatever its version. */
function publish(bot: Pick<Bot, "argocd">, value: string): void {
  const configMap = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "of-the-chart" }, data: { value } };
  bot.argocd.setManifests({ path: "shop", repoURL: CHARTS }, "*", [configMap]);
}

/** An application `web` of this repository and of a chart that somebody else publishes. */
function startCharted(
  host: HostId,
  files: Readonly<Record<string, string>> = REQUIRED,
  config: BotOptions["config"] = {},
  version = "v3.5.1",
): Promise<Bot> {
  return startBot({
    host,
    config,
    argocd: { version },
    applications: ["api"],
    files: () => ({ ...changeOf(["web"], "1"), ...files }),
    prepare: (world, forge) => {
      publish(world, "harmless");
      const repoURL = cloneUrlOf(forge);
      const sources = [
        { repoURL, path: "apps/web", targetRevision: "main" },
        { repoURL: CHARTS, chart: "shop", targetRevision: "1.2.3" },
      ];
      world.argocd.addApplication(applicationResource("web", { repoURL, spec: { source: undefined, sources } }));
    },
  });
}

const rendersOf = ({ argocd }: Bot) => argocd.requests.filter(({ path }) => path.endsWith("/manifests"));

/** The renders of an application past Argo CD's cache. */
const fresh = (bot: Bot, name: string) =>
  rendersOf(bot).filter(
    ({ path, query }) => path.includes(`/applications/${name}/`) && query.noCache?.includes("true") === true,
  );

async function expectRefused(bot: Bot, one: number, text: string): Promise<void> {
  await bot.comment(one, "svc sync -a web");
  expect(bot.lastComment(one)).toContain(text);
  expect(bot.changes()).toEqual([]);
  expect(bot.seen(one).state).toBe("open");
}

describe.each(HOSTS)("a chart version that is published again on %s", (host) => {
  test("is warned of by a plan of another application as well", async () => {
    const bot = await startCharted(host);
    const one = await bot.open(changeOf(["web", "api"]));
    await bot.comment(one, "svc plan -a api");
    expect(bot.lastComment(one)).toContain("⚠️ Reads what may change without a commit: the chart shop of");
  });

  test("after the approval is not deployed: the plan is stale, and the new one needs another approval", async () => {
    const bot = await startCharted(host);
    const one = await bot.open(changeOf(["web"]));
    expect(bot.lastComment(one)).toContain("⚠️ Reads what may change without a commit: the chart shop of");
    expect(bot.lastComment(one)).toContain(
      "A sync renders it again, and is refused if that is not what this plan shows.",
    );
    await bot.approve(one);
    publish(bot, "evil");
    await expectRefused(
      bot,
      one,
      "that changed since the plan: ConfigMap guestbook/of-the-chart would be another one than planned",
    );
    expect(bot.lastComment(one)).toContain("Plan for web is stale. Please run the plan command again.");
    await bot.comment(one, "svc plan");
    await expectRefused(bot, one, "was planned like this only after the head was approved. Approve again");
    // One that cannot be rendered in between makes nobody forget what was approved.
    const remove = bot.argocd.faults.add({ path: /\/manifests$/, fault: { kind: "status", status: 500 } });
    await bot.comment(one, "svc plan");
    remove();
    await bot.comment(one, "svc plan");
    await expectRefused(bot, one, "was planned like this only after the head was approved. Approve again");
    await bot.push(one, changeOf(["web"], "3"));
    await bot.approve(one);
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync -a web");
    expect(bot.lastComment(one)).toContain("succeeded");
  });

  test.each([
    ["v3.1.9", "Argo CD 3.1 cannot render again without its cache; 3.2 or newer can"],
    ["", "The version of Argo CD is not known, so it may render from its cache"],
  ])("on an Argo CD (%s) that cannot leave its cache aside: the plan says so", async (version, why) => {
    const bot = await startCharted(host, {}, {}, version);
    const one = await bot.open(changeOf(["web"]));
    expect(bot.lastComment(one)).toContain(`. ${why}: a sync may deploy something else than this plan shows`);
    expect(bot.lastComment(one)).not.toContain("A sync renders it again");
  });

  test("while it is rendered again is not deployed either, where no approval is required", async () => {
    const bot = await startCharted(host, {});
    const one = await bot.open(changeOf(["web"]));
    bot.meanwhile("argocd", { path: /\/manifests$/ }, () => {
      publish(bot, "evil");
    });
    await expectRefused(bot, one, "that changed since the plan");
  });

  test("with manifests that differ at each render is refused with that sentence, whoever asks how often", async () => {
    const bot = await startCharted(host, {});
    let count = 0;
    bot.argocd.faults.add({
      path: /\/manifests$/,
      fault: { kind: "meanwhile", act: () => publish(bot, `random ${(count += 1)}`) },
    });
    const one = await bot.open(changeOf(["web"]));
    for (let times = 0; times < 2; times += 1) {
      await expectRefused(
        bot,
        one,
        "ConfigMap guestbook/of-the-chart differs each time that it is rendered, so svc cannot tell",
      );
      await bot.comment(one, "svc plan");
    }
  });

  test("and stays the same is rendered once more, past the cache, and deployed; what is pinned is not", async () => {
    const bot = await startCharted(host, REQUIRED, USUAL_RENDERS);
    const one = await bot.open(changeOf(["web", "api"]));
    await bot.approve(one);
    expect(fresh(bot, "web")).toHaveLength(2);
    const before = rendersOf(bot).length;
    bot.expectChanges("sync web", "sync api");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("succeeded");
    const again = rendersOf(bot).slice(before);
    expect(again.map(({ path }) => path)).toEqual([expect.stringContaining("/web/manifests")]);
    expect(fresh(bot, "web")).toHaveLength(3);
    expect(fresh(bot, "api")).toEqual([]);
  });

  test("and cannot be rendered again is not deployed", async () => {
    const bot = await startCharted(host, {});
    const one = await bot.open(changeOf(["web"]));
    bot.argocd.faults.add({ path: /\/manifests$/, fault: { kind: "status", status: 500 } });
    await expectRefused(bot, one, "could not be rendered again");
    bot.argocd.faults.clear();
  });
});
