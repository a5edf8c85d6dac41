import { describe, expect, test } from "@jest/globals";
import { StoredValueUnreadable } from "../../src/core/model/errors.js";
import { HOSTS, REPOSITORY, startBot, type Bot } from "./bot.js";
import { applicationResource, asYaml, changeOf, hydrated } from "./resources.js";

const RULES = "sync_requirements:\n  - name: fresh\n    require_approval: true\n";

function statusOf(bot: Bot, one: number): string {
  const { state, description } = bot.forge.statuses(REPOSITORY, bot.seen(one).headRevision).at(-1) ?? {};
  return `${state ?? "none"}: ${description ?? ""}`;
}

/** GitLab takes a status only for a head with a pipeline; svc then plans again what is reopened. */
async function reopen(bot: Bot, one: number, before = (): void => undefined): Promise<void> {
  bot.forge.runPipeline(REPOSITORY, one);
  before();
  await bot.close(one);
  await bot.forge.reopen(REPOSITORY, one);
  await bot.idle();
}

/** A new application: only the merge deploys it, with its approval. */
function fresh(bot: Bot) {
  const repoURL = bot.forge.cloneUrl(REPOSITORY);
  return { "argocd/fresh.yaml": asYaml(applicationResource("fresh", { repoURL, path: "apps/web" })) };
}

describe.each(HOSTS)("svc/sync after an approval on %s", (host) => {
  async function start(): Promise<{ readonly bot: Bot; readonly one: number }> {
    const bot = await startBot({
      host,
      config: { [host]: { commit_status: true } },
      files: () => ({ ".svc.yaml": RULES }),
    });
    bot.forge.setAccess(REPOSITORY, "olga", "write");
    const one = await bot.open(fresh(bot));
    if (host === "hostb") {
      await reopen(bot, one);
    }
    expect(statusOf(bot, one)).toMatch(/^pending: /);
    return { bot, one };
  }

  test("an approval makes it green where only the merge deploys; its withdrawal makes it pending again", async () => {
    const { bot, one } = await start();
    const answers = bot.answers(one).length;
    await bot.approve(one);
    expect(statusOf(bot, one)).toMatch(/^success: /);
    await bot.forge.review(REPOSITORY, one, "bo", "request-changes");
    await bot.idle();
    expect(statusOf(bot, one)).toMatch(/^pending: /);
    await bot.approve(one);
    expect(statusOf(bot, one)).toMatch(/^success: /);
    expect(bot.answers(one)).toHaveLength(answers);
  });

  test.each([true, false])(
    "rules of the target branch that get stricter take it back where only the merge deploys, with autoplan: %s",
    async (autoplan) => {
      const bot = await startBot({
        host,
        config: { [host]: { commit_status: true }, defaults: { autoplan } },
        resources: (url) => ({ web: { spec: hydrated(url) } }),
      });
      const one = await bot.open(changeOf(["web"]));
      if (host === "hostb") await reopen(bot, one);
      expect(statusOf(bot, one)).toMatch(/^success: /);
      const strict = "sync_requirements:\n  - name: web\n    require_approval: true\n";
      await bot.forge.pushToBranch(REPOSITORY, "main", { ".svc.yaml": strict });
      await bot.idle();
      expect(statusOf(bot, one)).toMatch(/^pending: /);
    },
  );

  test("rules of the default branch that get stricter take it back where another branch is the target", async () => {
    const bot = await startBot({
      host,
      config: { [host]: { commit_status: true } },
      resources: () => ({ web: { targetRevision: "release", spec: { syncPolicy: { automated: {} } } } }),
    });
    await bot.forge.pushToBranch(REPOSITORY, "release", {});
    const one = await bot.open(changeOf(["web"]), { base: "release" });
    if (host === "hostb") await reopen(bot, one);
    expect(statusOf(bot, one)).toMatch(/^success: /);
    const strict = "sync_requirements:\n  - name: web\n    require_approval: true\n";
    await bot.forge.pushToBranch(REPOSITORY, "main", { ".svc.yaml": strict });
    await bot.idle();
    expect(statusOf(bot, one)).toMatch(/^pending: /);
  });

  test("a withdrawal makes it pending as well where the plan cannot be read any more", async () => {
    const { bot, one } = await start();
    await bot.approve(one);
    expect(statusOf(bot, one)).toMatch(/^success: /);
    Object.assign(bot.stores.plans, { find: () => Promise.reject(new StoredValueUnreadable("of another version")) });
    await bot.forge.review(REPOSITORY, one, "bo", "request-changes");
    await bot.idle();
    expect(statusOf(bot, one)).toMatch(/^pending: /);
  });

  test("an approval by who pushed the head leaves it pending, and another's makes it green", async () => {
    const { bot, one } = await start();
    await bot.forge.push(REPOSITORY, one, { "docs/notes.md": "more\n" }, { by: "bo", author: "ana" });
    await bot.idle();
    if (host === "hostb") {
      bot.forge.runPipeline(REPOSITORY, one);
      await bot.comment(one, "svc plan");
    }
    await bot.approve(one);
    expect(statusOf(bot, one)).toMatch(/^pending: /);
    await bot.approve(one, "olga");
    expect(statusOf(bot, one)).toMatch(/^success: /);
  });

  test("an approval makes a draft green that nobody planned and that changes nothing but the rules", async () => {
    const bot = await startBot({
      host,
      config: { [host]: { commit_status: true } },
      files: () => ({ ".svc.yaml": RULES }),
    });
    const one = await bot.open({ ".svc.yaml": RULES.replace("true", "false") }, { draft: true });
    if (host === "hostb") bot.forge.runPipeline(REPOSITORY, one);
    await bot.approve(one);
    expect(statusOf(bot, one)).toBe("success: nothing to deploy");
  });

  test("what could not be shown of a draft that nobody planned is shown a minute later", async () => {
    const bot = await startBot({ host, config: { [host]: { commit_status: true } } });
    const fail = () => {
      const fault = { kind: "status", status: 500, body: "{}" } as const;
      bot.forge.faults.add({ method: "POST", path: /\/statuses\/[0-9a-f]{40}$/, times: 20, fault });
    };
    if (host === "hosta") fail();
    const one = await bot.open({ "README.md": "hello" }, { draft: true });
    if (host === "hostb") {
      await reopen(bot, one, fail);
    }
    expect(statusOf(bot, one)).toBe("none: ");
    bot.forge.faults.clear();
    bot.clock.advance(60_000);
    // The next mark wakes the publisher.
    await bot.approve(await bot.open({ "docs/more.md": "more" }, { draft: true }));
    expect(statusOf(bot, one)).toBe("success: nothing to deploy");
  });

  test("why an automatic plan failed is shown a minute later if the host did not take it", async () => {
    const bot = await startBot({ host, config: { [host]: { commit_status: true } } });
    const fault = { kind: "status", status: 500, body: "{}" } as const;
    bot.argocd.faults.add({ path: /applications$/, times: 20, fault });
    const fail = () => bot.forge.faults.add({ method: "POST", path: /\/statuses\/[0-9a-f]{40}$/, times: 20, fault });
    if (host === "hosta") fail();
    const one = await bot.open({ "README.md": "hello" });
    if (host === "hostb") {
      await reopen(bot, one, fail);
    }
    bot.argocd.faults.clear();
    bot.forge.faults.clear();
    expect(statusOf(bot, one)).toBe("none: ");
    bot.clock.advance(60_000);
    await bot.service.reconcile();
    await bot.idle();
    expect(statusOf(bot, one)).toContain("the plan failed: see the comment");
  });
});

