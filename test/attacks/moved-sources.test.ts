import { describe, expect, test } from "@jest/globals";
import type { HostId } from "../../src/names.js";
import { HOSTS, REPOSITORY, startBot, type Bot, type BotOptions } from "../scenarios/bot.js";
import { applicationResource, asYaml, changeOf, configMap } from "../scenarios/resources.js";

const RELEASE = "refs/heads/release";
const ELSEWHERE = "acme/charts";

/** The application `web`, whose repository has a branch `release` besides its default branch. */
async function start(host: HostId, more: Partial<BotOptions> = {}): Promise<Bot> {
  const bot = await startBot({ host, applications: ["web"], ...more });
  await bot.forge.pushToBranch(REPOSITORY, "release", changeOf(["web"], "reviewed"));
  return bot;
}

/** Leads the definition of `web` to another revision of the same repository. */
function following(bot: Bot, targetRevision: string): Readonly<Record<string, string>> {
  return { "argocd/web.yaml": asYaml(bot.resourceOf("web", { targetRevision })) };
}

/** Whoever lets a definition follow another revision needs an approval. */
async function openApproved(bot: Bot, ...request: Parameters<Bot["open"]>): Promise<number> {
  const number = await bot.open(...request);
  await bot.approve(number);
  return number;
}

function deployedCommit(bot: Bot): string | undefined {
  const { syncResult } = bot.argocd.application("web")?.status.operationState ?? {};
  return syncResult?.revision;
}

async function tipOf(bot: Bot, branch: string): Promise<string> {
  return bot.forge.pushToBranch(REPOSITORY, branch, { "README.md": "1\n" });
}

