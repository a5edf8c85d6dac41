import { describe, expect, test } from "@jest/globals";
import type { FileChanges, OpenRequest, SeenStatus } from "../../sandbox/forge.js";
import type { HostId } from "../../src/names.js";
import { HOSTS, REPOSITORY, SHORT, SIGIL, startBot, type Bot, type BotOptions } from "./bot.js";
import { changeOf } from "./resources.js";
import { ServiceLog } from "./service-log.js";

const STATUSES = /\/statuses\/[0-9a-f]{40}$/;
const REFUSED = "could not set the commit status";

/** With the commit status on, which on GitLab it is not by itself. */
function start(host: HostId, options: Partial<BotOptions> = {}): Promise<Bot> {
  const { config, ...rest } = options;
  const sections = typeof config === "object" ? config : {};
  const own: Record<string, Readonly<Record<string, unknown>>> = host === "hostb"
    ? { hostb: { commit_status: true } }
    : {};
  return startBot({ host, config: { ...sections, ...own }, ...rest });
}

/** Opens a change request; on GitLab its status needs a pipeline, which is there when the head is looked at again. */
async function open(bot: Bot, changes: FileChanges, more: Partial<OpenRequest> = {}): Promise<number> {
  const one = await bot.open(changes, more);
  await atHead(bot, one);
  return one;
}

async function atHead(bot: Bot, one: number): Promise<void> {
  if (bot.host === "hosta") return;
  bot.forge.runPipeline(REPOSITORY, one);
  await bot.close(one);
  await bot.forge.reopen(REPOSITORY, one);
  await bot.idle();
}

function statuses(bot: Bot, one: number): readonly SeenStatus[] {
  return bot.forge.statuses(REPOSITORY, bot.seen(one).headRevision);
}

function status(bot: Bot, one: number): string {
  const last = statuses(bot, one).at(-1);
  if (last === undefined) return "none";
  return textStays(bot.host, last.state) ? "pending" : `${last.state}: ${last.description}`;
}

/** What `status` says of a pending head. */
function pending(host: HostId, description: string): string {
  return textStays(host, "pending") ? "pending" : `pending: ${description}`;
}

/** GitLab refuses to set a pending status pending again, and keeps its text. */
function textStays(host: HostId, state: string): boolean {
  return host === "hostb" && state === "pending";
}

function rendered(bot: Bot): boolean {
  return bot.argocd.requests.some(({ path }) => path.endsWith("/manifests"));
}