test("svc/sync that GitLab does not set because another program sets one there is set a minute later", async () => {
  const bot = await startBot({ host: "hostb", config: { hostb: { commit_status: true } } });
  const one = await bot.open({ "README.md": "hello" }, { draft: true });
  const fault = { kind: "status", status: 409, body: '{"message":"409 Conflict"}' } as const;
  await reopen(bot, one, () =>
    bot.forge.faults.add({ method: "POST", path: /\/statuses\/[0-9a-f]{40}$/, times: 20, fault }),
  );
  expect(statusOf(bot, one)).toBe("none: ");
  bot.forge.faults.clear();
  bot.clock.advance(60_000);
  // The next mark wakes the publisher.
  await bot.approve(await bot.open({ "docs/more.md": "more" }, { draft: true }));
  expect(statusOf(bot, one)).toBe("success: nothing to deploy");
});

describe("svc/sync while GitLab wants more approvals", () => {
  test("the first of two approvals leaves it pending, the second makes it green", async () => {
    const bot = await startBot({
      host: "hostb",
      config: { hostb: { commit_status: true } },
      files: () => ({ ".svc.yaml": RULES }),
      gitlab: { edition: "premium" },
    });
    bot.forge.requireReviews(REPOSITORY, 2);
    bot.forge.setAccess(REPOSITORY, "olga", "write");
    const one = await bot.open(fresh(bot));
    bot.forge.runPipeline(REPOSITORY, one);
    await bot.comment(one, "svc plan");
    await bot.approve(one);
    expect(statusOf(bot, one)).toMatch(/^pending: /);
    await bot.approve(one, "olga");
    expect(statusOf(bot, one)).toMatch(/^success: /);
  });
});