describe.each(HOSTS)("a source that follows another branch of the repository, on %s", (host) => {
  test("what is pushed to that branch after the plan is not deployed: the plan is stale", async () => {
    const bot = await start(host);
    const one = await openApproved(bot, following(bot, "release"));
    expect(bot.lastComment(one)).toContain("+  value: reviewed");
    await bot.forge.pushToBranch(REPOSITORY, "release", changeOf(["web"], "stolen"));
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("Plan for web is stale. Please run the plan command again.");
    expect(bot.lastComment(one)).toMatch(
      /⚠️ Source 1 follows release, which moved from [0-9a-f]{8} to [0-9a-f]{8} since the plan and changed apps\/web\/configmap\.yaml, which it reads\./,
    );
    expect(bot.changes()).toEqual([]);
    await bot.push(one, { "README.md": "3\n" });
    expect(bot.lastComment(one)).toContain("+  value: stolen");
    await bot.approve(one);
    bot.expectChanges("update web", "sync web");
    await bot.comment(one, "svc sync");
    expect(bot.liveValue("web")).toBe("stolen");
  });

  test("what is pushed there after the approval is not covered by it, even if it is planned again", async () => {
    const bot = await start(host, { config: { defaults: { require_approval: true } } });
    const one = await openApproved(bot, following(bot, "release"));
    await bot.forge.pushToBranch(REPOSITORY, "release", changeOf(["web"], "stolen"));
    await bot.comment(one, "svc plan");
    expect(bot.lastComment(one)).toContain("+  value: stolen");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toMatch(
      /- `web`: source 1 follows release, and [0-9a-f]{8} of it was planned only after the head was approved\. Approve again what the plan shows: push a commit, or withdraw/,
    );
    expect(bot.changes()).toEqual([]);
    await bot.push(one, { "README.md": "3\n" });
    await bot.approve(one);
    bot.expectChanges("update web", "sync web");
    await bot.comment(one, "svc sync");
    expect(bot.liveValue("web")).toBe("stolen");
  });

  test("what is pushed there right before Argo CD starts the sync is not deployed either", async () => {
    const bot = await start(host);
    const one = await openApproved(bot, following(bot, "release"));
    bot.expectChanges("update web", "sync web");
    bot.meanwhile("argocd", { method: "POST", path: /\/sync$/ }, async () => {
      await bot.forge.pushToBranch(REPOSITORY, "release", changeOf(["web"], "stolen"));
    });
    await bot.comment(one, "svc sync");
    expect(bot.liveValue("web")).toBe("reviewed");
  });

  test("a branch that moved in other files is deployed at the commit that the plan showed", async () => {
    const bot = await start(host);
    const planned = await tipOf(bot, "release");
    const one = await openApproved(bot, following(bot, "release"));
    await bot.forge.pushToBranch(REPOSITORY, "release", changeOf(["elsewhere"], "moved"));
    bot.expectChanges("update web", "sync web");
    await bot.comment(one, "svc sync");
    expect(bot.liveValue("web")).toBe("reviewed");
    expect(deployedCommit(bot)).toBe(planned);
  });

  test.each([
    ["a tag", "v1", "refs/tags/v1"],
    ["a tag by its full name", "refs/tags/v1", "refs/tags/v1"],
    ["a branch by its full name", RELEASE, RELEASE],
    ["a tag that looks like an abbreviated commit", "abc1234", "refs/tags/abc1234"],
  ])("%s that moves after the plan makes it stale", async (_what, targetRevision, ref) => {
    const bot = await start(host);
    const [first, second] = [
      await tipOf(bot, "release"),
      await bot.forge.pushToBranch(REPOSITORY, "other", changeOf(["web"], "stolen")),
    ];
    await bot.forge.setRef(REPOSITORY, ref, first);
    const one = await openApproved(bot, following(bot, targetRevision));
    expect(bot.lastComment(one)).toContain("+  value: reviewed");
    await bot.forge.setRef(REPOSITORY, ref, second);
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain(`⚠️ Source 1 follows ${targetRevision}, which moved from`);
    expect(bot.changes()).toEqual([]);
    await bot.forge.setRef(REPOSITORY, ref, first);
    bot.expectChanges("update web", "sync web");
    await bot.comment(one, "svc sync");
    expect(deployedCommit(bot)).toBe(first);
  });

  test("a branch that is deleted after the plan is not deployed", async () => {
    const bot = await start(host);
    const one = await openApproved(bot, following(bot, "release"));
    await bot.forge.setRef(REPOSITORY, RELEASE, undefined);
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("release is neither a branch nor a tag of this repository");
    expect(bot.changes()).toEqual([]);
  });

  test.each<[string, string, readonly string[], string]>([
    ["a range of versions", "1.x", ["refs/tags/1.0.0"], "1.x may mean a range of versions"],
    ["a branch that reads like a range", "2.x", ["refs/heads/2.x"], "2.x may mean a range of versions"],
    ["an abbreviated commit", "abc1234", [], "abc1234 is an abbreviated commit id"],
    ["nothing", "gone", [], "gone is neither a branch nor a tag of this repository"],
    ["HEAD, shadowed by a tag of that name", "HEAD", ["refs/tags/HEAD"], "HEAD means both"],
  ])("%s has no certain commit and is not planned", async (_what, targetRevision, refs, why) => {
    const bot = await start(host);
    const other = await tipOf(bot, "release");
    for (const ref of refs) await bot.forge.setRef(REPOSITORY, ref, other);
    const base = "trunk";
    await bot.forge.pushToBranch(REPOSITORY, base, {});
    bot.argocd.addApplication(bot.resourceOf("web", { targetRevision: base }));
    const one = await openApproved(bot, following(bot, targetRevision), { base });
    expect(bot.lastComment(one)).toContain("**Changes:** could not be evaluated");
    expect(bot.lastComment(one)).toContain(`source 1: ${why}`);
    expect(bot.lastComment(one)).toContain("Name a branch, a tag or a whole commit id as its target revision");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("Plan for web is stale.");
    expect(bot.changes()).toEqual([]);
  });

  test("a tag with the name of a branch makes the plan impossible, and one that comes after the plan refuses the sync", async () => {
    const bot = await start(host);
    const one = await openApproved(bot, following(bot, "release"));
    const stolen = await bot.forge.pushToBranch(REPOSITORY, "other", changeOf(["web"], "stolen"));
    await bot.forge.setRef(REPOSITORY, "refs/tags/release", stolen);
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("release means both refs/heads/release and refs/tags/release");
    await bot.comment(one, "svc plan");
    expect(bot.lastComment(one)).toContain("could not be evaluated");
    expect(bot.changes()).toEqual([]);
  });

  test("a commit id stays that commit, even if a branch has its name", async () => {
    const bot = await start(host);
    const planned = await tipOf(bot, "release");
    const stolen = await bot.forge.pushToBranch(REPOSITORY, "other", changeOf(["web"], "stolen"));
    await bot.forge.setRef(REPOSITORY, `refs/heads/${planned}`, stolen);
    const one = await openApproved(bot, following(bot, planned));
    expect(bot.lastComment(one)).toContain("+  value: reviewed");
    bot.expectChanges("update web", "sync web");
    await bot.comment(one, "svc sync");
    expect(bot.liveValue("web")).toBe("reviewed");
  });

  test("one of several sources is pinned to its planned commit beside the one that gets the head commit", async () => {
    const sources = (repoURL: string) => [
      { repoURL, path: "apps/web", targetRevision: "main" },
      { repoURL: repoURL.replace(/\.git$/, ""), path: "apps/extra", targetRevision: "release" },
    ];
    const bot = await startBot({
      host,
      applications: ["web"],
      resources: (repoURL) => ({ web: { spec: { source: undefined, sources: sources(repoURL) } } }),
      prepare: async (_world, forge) => {
        await forge.pushToBranch(REPOSITORY, "release", {
          "apps/extra/configmap.yaml": configMap("extra", { value: "1" }),
        });
      },
    });
    const one = await bot.open(changeOf(["web"]));
    const stolen = await bot.forge.pushToBranch(REPOSITORY, "release", {
      "apps/extra/configmap.yaml": configMap("extra", { value: "stolen" }),
    });
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("⚠️ Source 2 follows release, which moved from");
    expect(bot.changes()).toEqual([]);
    await bot.comment(one, "svc plan");
    bot.meanwhile("argocd", { method: "POST", path: /\/sync$/ }, async () => {
      await bot.forge.pushToBranch(REPOSITORY, "release", {
        "apps/extra/configmap.yaml": configMap("extra", { value: "later" }),
      });
    });
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    const { syncResult } = bot.argocd.application("web")?.status.operationState ?? {};
    expect(syncResult?.revisions).toEqual([bot.seen(one).headRevision, stolen]);
  });

  test("a rollback deploys what the configured branches have now", async () => {
    const bot = await start(host);
    const one = await openApproved(bot, following(bot, "release"));
    bot.expectChanges("update web", "sync web");
    await bot.comment(one, "svc sync");
    await bot.forge.pushToBranch(REPOSITORY, "main", changeOf(["web"], "main"));
    await bot.comment(one, "svc rollback");
    expect(bot.liveValue("web")).toBe("main");
    expect(bot.argocd.application("web")?.spec.source?.targetRevision).toBe("main");
  });
});

