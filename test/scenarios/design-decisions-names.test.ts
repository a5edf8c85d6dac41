import { describe, expect, test } from "@jest/globals";
import { HOSTS, REPOSITORY, SHORT, startBot, type Bot } from "./bot.js";
import { asYaml, applicationResource, changeOf } from "./resources.js";

const WEB = changeOf(["web"]);
const NOWHERE = { url: "http://127.0.0.1:9/webhook", secret: "sandbox-webhook-secret" };

/** Lets something happen whose webhooks get lost. */
async function withoutWebhooks(bot: Bot, act: () => Promise<unknown>): Promise<void> {
  bot.forge.connect(NOWHERE);
  await act();
  await bot.forge.idle();
  bot.forge.connect({ url: `${bot.service.url}/webhook/${bot.host}`, secret: NOWHERE.secret });
}

describe.each(HOSTS)("names and the reconciler on %s", (host) => {
  test("an application outside Argo CD's namespace is <namespace>/<name>; the same name in two namespaces is two applications", async () => {
    const inTeam = { path: "apps/web", namespace: "team-a" };
    const other = { spec: { destination: { server: "https://kubernetes.default.svc", namespace: "team-a" } } };
    const bot = await startBot({
      host,
      applications: ["web"],
      argocd: { applicationNamespaces: ["team-*"] },
      files: (repoURL) => ({
        "argocd/team-web.yaml": asYaml(applicationResource("web", { repoURL, ...inTeam, ...other })),
      }),
      prepare({ argocd }, forge) {
        argocd.addProject("default", { sourceNamespaces: ["team-*"] });
        const repoURL = forge.cloneUrl(REPOSITORY);
        argocd.addApplication(applicationResource("web", { repoURL, ...inTeam, ...other }));
      },
    });
    const one = await bot.open(WEB);
    expect(bot.lastComment(one)).toContain("### Application: `web`");
    expect(bot.lastComment(one)).toContain("### Application: `team-a/web`");
    expect(await bot.locked(one)).toEqual(["team-a/web", "web"]);
    bot.expectChanges("sync team-a/web");
    await bot.comment(one, "svc sync -a team-a/web");
    expect(bot.lastComment(one)).toContain("succeeded");
    expect(bot.changes()).toEqual(["sync team-a/web"]);
    expect(await bot.locked(one)).toEqual(["web"]);
    expect(bot.argocd.liveObject("ConfigMap", "team-a", "web")).toBeDefined();
    expect(bot.argocd.liveObject("ConfigMap", "guestbook", "web")).toBeUndefined();
    await bot.comment(one, "svc rollback -a team-a/web");
    expect(bot.changes()).toEqual(["sync team-a/web", "sync team-a/web"]);
    await bot.comment(one, "svc unlock -a web");
    expect(await bot.locked(one)).toEqual([]);
  });

  test("the reconciler releases the locks of a PR whose close webhook got lost", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(WEB);
    const two = await bot.open(changeOf(["api"]));
    await withoutWebhooks(bot, () => bot.forge.close(REPOSITORY, one));
    expect(await bot.locked(one)).toEqual(["web"]);
    await bot.service.reconcile();
    await bot.idle();
    expect(await bot.locked(one)).toEqual([]);
    expect(await bot.locked(two)).toEqual(["api"]);
  });

  test("the reconciler ends the record of a PR whose merge webhook got lost, and keeps that of one closed unmerged", async () => {
    const bot = await startBot({ host });
    bot.expectChanges("sync web", "sync api");
    const one = await bot.open(WEB);
    const two = await bot.open(changeOf(["api"]));
    await bot.comment(one, "svc sync");
    await bot.comment(two, "svc sync");
    await bot.comment(two, "svc plan");
    expect(await bot.deployed(one)).toEqual(["web"]);
    await withoutWebhooks(bot, async () => {
      await bot.forge.mergeByHand(REPOSITORY, one, "bo");
      await bot.forge.close(REPOSITORY, two);
    });
    await bot.service.reconcile();
    await bot.idle();
    expect(await bot.deployed(one)).toEqual([]);
    expect(await bot.deployed(two)).toEqual(["api"]);
    expect(await bot.locked(two)).toEqual([]);
    expect(bot.lastComment(two)).toContain(
      `This ${SHORT[host]} was closed without a merge, and these applications still run`,
    );
    const answers = bot.answers(two).length;
    await bot.service.reconcile();
    await bot.idle();
    expect(bot.answers(two)).toHaveLength(answers);
  });
});
