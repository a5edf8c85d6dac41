import { describe, expect, test } from "@jest/globals";
import type { HostId } from "../../src/names.js";
import { HOSTS, REPOSITORY, startBot, type Bot, type BotOptions } from "../scenarios/bot.js";
import { applicationResource, asYaml, changeOf, configMap } from "../scenarios/resources.js";
import { git, names, runsShops, shops, shopsResource, type SetOptions } from "../scenarios/sets.js";

const UNAPPROVED = "PR must be approved before sync";
const unreviewed = (name: string) => `${name} of this repository, which a push can change without a review`;

/** The application `web`, whose repository has a branch `release` besides its default branch. */
async function start(host: HostId, more: Partial<BotOptions> = {}): Promise<Bot> {
  return startBot({
    host,
    applications: ["web"],
    ...more,
    prepare: async (world, forge) => {
      await forge.pushToBranch(REPOSITORY, "release", changeOf(["web"], "reviewed"));
      await more.prepare?.(world, forge);
    },
  });
}

const following = (bot: Bot, targetRevision: string, name = "web") => ({
  [`argocd/${name}.yaml`]: asYaml(bot.resourceOf(name, { targetRevision })),
});

const statusOf = (bot: Bot, number: number) => bot.forge.statuses(REPOSITORY, bot.seen(number).headRevision).at(-1);

/** Nothing is merged or green before an approval. */
async function expectHeldBack(bot: Bot, number: number, line: string): Promise<void> {
  if (bot.host === "hostb") {
    bot.forge.runPipeline(REPOSITORY, number);
    await bot.comment(number, "svc plan");
  }
  expect(bot.answers(number).join("\n")).toContain(line);
  expect(statusOf(bot, number)).toMatchObject({ state: "pending", description: expect.stringContaining("approv") });
  await bot.approve(number);
  await bot.idle();
  expect(statusOf(bot, number)).toMatchObject({ state: "success" });
}

const byFolder = (): SetOptions => ({ name: "{{ .path.basename }}" });
const STATUS = (host: HostId) => ({ config: { [host]: { commit_status: true } } });

describe.each(HOSTS)("what comes to follow another revision of the repository, on %s", (host) => {
  test.each([
    ["a branch", "release", "refs/heads/release"],
    ["a branch by its full name", "refs/heads/release", "refs/heads/release"],
    ["a tag, which can be moved", "v1", "refs/tags/v1"],
    ["a tag that looks like an abbreviated commit", "abc1234", "refs/tags/abc1234"],
  ])("needs an approval whatever the rules say, and the plan begins with it: %s", async (_what, name, ref) => {
    const bot = await start(host);
    const tip = await bot.forge.pushToBranch(REPOSITORY, "release", { "README.md": "1\n" });
    await bot.forge.setRef(REPOSITORY, ref, tip);
    const one = await bot.open(following(bot, name));
    expect(bot.lastComment(one)).toMatch(
      new RegExp(`^<!--.*-->\\n## svc Plan\\n[^\\n]*\\n\\n⚠️[^\\n]*\\n- \`web\`: comes to follow ${name} of this`),
    );
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain(UNAPPROVED);
    expect(bot.lastComment(one)).toContain(`it comes to follow ${unreviewed(name)}`);
    expect(bot.changes()).toEqual([]);
    await bot.approve(one);
    bot.expectChanges("update web", "sync web");
    await bot.comment(one, "svc sync");
    expect(bot.liveValue("web")).toBe("reviewed");
  });

  test("the default branch is another one where the pull request goes into a branch beside it", async () => {
    const bot = await start(host, {
      resources: () => ({ web: { targetRevision: "release" } }),
    });
    const one = await bot.open(following(bot, "HEAD"), { base: "release" });
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain(`it comes to follow ${unreviewed("HEAD")}`);
    expect(bot.changes()).toEqual([]);
  });

  test("a full commit id, the base branch and HEAD where that is the default branch need none", async () => {
    const bot = await start(host);
    const tip = await bot.forge.pushToBranch(REPOSITORY, "release", { "README.md": "1\n" });
    const one = await bot.open({ ...following(bot, tip), ...changeOf(["web"]) });
    for (const name of ["HEAD", "refs/heads/main", tip]) {
      await bot.push(one, following(bot, name));
      expect(bot.lastComment(one)).not.toContain("follow");
    }
    bot.expectChanges("update web", "sync web");
    await bot.comment(one, "svc sync");
    expect(bot.liveValue("web")).toBe("reviewed");
  });

  test("what follows it on the target branch is warned of in every plan, and needs none", async () => {
    const bot = await start(host, {
      resources: () => ({ web: { targetRevision: "release" } }),
    });
    const one = await bot.open({
      "argocd/web.yaml": asYaml(bot.resourceOf("web", { targetRevision: "release", path: "apps/other" })),
    });
    await bot.forge.pushToBranch(REPOSITORY, "release", changeOf(["other"], "other"));
    await bot.comment(one, "svc plan");
    expect(bot.lastComment(one)).toContain(`ollows ${unreviewed("release")}: protect it, or name a whole commit id`);
    bot.expectChanges("update web", "sync web");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).not.toContain(UNAPPROVED);
  });

  test("the next commit needs one again after the sync: the target branch does not follow it yet", async () => {
    const bot = await start(host, {
      files: (repoURL) => ({ "argocd/web.yaml": asYaml(applicationResource("web", { repoURL })) }),
    });
    const one = await bot.open(following(bot, "release"));
    await bot.approve(one);
    bot.expectChanges("update web", "sync web");
    await bot.comment(one, "svc sync");
    expect(bot.liveValue("web")).toBe("reviewed");
    await bot.push(one, { "README.md": "2\n" });
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain(`it comes to follow ${unreviewed("release")}`);
    expect(bot.changes()).toEqual(["update web", "sync web"]);
  });

  test("a new application waits for the approval at the merge", async () => {
    const bot = await start(host, STATUS(host));
    await bot.forge.pushToBranch(REPOSITORY, "release", changeOf(["fresh"], "1"));
    const one = await bot.open(following(bot, "release", "fresh"));
    await expectHeldBack(bot, one, `- \`fresh\`: comes to follow ${unreviewed("release")}`);
  });

  test.each<[string, (url: string) => object, (url: string) => SetOptions]>([
    [
      "its template",
      () => names("one"),
      (repoURL) => ({ spec: { source: { repoURL, targetRevision: "release", path: "shops/one" } } }),
    ],
    ["its generator", (url) => git(url, { revision: "release", directories: [{ path: "shops/*" }] }), byFolder],
    [
      "a generator of nothing yet",
      (url) => git(url, { revision: "release", directories: [{ path: "no/*" }] }),
      byFolder,
    ],
  ])("an ApplicationSet waits for it as well: %s", async (_what, generator, options) => {
    const list = (url: string) => shopsResource(url, names("one"));
    const bot = await start(host, {
      ...STATUS(host),
      files: (url) => ({ "sets/shops.yaml": asYaml(list(url)), "shops/one/a.yaml": configMap("one", { a: "1" }) }),
      prepare: (world, forge) => {
        runsShops(world, list(forge.cloneUrl(REPOSITORY)), []);
      },
    });
    const url = bot.forge.cloneUrl(REPOSITORY);
    const one = await bot.open({ "sets/shops.yaml": shops(url, generator(url), options(url)) });
    await expectHeldBack(bot, one, `comes to follow ${unreviewed("release")}`);
  });
});