describe.each(HOSTS)("a source in another repository, on %s", (host) => {
  test("is deployed at its configured revision, and the result names what differs from the plan", async () => {
    const sources = (own: string, other: string) => [
      { repoURL: own, path: "apps/web", targetRevision: "main" },
      { repoURL: other, path: "extra", targetRevision: "main" },
    ];
    const bot = await startBot({
      host,
      applications: [],
      prepare: async ({ argocd }, forge) => {
        await forge.createRepository(ELSEWHERE, { "extra/configmap.yaml": configMap("extra", { value: "1" }) });
        await forge.pushToBranch(REPOSITORY, "main", changeOf(["web"], "1"));
        const repoURL = forge.cloneUrl(REPOSITORY);
        const spec = { source: undefined, sources: sources(repoURL, forge.cloneUrl(ELSEWHERE)) };
        argocd.addApplication(applicationResource("web", { repoURL, spec }));
        await argocd.deploy("web");
      },
    });
    const one = await bot.open(changeOf(["web"]));
    const moved = await bot.forge.pushToBranch(ELSEWHERE, "main", {
      "extra/configmap.yaml": configMap("extra", { value: "2" }),
    });
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain(
      "that changed since the plan: ConfigMap guestbook/extra would be another one than planned",
    );
    expect(bot.changes()).toEqual([]);
    await bot.comment(one, "svc plan");
    let last = moved;
    bot.meanwhile("argocd", { method: "POST", path: /\/sync$/ }, async () => {
      last = await bot.forge.pushToBranch(ELSEWHERE, "main", {
        "extra/configmap.yaml": configMap("extra", { value: "3" }),
      });
    });
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.liveValue("extra")).toBe("3");
    expect(bot.lastComment(one)).toContain("✅ succeeded");
    expect(bot.lastComment(one)).toMatch(
      new RegExp(
        `⚠️ Source 2 is in another repository and follows main: it was deployed at ${last.slice(0, 8)}, and the plan was made when it was at [0-9a-f]{8}\\.`,
      ),
    );
  });
});
