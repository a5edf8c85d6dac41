import { describe, expect, test } from "@jest/globals";
import type { GitHubForge } from "../../sandbox/github/github-forge.js";
import type { HostId } from "../../src/names.js";
import { type Bot, REPOSITORY, SHORT, startBot } from "./bot.js";
import { changeOf } from "./resources.js";

interface Queue {
  /** The numbers of the change requests in it. */
  readonly queued: () => readonly unknown[];
  /** Its checks end; true if the change request was merged. */
  readonly end: (number: number, passed: boolean) => Promise<unknown>;
}

/** The queue of the repository: GitHub's of its base branch, or GitLab's train. */
function queueOf(bot: Bot, needsWrite = false): Queue {
  const { github, gitlab } = bot.world;
  if (github !== undefined) {
    github.useMergeQueue(REPOSITORY, "main", needsWrite);
    const end = (number: number, passed: boolean) =>
      passed
        ? github.endGroup(REPOSITORY, number)
        : github.endGroup(REPOSITORY, number, "another check that is required");
    return { queued: () => github.queued(REPOSITORY), end };
  }
  gitlab?.useMergeTrain(REPOSITORY);
  return {
    queued: () => gitlab?.onTrain(REPOSITORY) ?? [],
    end: async (number, passed) => gitlab?.endTrain(REPOSITORY, number, passed),
  };
}

async function startOn(host: HostId, { needsWrite = false, requireApproval = false } = {}) {
  const defaults = { auto_merge: true, require_approval: requireApproval };
  const config = { defaults, ...(host === "hosta" ? { hosta: { commit_status: true } } : {}) };
  const bot = await startBot({ host, config });
  bot.expectChanges("sync web");
  return { bot, queue: queueOf(bot, needsWrite) };
}

async function start({ needsWrite = false } = {}): Promise<{ readonly bot: Bot; readonly github: GitHubForge }> {
  const { bot } = await startOn("hosta", { needsWrite });
  const { github } = bot.world;
  if (github === undefined) throw new Error("the sandbox has no GitHub");
  return { bot, github };
}

describe.each([
  ["hosta", "Queued: this PR is in GitHub's merge queue, and GitHub merges it into `main`"],
  [
    "hostb",
    "Queued: this MR is in GitLab's merge train, or in line for it until its own checks pass, and GitLab merges it",
  ],
] as const)("auto_merge into the queue of %s", (host, said) => {
  test("a deployed change request is queued and said to be, and the queue merges it", async () => {
    const { bot, queue } = await startOn(host);
    const one = await bot.open(changeOf(["web"]));
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain(said);
    expect(bot.seen(one).state).toBe("open");
    expect(queue.queued()).toHaveLength(1);
    expect(await bot.deployed(one)).toEqual(["web"]);
    await queue.end(one, true);
    await bot.idle();
    expect(bot.seen(one).state).toBe("merged");
    expect(await bot.deployed(one)).toEqual([]);
    const actions = (await bot.stores.audit.list({ limit: 10 })).map(({ action }) => action);
    expect(actions).toContain("queued");
    expect(actions).not.toContain("merged");
  });

  test("the plan says that it is queued, and to merge it once it is taken out again; it stays deployed", async () => {
    const { bot, queue } = await startOn(host, { requireApproval: true });
    const one = await bot.open(changeOf(["web"]));
    await bot.approve(one);
    await bot.comment(one, "svc sync");
    const plan = () => bot.answers(one).findLast((text) => text.includes("## svc Plan"));
    bot.clock.advance(2_000);
    await bot.idle();
    expect(plan()).toContain(`merges this ${SHORT[host]} when its turn has come`);
    await queue.end(one, false);
    expect(queue.queued()).toEqual([]);
    expect(await bot.deployed(one)).toEqual(["web"]);
    await bot.comment(one, "svc plan");
    expect(plan()).toContain(`Merge this ${SHORT[host]}`);
  });
});

describe("auto_merge where the base branch has GitHub's merge queue", () => {
  test("the group of a deployed pull request gets the status", async () => {
    const { bot, github } = await start();
    const one = await bot.open(changeOf(["web"]));
    await bot.comment(one, "svc sync");
    const [head = ""] = github.queued(REPOSITORY);
    expect(bot.forge.statuses(REPOSITORY, head).at(-1)?.description).toBe(`ready to merge: PR #${one}`);
  });

  test("the plan of one that is taken out again is brought up to date by itself", async () => {
    const { bot, queue } = await startOn("hosta", { requireApproval: true });
    const one = await bot.open(changeOf(["web"]));
    await bot.approve(one);
    await bot.comment(one, "svc sync");
    await queue.end(one, false);
    await bot.idle();
    bot.clock.advance(2_000);
    await bot.idle();
    expect(bot.answers(one).find((text) => text.includes("## svc Plan"))).toMatch(/Merge this PR/);
  });

  test("what is pushed right before it is queued is not queued", async () => {
    const { bot, github } = await start();
    const one = await bot.open(changeOf(["web"]));
    bot.meanwhile("forge", { method: "PUT", path: /\/pulls\/\d+\/merge$/ }, async () => {
      await bot.forge.pushSilently(REPOSITORY, one, changeOf(["web"], "9"));
    });
    await bot.comment(one, "svc sync");
    expect(github.queued(REPOSITORY)).toEqual([]);
    expect(bot.lastComment(one)).not.toContain("Queued");
  });

  test("a base branch that is chosen right before it is queued gets nothing", async () => {
    const { bot, github } = await start();
    await bot.forge.pushToBranch(REPOSITORY, "release", { "notes.md": "1\n" });
    const one = await bot.open(changeOf(["web"]));
    bot.meanwhile("forge", { method: "PUT", path: /\/pulls\/\d+\/merge$/ }, async () => {
      github.useMergeQueue(REPOSITORY, "release");
      await bot.forge.retarget(REPOSITORY, one, "release");
    });
    await bot.comment(one, "svc sync");
    expect(github.queued(REPOSITORY)).toEqual([]);
    expect(bot.seen(one).state).toBe("open");
  });

  test("one that a person has queued meanwhile is said to be queued", async () => {
    const { bot, github } = await start();
    const one = await bot.open(changeOf(["web"]));
    bot.meanwhile("forge", { method: "PUT", path: /\/pulls\/\d+\/merge$/ }, async () => {
      await github.queue(REPOSITORY, [one]);
    });
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("Queued: this PR is in GitHub's merge queue");
    expect(github.queued(REPOSITORY)).toHaveLength(1);
  });

  test("without the right to queue it says what to try", async () => {
    const { bot, github } = await start({ needsWrite: true });
    const one = await bot.open(changeOf(["web"]));
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("The GitHub App may not put this pull request into the merge queue.");
    expect(bot.lastComment(one)).toContain("Whether that needs Merge queues: write, GitHub does not document");
    expect(github.queued(REPOSITORY)).toEqual([]);
  });

  test("where the required status never comes, GitHub's reason is given", async () => {
    const { bot, github } = await start();
    bot.forge.faults.add({ method: "POST", path: /\/statuses\//, fault: { kind: "status", status: 403, body: "{}" } });
    const one = await bot.open(changeOf(["web"]));
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain('GitHub says: "Required status check "svc/sync" is expected.".');
    expect(bot.lastComment(one)).toContain('then press "Merge when ready"');
    expect(github.queued(REPOSITORY)).toEqual([]);
    bot.forge.faults.clear();
  });
});
