import { describe, expect, test } from "@jest/globals";
import type { GitHubForge } from "../../sandbox/github/github-forge.js";
import { REPOSITORY, startBot, type Bot, type BotOptions } from "../scenarios/bot.js";
import { changeOf } from "../scenarios/resources.js";

const QUEUE = /\/graphql$/;

/** A repository with a merge queue, in which `api` syncs by itself. Only GitHub asks who is in a group. */
async function start(options: Partial<BotOptions> = {}): Promise<{ readonly bot: Bot; readonly github: GitHubForge }> {
  const automated = { spec: { syncPolicy: { automated: {} } } };
  const bot = await startBot({ host: "hosta", resources: () => ({ api: automated }), ...options });
  const { github } = bot.world;
  if (github === undefined) throw new Error("the sandbox has no GitHub");
  github.useMergeQueue(REPOSITORY);
  return { bot, github };
}

/** One whose application is deployed. */
async function deployed(bot: Bot): Promise<number> {
  const number = await bot.open(changeOf(["web"]));
  bot.expectChanges("sync web");
  await bot.comment(number, "svc sync");
  expect(shown(bot, bot.seen(number).headRevision)).toBe("success: synced: web");
  return number;
}

function shown(bot: Bot, commit: string): string {
  const last = bot.forge.statuses(REPOSITORY, commit).at(-1);
  return last === undefined ? "none" : `${last.state}: ${last.description}`;
}

