import { describe, expect, test } from "@jest/globals";
import type { HostId } from "../../src/names.js";
import { HOSTS, REPOSITORY, startBot, type Bot, type BotOptions } from "./bot.js";
import { changeOf } from "./resources.js";
import { ServiceLog } from "./service-log.js";

const CALLS = /\/(?:deployments|environments)(?:\/|\?|$)|\/personal_access_tokens\//;
const WORDS = {
  hosta: { on: "deployments", running: "in_progress", failed: "failure" },
  hostb: { on: "environments", running: "running", failed: "failed" },
} as const;

function start(host: HostId, defaults: Readonly<Record<string, unknown>> = {}, more: Partial<BotOptions> = {}) {
  const deployer = { ui_url: "https://argocd.example.com" };
  return startBot({ host, config: { [host]: { [WORDS[host].on]: true }, deployer, defaults }, ...more });
}

function calls(bot: Bot): readonly string[] {
  return bot.forge.requests.map(({ path }) => path).filter((path) => CALLS.test(path));
}

const shown = (bot: Bot) =>
  bot.forge.deployments.seen(REPOSITORY).map(({ environment, states }) => [environment, ...states]);

describe.each(HOSTS)("what is deployed, in the environments of %s", (host) => {
  const { running, failed } = WORDS[host];

  test("each synced application runs, then succeeds or fails there; a rollback takes it back", async () => {
    const bot = await start(host);
    const one = await bot.open(changeOf(["web", "api"]));
    expect(shown(bot)).toEqual([]);
    await bot.comment(one, "svc sync --dry-run");
    expect(shown(bot)).toEqual([]);
    bot.expectChanges("dry-run web", "dry-run api", "sync web", "sync api");
    bot.argocd.failNextSync("api", { phase: "Failed", message: "no room" });
    await bot.comment(one, "svc sync");
    const [web, api] = ["in-cluster/guestbook/web", "in-cluster/guestbook/api"];
    expect(shown(bot).map(([environment, ...states]) => [environment, states.at(-1)])).toEqual(
      expect.arrayContaining([
        [web, "success"],
        [api, failed],
      ]),
    );
    const { headRevision } = bot.seen(one);
    const seen = bot.forge.deployments.seen(REPOSITORY).find(({ environment }) => environment === web);
    expect(seen).toMatchObject({ revision: headRevision, link: "https://argocd.example.com/applications/web" });
    if (host === "hosta") expect(seen?.output).toMatch(/\/pull\/1$/);
    await bot.comment(one, "svc rollback -a web");
    const last = bot.forge.deployments.seen(REPOSITORY).filter(({ environment }) => environment === web);
    if (host === "hosta") expect(last.map(({ states }) => states.at(-1))).toEqual(["inactive"]);
    else expect(last.slice(1)).toMatchObject([{ ref: "main", states: [running, "success"] }]);
    expect(last.every(({ revision }, index) => (revision === headRevision) === (index === 0))).toBe(true);
  });

  test("what svc rolls back by itself has failed there, and the target branch is in its place", async () => {
    const bot = await start(host, { require_healthy: true, on_failure: "rollback" });
    const one = await bot.open(changeOf(["web"]));
    bot.argocd.playHealth("web", [{ status: "Degraded" }]);
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("svc rolled it back");
    const [head, ...more] = bot.forge.deployments.seen(REPOSITORY);
    expect(head).toMatchObject({ revision: bot.seen(one).headRevision, states: [running, failed] });
    if (host === "hosta") expect(more).toEqual([]);
    else expect(more).toMatchObject([{ ref: "main", states: ["success"] }]);
    expect(more.map(({ revision }) => revision)).not.toContain(head?.revision);
  });

  test("the next change takes the place of a merged one, whose branch is deleted", async () => {
    const bot = await start(host, { auto_merge: true, delete_source_branch: true });
    const one = await bot.open(changeOf(["web"]));
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.seen(one).state).toBe("merged");
    const asked = bot.forge.requests.map(({ path }) => path);
    expect(asked.findLastIndex((path) => CALLS.test(path))).toBeLessThan(
      asked.findIndex((path) => path.endsWith("/merge")),
    );
    expect(bot.world.gitlab?.deployments.environments(REPOSITORY) ?? {}).toEqual(
      host === "hosta" ? {} : { "in-cluster/guestbook/web": "available" },
    );
    const two = await bot.open(changeOf(["web"], "3"));
    await bot.comment(two, "svc sync");
    const states = bot.forge.deployments.seen(REPOSITORY).map(({ states: all }) => all.at(-1));
    expect(states).toEqual(host === "hosta" ? ["inactive", "success"] : ["success", "success"]);
  });

  test("without the right to it the start says what is missing, and syncs go on; the log says it once", async () => {
    const log = new ServiceLog();
    const bot = await start(
      host,
      {},
      {
        log: log.write,
        prepare: ({ gitlab }, forge) => {
          forge.deployments.forbid(REPOSITORY);
          gitlab?.deployments.setScopes("read_api");
        },
      },
    );
    const problem = host === "hosta" ? /`Deployments: read and write`/ : /lacks the scope `api`/;
    expect((await log.first("a permission is missing")).problem).toMatch(problem);
    const one = await bot.open(changeOf(["web", "api"]));
    bot.expectChanges("sync web", "sync api");
    await bot.comment(one, "svc sync");
    expect(bot.liveValue("web")).toBe("2");
    expect(bot.lastComment(one)).toContain("succeeded");
    expect(shown(bot)).toEqual([]);
    expect(log.of("could not show a deployment in its environment")).toHaveLength(1);
    expect(bot.forge.requests.filter(({ method, path }) => method === "POST" && CALLS.test(path))).toHaveLength(1);
    const two = await bot.open(changeOf(["web"], "3"));
    await bot.comment(two, "svc sync");
    expect(log.of("could not show a deployment in its environment")).toHaveLength(1);
  });

  test("a host that fails meanwhile shows the end when it is back; off, it is asked for nothing", async () => {
    const bot = await start(host);
    const one = await bot.open(changeOf(["web"]));
    bot.expectChanges("sync web");
    const fault = { kind: "status", status: 502 } as const;
    bot.forge.faults.add({ method: "POST", path: /\/deployments$/, times: 2, fault });
    await bot.comment(one, "svc sync");
    expect(shown(bot)).toEqual([["in-cluster/guestbook/web", "success"]]);
    const off = await startBot({ host });
    const other = await off.open(changeOf(["web"]));
    off.expectChanges("sync web");
    await off.comment(other, "svc sync");
    await off.comment(other, "svc rollback");
    // Whoever watches the token's expiry asks about the token.
    expect(calls(off).filter((path) => !path.endsWith("/personal_access_tokens/self"))).toEqual([]);
  });
});