describe.each(HOSTS)("the commit status svc/sync on %s", (host) => {
  test("a new head is pending at once, then says what its plan awaits and leads to it; a push begins anew", async () => {
    const first = host === "hosta" ? "planning" : "not deployed yet: the comments say how far it is";
    const bot = await start(host);
    const one = await open(bot, changeOf(["web", "api"]));
    expect(statuses(bot, one)[0]).toMatchObject({ name: "svc/sync", state: "pending", description: first });
    expect(status(bot, one)).toBe(pending(host, "2 applications await svc sync"));
    bot.expectChanges("sync web", "sync api");
    await bot.comment(one, "svc sync");
    const plan = bot.seen(one).comments.findLast(({ body }) => body.startsWith("<!-- svc:plan"));
    expect(statuses(bot, one).at(-1)?.url).toMatch(new RegExp(`#(issuecomment-|note_)${plan?.id ?? "none"}$`));
    await bot.push(one, changeOf(["web"], "3"));
    await atHead(bot, one);
    expect(statuses(bot, one)[0]).toMatchObject({ state: "pending", description: first });
    expect(status(bot, one)).toBe(pending(host, "2 applications await svc sync"));
  });

  test("no application affected: green at once, so that it can be a required check", async () => {
    const bot = await start(host);
    const one = await open(bot, { "README.md": "hello" });
    expect(status(bot, one)).toBe("success: nothing to deploy");
  });

  test("an approval brings it up to date without a plan; the sync of everything makes it green, before the merge", async () => {
    const bot = await start(host, { config: { defaults: { require_approval: true, auto_merge: true } } });
    const one = await open(bot, changeOf(["web"]));
    expect(status(bot, one)).toBe(pending(host, "web needs an approval, then svc sync"));
    const answers = bot.answers(one).length;
    const renders = bot.argocd.requests.length;
    await bot.approve(one);
    expect(status(bot, one)).toBe(pending(host, "web awaits svc sync; approved by bo"));
    expect(bot.answers(one)).toHaveLength(answers);
    expect(bot.argocd.requests).toHaveLength(renders);
    bot.expectChanges("sync web");
    const from = bot.forge.requests.length;
    await bot.comment(one, "svc sync");
    expect(bot.seen(one).state).toBe("merged");
    expect(status(bot, one)).toBe("success: synced: web");
    const asked = bot.forge.requests.slice(from).map(({ path }) => path);
    expect(asked.findIndex((path) => STATUSES.test(path))).toBeLessThan(
      asked.findIndex((path) => path.endsWith("/merge")),
    );
    expect(asked.some((path) => STATUSES.test(path))).toBe(true);
  });

  test("part of it synced: pending; a failed sync: failure; all synced: green; a rollback: pending again", async () => {
    const bot = await start(host);
    const one = await open(bot, changeOf(["web", "api"]));
    bot.expectChanges("sync web", "sync api");
    await bot.comment(one, "svc sync -a web");
    expect(status(bot, one)).toBe(pending(host, "api awaits svc sync"));
    bot.argocd.failNextSync("api", { phase: "Failed", message: "no room" });
    await bot.comment(one, "svc sync");
    expect(status(bot, one)).toBe("failure: sync failed: api");
    await bot.comment(one, "svc sync");
    expect(status(bot, one)).toBe("success: synced: api, web");
    await bot.comment(one, "svc rollback -a web");
    expect(status(bot, one)).toBe(pending(host, "web awaits svc plan and svc sync"));
  });

  test("a dry run changes nothing of it", async () => {
    const bot = await start(host);
    const one = await open(bot, changeOf(["web"]));
    const before = statuses(bot, one);
    bot.expectChanges("dry-run web");
    await bot.comment(one, "svc sync --dry-run");
    expect(statuses(bot, one)).toEqual(before);
  });

  test("another PR's sync takes an application: the first PR is pending again and says whose commit runs", async () => {
    const bot = await start(host);
    const one = await open(bot, changeOf(["web"]));
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(status(bot, one)).toBe("success: synced: web");
    const two = await open(bot, changeOf(["web"], "3"), { by: "bo" });
    await bot.comment(two, "svc sync", "bo");
    expect(status(bot, two)).toBe("success: synced: web");
    expect(status(bot, one)).toBe(
      pending(host, `web awaits svc plan and svc sync; web now runs ${SHORT[host]} ${SIGIL[host]}${two}`),
    );
  });

  test("a plan that could not evaluate an application, and a broken repository file: failure", async () => {
    const bot = await start(host);
    const forbidden = { kind: "status", status: 403, body: '{"code":7,"message":"permission denied"}' } as const;
    const end = bot.argocd.faults.add({ path: /\/applications\/web\/manifests$/, fault: forbidden });
    const one = await open(bot, changeOf(["web"]));
    expect(status(bot, one)).toBe("failure: could not be evaluated: web");
    end();
    const two = await open(bot, { ".svc.yaml": "applications: 3\n" }, { by: "bo" });
    expect(status(bot, two)).toBe("failure: the plan failed: the repository's file cannot be used");
  });

  test("a file that breaks on the base branch: failure, also after the commands that work without it", async () => {
    const bot = await start(host, { config: { deployer: { sync_timeout: "1m" } } });
    const one = await open(bot, changeOf(["web"]));
    await bot.approve(one);
    const letGo = bot.argocd.holdSync("web");
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    await bot.forge.pushToBranch(REPOSITORY, "main", { ".svc.yaml": "require_approval: [\n" });
    await bot.idle();
    const broken = "failure: the plan failed: the repository's file cannot be used";
    expect(status(bot, one)).toBe(broken);
    letGo();
    for (const command of ["svc sync", "svc unlock"]) {
      await bot.comment(one, command);
      expect([command, status(bot, one)]).toEqual([command, broken]);
    }
    expect(await bot.deployed(one)).toEqual(["web"]);
    await bot.forge.pushToBranch(REPOSITORY, "main", { ".svc.yaml": null });
    await bot.idle();
    expect(status(bot, one)).toBe("success: synced: web");
  });

  test("what svc does not deploy is named and hinders nothing", async () => {
    const bot = await start(host, { resources: () => ({ api: { spec: { syncPolicy: { automated: {} } } } }) });
    const one = await open(bot, changeOf(["web", "api"]));
    expect(status(bot, one)).toBe(pending(host, "web awaits svc sync -a web; takes effect at the merge: api"));
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync -a web");
    expect(status(bot, one)).toBe("success: synced: web; takes effect at the merge: api");
  });

  test("drafts and autoplan off: told without a render, then by the plan that a person asks for", async () => {
    const bot = await start(host);
    const one = await open(bot, { "README.md": "hello" }, { draft: true });
    expect(status(bot, one)).toBe("success: nothing to deploy");
    const two = await open(bot, changeOf(["web"]), { draft: true });
    expect(status(bot, two)).toBe(pending(host, "comment svc plan: affects web"));
    expect(rendered(bot)).toBe(false);
    expect(await bot.stores.locks.list()).toEqual([]);
    expect(bot.answers(two)).toEqual([]);
    await bot.comment(two, "svc plan");
    expect(status(bot, two)).toBe(pending(host, "web awaits svc sync"));
    const off = await start(host, { config: { defaults: { autoplan: false } } });
    const three = await open(off, changeOf(["web"]));
    expect(status(off, three)).toBe(pending(host, "comment svc plan: affects web"));
  });

  test("a missing permission is logged once and hinders nothing", async () => {
    const log = new ServiceLog();
    const bot = await start(host, { log: log.write });
    bot.forge.faults.add({ method: "POST", path: STATUSES, fault: { kind: "status", status: 403, body: "{}" } });
    const one = await open(bot, changeOf(["web"]));
    await open(bot, changeOf(["api"]), { by: "bo" });
    bot.expectChanges("sync web");
    await bot.comment(one, "svc plan");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("✅ succeeded");
    expect(log.of(REFUSED)).toHaveLength(1);
  });

  test("switched off nothing is set", async () => {
    const bot = await startBot({ host, config: { [host]: { commit_status: false } } });
    const one = await open(bot, changeOf(["web"]));
    await bot.approve(one);
    expect(statuses(bot, one)).toEqual([]);
    expect(bot.forge.requests.some(({ path }) => STATUSES.test(path))).toBe(false);
  });
});

describe("forks on GitHub, whose statuses stand in the target repository", () => {
  test("nothing to deploy is green; a fork that is not planned waits, and nothing of it is rendered", async () => {
    const bot = await start("hosta");
    const one = await open(bot, { "README.md": "hello" }, { by: "olga", fork: true });
    expect(status(bot, one)).toBe("success: nothing to deploy");
    const two = await open(bot, changeOf(["web"]), { by: "olga", fork: true });
    expect(status(bot, two)).toBe(pending("hosta", "comes from a fork, whose content is not planned here"));
    expect(rendered(bot)).toBe(false);
    expect(bot.answers(two)).toEqual([]);
  });
});

describe("pipelines on GitLab, in which the status stands", () => {
  test.each([
    ["pending", changeOf(["web"])],
    ["success", { "README.md": "hello" }],
  ])(
    "one that starts after it was set gets a status that is %s when the head is looked at again",
    async (state, changes) => {
      const bot = await start("hostb");
      const one = await open(bot, changes);
      const before = statuses(bot, one).length;
      bot.forge.runPipeline(REPOSITORY, one);
      await bot.approve(one);
      expect(statuses(bot, one).slice(before)).toMatchObject([{ state }]);
    },
  );
});
