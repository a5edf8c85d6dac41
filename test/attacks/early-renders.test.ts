import { describe, expect, test } from "@jest/globals";
import { HOSTS, REPOSITORY, startBot, USUAL_RENDERS, type Bot } from "../scenarios/bot.js";
import { applicationResource, changeOf } from "../scenarios/resources.js";

const RENDER = /\/applications\/([^/]+)\/manifests$/;

/** What Argo CD was asked to render at the head. */
function renderedAt(bot: Bot, head: string): readonly string[] {
  return bot.argocd.requests
    .filter(({ path, query }) => RENDER.test(path) && query.revision?.[0] === head)
    .map(({ path }) => RENDER.exec(path)?.[1] ?? "")
    .toSorted();
}

/** No plan can read what is pushed from now on: what is rendered of it was asked for before any rule was read. */
function breakFetches(bot: Bot): void {
  bot.forge.faults.add({ path: /\.git\/git-upload-pack$/, fault: { kind: "status", status: 403, body: "" } });
}

/** Somebody else gives the live Application another definition. */
function redefineWeb(bot: Bot): void {
  const repoURL = bot.forge.cloneUrl(REPOSITORY);
  const source = { repoURL, path: "apps/web", targetRevision: "main", kustomize: { nameSuffix: "-new" } };
  bot.argocd.removeApplication("web");
  bot.argocd.addApplication(applicationResource("web", { repoURL, spec: { source } }));
}

/** A branch with one commit of its own. */
async function branchOff(bot: Bot, name: string): Promise<void> {
  await bot.forge.setRef(
    REPOSITORY,
    `refs/heads/${name}`,
    await bot.forge.pushToBranch(REPOSITORY, "main", { "README.md": name }),
  );
}

describe.each(HOSTS)("a pushed head that svc has not read yet, on %s", (host) => {
  test("is rendered where it is planned by itself and nothing changed that decides about it", async () => {
    const bot = await startBot({ host, git: true, config: USUAL_RENDERS });
    const one = await bot.open(changeOf(["api", "web"]));
    const rendered = bot.asked("argocd", { path: /\/manifests$/, nth: 2 });
    bot.meanwhile("forge", { path: /\.git\/info\/refs$/ }, () => rendered);
    breakFetches(bot);
    expect(renderedAt(bot, await bot.push(one, changeOf(["web"], "3")))).toEqual(["api", "web"]);
    expect(bot.lastComment(one)).toContain("could not be read");
  });

  test.each<[string, (bot: Bot, one: number) => Promise<void>]>([
    ["became a draft", (bot, one) => bot.forge.markDraft(REPOSITORY, one, true)],
    ["lost its locks", (bot, one) => bot.comment(one, "svc unlock")],
    [
      "has new rules on its target branch",
      async (bot) => void (await bot.forge.pushToBranch(REPOSITORY, "main", { ".svc.yaml": "autoplan: false\n" })),
    ],
    [
      "goes to another branch",
      async (bot, one) => {
        await branchOff(bot, "next");
        await bot.forge.retarget(REPOSITORY, one, "next");
      },
    ],
  ])("is not rendered where the change request %s", async (_, act) => {
    const bot = await startBot({ host, git: true, config: USUAL_RENDERS });
    const one = await bot.open(changeOf(["api", "web"]));
    await act(bot, one);
    await bot.idle();
    breakFetches(bot);
    expect(renderedAt(bot, await bot.push(one, changeOf(["web"], "3")))).toEqual([]);
  });

  test("is not rendered where rules of the default branch hold that svc has not looked at", async () => {
    const bot = await startBot({
      host,
      git: true,
      resources: (repoURL) => ({
        web: { spec: { source: { repoURL, path: "apps/web", targetRevision: "next" } } },
      }),
    });
    await branchOff(bot, "next");
    const one = await bot.open(changeOf(["web"]), { base: "next" });
    expect(await bot.locked(one)).toEqual(["web"]);
    breakFetches(bot);
    expect(renderedAt(bot, await bot.push(one, changeOf(["web"], "3")))).toEqual([]);
  });

  test("is not rendered in a fork, whatever somebody with access had planned", async () => {
    const bot = await startBot({ host, git: true, config: { defaults: { allow_forks: true } } });
    const one = await bot.open(changeOf(["api", "web"]), { by: "olga", fork: true });
    await bot.comment(one, "svc plan", "bo");
    expect(bot.lastComment(one)).toContain("svc Plan");
    breakFetches(bot);
    expect(renderedAt(bot, await bot.push(one, changeOf(["web"], "3")))).toEqual([]);
  });

  test("is rendered for three applications at most for each render that runs at a time", async () => {
    const applications = ["a", "b", "c", "d", "e"];
    const bot = await startBot({
      host,
      git: true,
      applications,
      config: {
        deployer: { ...USUAL_RENDERS.deployer, render_concurrency: 1 },
      },
    });
    const one = await bot.open(changeOf(applications));
    const third = bot.asked("argocd", { path: RENDER, nth: 3 });
    bot.meanwhile("forge", { path: /\.git\/info\/refs$/ }, () => third);
    breakFetches(bot);
    expect(renderedAt(bot, await bot.push(one, changeOf(["e"], "3")))).toEqual(["a", "b", "c"]);
  });

  test("is not rendered with a definition that Argo CD lists and no plan has seen", async () => {
    const bot = await startBot({ host, git: true, config: USUAL_RENDERS });
    const one = await bot.open(changeOf(["web"]));
    redefineWeb(bot);
    // The service keeps the list of applications for ten seconds.
    bot.clock.advance(11_000);
    breakFetches(bot);
    expect(renderedAt(bot, await bot.push(one, changeOf(["web"], "3")))).toEqual([]);
  });

  test("is rendered again where the live definition changed since the list of them", async () => {
    const bot = await startBot({
      host,
      git: true,
      config: USUAL_RENDERS,
      files: () => ({ "apps/web/kustomization.yaml": "resources: [configmap.yaml]\n" }),
    });
    const one = await bot.open(changeOf(["web"]));
    redefineWeb(bot);
    const asked = bot.asked("argocd", { path: RENDER });
    bot.meanwhile("forge", { path: /\.git\/info\/refs$/ }, () => asked);
    const head = await bot.push(one, changeOf(["web"], "3"));
    expect(bot.lastComment(one)).toMatch(/-\s+value: "1"\n\+\s+value: "3"/);
    expect(renderedAt(bot, head).length).toBeGreaterThan(1);
  });

  test("is asked for again if that failed, and what no plan needs any more is not shown", async () => {
    const bot = await startBot({ host, git: true, config: USUAL_RENDERS });
    const one = await bot.open(changeOf(["api", "web"]));
    // svc does not repeat such a call by itself.
    const failing = { kind: "status", status: 400, body: "{}" } as const;
    bot.argocd.faults.add({ path: /\/applications\/web\/manifests$/, times: 1, fault: failing });
    const head = await bot.push(one, { ...changeOf(["api"], "1"), ...changeOf(["web"], "3") });
    expect(bot.lastComment(one)).toMatch(/-\s+value: "1"\n\+\s+value: "3"/);
    expect(bot.lastComment(one)).not.toContain("could not be evaluated");
    expect(renderedAt(bot, head).filter((name) => name === "web")).toEqual(["web", "web"]);
  });
});