describe("GitHub's merge queue", () => {
  test("merges a group whose pull requests are all deployed, and tells nobody to plan for its branch", async () => {
    const { bot, github } = await start();
    const [one, two] = [await deployed(bot), await bot.open({ "README.md": "a typo\n" }, { by: "bo" })];
    const head = await github.queue(REPOSITORY, [one, two]);
    await bot.idle();
    expect(shown(bot, head)).toBe(`success: ready to merge: PR #${one}, PR #${two}`);
    expect(await github.endGroup(REPOSITORY, two)).toBe(true);
    await bot.idle();
    expect(bot.seen(one).state).toBe("merged");
    expect(await bot.stores.locks.list()).toEqual([]);
  });

  test("merges no group with a pull request that is not green, and says which and why", async () => {
    const { bot, github } = await start();
    const [one, two] = [await bot.open({ "README.md": "a typo\n" }, { by: "bo" }), await bot.open(changeOf(["web"]))];
    const head = await github.queue(REPOSITORY, [one, two]);
    await bot.idle();
    expect(shown(bot, head)).toBe(`failure: PR #${two}: web awaits svc sync`);
    expect(await github.endGroup(REPOSITORY, two)).toBe(false);
  });

  test("a member that was pushed to while the group is judged is not what the group was judged for", async () => {
    const { bot, github } = await start();
    const [one, two] = [await deployed(bot), await bot.open({ "README.md": "a typo\n" }, { by: "bo" })];
    bot.meanwhile("forge", { path: QUEUE }, async () => {
      await bot.forge.pushSilently(REPOSITORY, two, changeOf(["web"], "9"));
    });
    const head = await github.queue(REPOSITORY, [one, two]);
    await bot.idle();
    expect(shown(bot, head)).toBe(
      "failure: GitHub does not show which pull requests are in this merge group: queue them again",
    );
  });

  test("two pull requests that change one application never pass together, nor does one upon the other", async () => {
    const { bot, github } = await start();
    const one = await bot.open(changeOf(["api"], "2"));
    const two = await bot.open({ "apps/api/extra.yaml": EXTRA }, { by: "bo" });
    for (const number of [one, two]) {
      expect(shown(bot, bot.seen(number).headRevision)).toMatch(/^success: .*at the merge: api$/);
    }
    const clash = `failure: PR #${one}, PR #${two} change api: queue them one after the other`;
    const both = await github.queue(REPOSITORY, [one, two]);
    await bot.idle();
    expect(shown(bot, both)).toBe(clash);
    expect(await github.endGroup(REPOSITORY, two)).toBe(false);
    const first = await github.queue(REPOSITORY, [one]);
    const upon = await github.queue(REPOSITORY, [two]);
    await bot.idle();
    expect(shown(bot, first)).toBe(`success: ready to merge: PR #${one}`);
    expect(shown(bot, upon)).toBe(clash);
  });

  test("the branch's name of a group does not decide who is in it", async () => {
    const { bot, github } = await start();
    const [green, red] = [await bot.open({ "README.md": "a typo\n" }, { by: "bo" }), await bot.open(changeOf(["web"]))];
    const head = await github.queue(REPOSITORY, [red], { named: green });
    await bot.idle();
    expect(shown(bot, head)).toBe(`failure: PR #${red}: web awaits svc sync`);
  });

  test("a group that the queue does not show gets a failure, and no group of another repository a status", async () => {
    const { bot, github } = await start({ config: { defaults: { allowed_repos: ["acme/*"] } } });
    const one = await bot.open({ "README.md": "a typo\n" });
    const head = await github.queue(REPOSITORY, [one], { hidden: true });
    await bot.idle();
    expect(shown(bot, head)).toBe(
      "failure: GitHub does not show which pull requests are in this merge group: queue them again",
    );
    await github.createRepository("other/deploy", { "README.md": "x\n" });
    github.useMergeQueue("other/deploy");
    const other = await github.open({ repository: "other/deploy", by: "ana", changes: { "README.md": "y\n" } });
    const foreign = await github.queue("other/deploy", [other]);
    await bot.idle();
    expect(github.statuses("other/deploy", foreign)).toEqual([]);
  });

  test.each([
    ["a harmless one, into a base of the writer's own", "staging"],
    ["one that waits for a lock, into the same base", "main"],
  ])("a pull request with a group's commit as its head turns neither green: %s", async (_, base) => {
    const { bot, github } = await start();
    const one = await bot.open(changeOf(["web"]));
    await bot.forge.pushToBranch(REPOSITORY, "staging", changeOf(["web"]));
    const end = bot.forge.faults.add({
      path: QUEUE,
      times: 1,
      fault: {
        kind: "meanwhile",
        act: async () => {
          const at = github.queued(REPOSITORY).at(-1);
          await bot.forge.open({ repository: REPOSITORY, by: "bo", changes: {}, base, branch: "taken", at });
        },
      },
    });
    const head = await github.queue(REPOSITORY, [one]);
    await bot.idle();
    end();
    const states = bot.forge.statuses(REPOSITORY, head).map(({ state }) => state);
    expect(states).toContain("pending");
    expect(states).toContain("failure");
    expect(states).not.toContain("success");
  });

  test("a deployed group whose commit is another one's head gets no success, which that would have too", async () => {
    const { bot, github } = await start();
    const one = await deployed(bot);
    bot.meanwhile("forge", { path: QUEUE }, async () => {
      const at = github.queued(REPOSITORY).at(-1);
      await bot.forge.open({ repository: REPOSITORY, by: "bo", changes: {}, branch: "taken", at });
    });
    const head = await github.queue(REPOSITORY, [one]);
    await bot.idle();
    const states = bot.forge.statuses(REPOSITORY, head).map(({ state, description }) => `${state}: ${description}`);
    expect(states).toContain("failure: PR #2 has this commit as its head: close it, then queue again");
    expect(states.filter((text) => text.startsWith("success"))).toEqual([]);
  });

  test("a group that cannot be judged within ten minutes gets a failure", async () => {
    const { bot, github } = await start();
    const one = await bot.open({ "README.md": "a typo\n" });
    const end = bot.forge.faults.add({ path: QUEUE, fault: { kind: "status", status: 502, body: "{}" } });
    const from = bot.clock.now().getTime();
    const head = await github.queue(REPOSITORY, [one]);
    await bot.idle();
    end();
    expect(shown(bot, head)).toBe(
      "failure: cannot tell whether this merge group is ready: GitHub or Redis failed; queue it again",
    );
    expect(bot.clock.now().getTime() - from).toBeGreaterThanOrEqual(10 * 60_000);
  });
});

const EXTRA = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: extra\n";
