import { describe, expect, test } from "@jest/globals";
import { HOSTS, REPOSITORY, startBot, type Bot } from "./bot.js";
import { planned, section } from "./plan-comment.js";
import { applicationResource, asYaml, changeOf, configMap } from "./resources.js";

/** Argo CD's list of applications is read now, and answered from memory for some seconds. */
async function listThenWait(bot: Bot): Promise<void> {
  await bot.open(changeOf(["web"]));
  bot.clock.advance(2000);
}

const lists = (bot: Bot) => bot.argocd.requests.filter(({ path }) => path.endsWith("/applications")).length;

describe.each(HOSTS)("what a plan says of an application that Argo CD got some seconds ago on %s", (host) => {
  const TRACKED = { "argocd.argoproj.io/tracking-id": "root:argoproj.io/Application:argocd/child" };

  test("a child that lives is shown as changed, not as added", async () => {
    const destination = { server: "https://kubernetes.default.svc", namespace: "argocd" };
    const bot = await startBot({
      host,
      applications: ["web", "root"],
      resources: () => ({ root: { spec: { destination } } }),
    });
    await listThenWait(bot);
    const child = (value: string) =>
      bot.resourceOf("child", { path: "apps/web", annotations: TRACKED, spec: { info: [{ name: "size", value }] } });
    bot.argocd.addApplication(child("s"));
    const one = await bot.open({ "apps/root/child.yaml": asYaml(child("m")) });
    expect(bot.lastComment(one)).toContain("`child`");
    expect(bot.lastComment(one)).not.toContain("(added)");
  });

  test("one that reads what a new application reads lets that be previewed", async () => {
    const bot = await startBot({
      host,
      prepare: async ({ argocd }, forge) => {
        await forge.createRepository("acme/charts", { "shop/configmap.yaml": configMap("shop", { value: "7" }) });
        argocd.addProject("default", {});
      },
    });
    await listThenWait(bot);
    const theirs = { repoURL: bot.forge.cloneUrl("acme/charts"), path: "shop", targetRevision: "main" };
    const shop = (name: string) => applicationResource(name, { repoURL: theirs.repoURL, spec: { source: theirs } });
    const annotations = { "svc.dev/repository": REPOSITORY };
    bot.argocd.addApplication(bot.resourceOf("same", { annotations, spec: { source: theirs } }));
    const one = await bot.open({ "argocd/shop.yaml": asYaml(shop("shop")) });
    expect(section(bot.lastComment(one), "shop")).toContain('+  value: "7"');
  });

  test("a new application is in the plan although the plan has others, and waits for the same sync", async () => {
    const files = () => ({ "apps/shop/configmap.yaml": configMap("shop", { value: "1" }) });
    const bot = await startBot({
      host,
      applications: ["web", "api"],
      files,
      config: { defaults: { auto_merge: true } },
    });
    await listThenWait(bot);
    bot.argocd.addApplication(applicationResource("shop", { repoURL: bot.forge.cloneUrl(REPOSITORY) }));
    const one = await bot.open(changeOf(["api", "shop"]));
    expect(planned(bot.lastComment(one))).toEqual(["api", "shop"]);
    bot.expectChanges("sync api", "sync shop", "merge");
    await bot.comment(one, "svc sync");
    expect(bot.changes()).toEqual(expect.arrayContaining(["sync api", "sync shop"]));
  });

  describe("an application that came to Argo CD after the plan, and reads the same files", () => {
    const LACKED =
      "`late`: it reads what changes here and is not in the plan: it came to Argo CD later, or changed there or on the base branch";
    const PLAN_AGAIN = /\nNext, comment:\n```\nsvc plan\n```/;
    const comeToArgoCd = (bot: Bot) => {
      bot.clock.advance(2000);
      const repoURL = bot.forge.cloneUrl(REPOSITORY);
      const spec = { source: { repoURL, path: "apps/web", targetRevision: "main" } };
      bot.argocd.addApplication(applicationResource("late", { repoURL, spec }));
    };

    test("nothing is synced before a plan names it, which the earlier plan says by then", async () => {
      const bot = await startBot({ host, applications: ["web"] });
      const one = await bot.open(changeOf(["web"]));
      comeToArgoCd(bot);
      await bot.comment(one, "svc sync");
      expect(bot.changes()).toEqual([]);
      expect(bot.lastComment(one)).toContain(LACKED);
      expect(bot.answers(one)[0]).toMatch(PLAN_AGAIN);
      await bot.comment(one, "svc plan");
      expect(planned(bot.lastComment(one))).toEqual(["late", "web"]);
      bot.expectChanges("sync late", "sync web");
      await bot.comment(one, "svc sync");
      expect([...bot.changes()].sort()).toEqual(["sync late", "sync web"]);
    });

    test("nothing is synced if it comes while the sync is checked, which the plan says by then", async () => {
      const bot = await startBot({ host, applications: ["web"] });
      const one = await bot.open(changeOf(["web"]));
      bot.meanwhile("argocd", { method: "GET", path: /\/applications\/web$/ }, () => comeToArgoCd(bot));
      await bot.comment(one, "svc sync");
      expect(bot.changes()).toEqual([]);
      expect(bot.lastComment(one)).toContain(LACKED);
      expect(bot.answers(one)[0]).toMatch(PLAN_AGAIN);
    });

    test("svc does not merge if it comes while the others are synced", async () => {
      const bot = await startBot({ host, applications: ["web"], config: { defaults: { auto_merge: true } } });
      const one = await bot.open(changeOf(["web"]));
      bot.meanwhile("argocd", { method: "POST", path: /\/web\/sync$/ }, () => comeToArgoCd(bot));
      bot.expectChanges("sync web");
      await bot.comment(one, "svc sync");
      expect(bot.changes()).toEqual(["sync web"]);
      expect(bot.lastComment(one)).toContain(LACKED);
      expect(bot.answers(one)[0]).toMatch(PLAN_AGAIN);
    });

    test("nothing is lacking any more once it is gone", async () => {
      const bot = await startBot({ host, applications: ["web"] });
      const one = await bot.open(changeOf(["web"]));
      comeToArgoCd(bot);
      await bot.comment(one, "svc sync");
      bot.argocd.removeApplication("late");
      bot.clock.advance(2000);
      bot.expectChanges("sync web");
      await bot.comment(one, "svc sync");
      expect(bot.changes()).toEqual(["sync web"]);
    });
  });

  test("a file that nothing reads costs a list of applications and one of sets, and no other look or render", async () => {
    const bot = await startBot({ host, applications: ["web", "api"] });
    await listThenWait(bot);
    const from = bot.argocd.requests.length;
    await bot.open({ ...changeOf(["api"]), "README.md": "hello" });
    const reads = bot.argocd.requests.slice(from).filter(({ path }) => /\/application(set)?s(\/[^/]+)?$/.test(path));
    expect(reads.map(({ path }) => path.split("/v1/")[1]).sort()).toEqual([
      "applications",
      "applications/api",
      "applicationsets",
    ]);
    expect(bot.argocd.requests.slice(from).filter(({ path }) => path.endsWith("/manifests"))).toHaveLength(2);
  });

  test("what a plan lists while git fetches is not too old for it", async () => {
    const bot = await startBot({ host, git: true, applications: ["web", "api"] });
    const one = await bot.open(changeOf(["web"]));
    bot.clock.advance(11_000);
    const before = lists(bot);
    const listed = bot.asked("argocd", { method: "GET", path: /\/applications$/ });
    bot.meanwhile("forge", { path: /\.git\/info\/refs$/ }, async () => {
      await listed;
      bot.clock.advance(1000);
    });
    await bot.push(one, { "README.md": "hello" });
    expect(lists(bot)).toBe(before + 1);
  });

  test("nothing is read again while nothing is missing", async () => {
    const bot = await startBot({ host, applications: ["web", "api"] });
    await listThenWait(bot);
    const before = lists(bot);
    await bot.open(changeOf(["api"]));
    expect(lists(bot)).toBe(before);
  });
});
