import { describe, expect, test } from "@jest/globals";
import { endOfHold } from "../../src/core/commands/hold.js";
import { revision } from "../../src/core/model/brand.js";
import { StoreUnavailable } from "../../src/core/model/errors.js";
import { wrapPort } from "../../src/observe/wrap-port.js";
import { createMemoryStores } from "../../src/store/memory/memory-stores.js";
import { loggedIn, startWithLogin } from "../attacks/logged-in.js";
import { type Bot, HOSTS, REPOSITORY, startBot } from "./bot.js";
import { applicationResource, changeOf } from "./resources.js";

async function statusOf(bot: Bot, one: number): Promise<string> {
  const headRevision = revision(bot.seen(one).headRevision);
  const own = await bot.stores.statuses.ofHead({ ...bot.ref(one), headRevision });
  return own.map(({ state, description }) => `${state}: ${description}`).join("; ");
}

describe.each(HOSTS)("svc hold on %s", (host) => {
  test("keeps what it names from being deployed until its author releases it, and the trail has both", async () => {
    const bot = await startBot({ host, config: { [host]: { commit_status: true } } });
    const one = await bot.open(changeOf(["api", "web"]));
    const two = await bot.open({ "README.md": "2\n" }, { by: "bo" });
    await bot.comment(two, "svc hold -a 'we*' --reason \"database migration\" --until 2h", "bo");
    expect(bot.lastComment(two)).toMatch(/## svc Hold\n\nHeld until \d{4}-\d\d-\d\d \d\d:\d\d UTC: `web`\./);
    expect(bot.lastComment(two)).toContain("**Reason:** database migration");
    expect(await statusOf(bot, one)).toMatch(/^pending: bo holds web until .* UTC: database migration/);
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toMatch(/bo holds web until .* UTC: database migration/);
    await bot.comment(one, "svc release");
    expect(bot.lastComment(one)).toContain("Nothing was released: you hold nothing.");

    await bot.comment(two, "svc release -a web", "bo");
    expect(bot.lastComment(two)).toContain("## svc Release\n\nNot held any more by `bo`: `web`.");
    expect(await statusOf(bot, one)).not.toContain("holds");
    bot.expectChanges("sync api", "sync web");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("✅ succeeded");
    const trail = await bot.stores.audit.list({ limit: 20, filter: { login: "bo", application: "web" } });
    expect(trail.map(({ action, command, reason }) => [action, command, reason?.slice(0, 6)])).toEqual([
      ["released", "release", undefined],
      ["held", "hold", "until "],
    ]);
  });

  test("and svc release whose answer of the store is lost say what happened, and the trail has it", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    const { holds } = bot.stores;
    const [save, remove] = [holds.save.bind(holds), holds.remove.bind(holds)];
    const lost = new Set<string>();
    const lose = async <T>(what: string, done: Promise<T>): Promise<T> => {
      const answer = await done;
      if (lost.has(what)) return answer;
      lost.add(what);
      throw new StoreUnavailable("failed to connect to Redis: timed out");
    };
    holds.save = (...given) => lose("save", save(...given));
    holds.remove = (...given) => lose("remove", remove(...given));
    await bot.comment(one, "svc hold -a web --reason x");
    expect(bot.lastComment(one)).toMatch(/Held until .*: `web`\./);
    await bot.comment(one, "svc release");
    expect(bot.lastComment(one)).toContain("Not held any more by `ana`: `web`.");
    expect([...lost]).toEqual(["save", "remove"]);
    const trail = await bot.stores.audit.list({ limit: 2 });
    expect(trail.map(({ action }) => action)).toEqual(["released", "held"]);
  });

  test("and svc release name applications by a label of theirs", async () => {
    const bot = await startBot({ host, resources: () => ({ web: { labels: { team: "shop" } } }) });
    const one = await bot.open({ "README.md": "2\n" });
    await bot.comment(one, "svc hold -a label:team=shop --reason x");
    expect(bot.lastComment(one)).toMatch(/Held until .*: `web`\./);
    await bot.comment(one, "svc release -a label:team=shop");
    expect(bot.lastComment(one)).toContain("Not held any more by `ana`: `web`.");
  });

  test("tells of a hold and of its release, although the store answers too late", async () => {
    const bot = await startBot({
      host,
      stores(clock) {
        const stores = createMemoryStores(clock);
        const late = new Set(["save", "remove"]);
        const holds = wrapPort(stores.holds, async (method, call) => {
          const done = await call();
          if (late.delete(method)) throw new StoreUnavailable("the store answered too late");
          return done;
        });
        return { ...stores, holds };
      },
    });
    const one = await bot.open({ "README.md": "2\n" });
    await bot.comment(one, "svc hold -a web --reason x");
    expect(bot.lastComment(one)).toMatch(/Held until .*: `web`\./);
    await bot.comment(one, "svc release");
    expect(bot.lastComment(one)).toContain("Not held any more by `ana`: `web`.");
  });

  test("refuses what it cannot hold, with a sentence, and holds nothing", async () => {
    const bot = await startBot({ host, config: { server: { timezone: "Asia/Tokyo" } } });
    const one = await bot.open({ "README.md": "2\n" });
    for (const [command, sentence] of [
      [`hold --reason x`, "Nothing was held: -a has to name the applications."],
      [`hold -a web`, "Nothing was held: --reason must say why, for those who wait."],
      [`hold -a web --reason " "`, "Nothing was held: --reason must say why, for those who wait."],
      [`hold -a web --reason ${"x".repeat(301)}`, "Nothing was held: --reason must not be longer than 300 characters."],
      [
        `hold -a web --reason x --until 2020-01-01T00:00:00Z`,
        "Nothing was held: --until must be in the future: it is now ",
      ],
      [
        `hold -a web --reason x --until 31d`,
        "Nothing was held: --until must be a duration such as 2h, or a time such as",
      ],
      [`hold -a web --reason x --until tomorrow`, "or 2026-03-01T18:00:00Z, within 30 days from now."],
      [`hold -a 'prod-*' --reason x`, `Nothing was held: ${REPOSITORY} deploys no application that matches prod-\\*.`],
      [`hold -a label:team=shop --reason x`, `${REPOSITORY} deploys no application that matches label:team=shop.`],
      [`hold -a wbe --reason x`, `Nothing was held: ${REPOSITORY} deploys no application wbe.`],
      [
        "release",
        "Nothing was released: you hold nothing. Whoever set a hold, or an administrator of svc, releases it.",
      ],
      ["release -a web", "Nothing was released: you hold nothing that web names."],
    ] as const) {
      await bot.comment(one, `svc ${command}`);
      expect(bot.lastComment(one)).toContain(sentence);
      expect(await bot.stores.holds.list()).toEqual([]);
    }
    await bot.comment(one, `svc hold -a web,api --reason x`);
    await bot.comment(one, `svc release -a web`);
    expect(bot.lastComment(one)).toContain("Nothing was released: the hold of web, api ends as a whole.");
    expect(await bot.stores.holds.list()).toHaveLength(1);
  });

  test("lets an administrator hold what others deploy, and release what others hold, by its name", async () => {
    const bot = await startWithLogin(host, { default_role: "admin" });
    for (const login of ["olga", "vera"]) bot.forge.setAccess(REPOSITORY, login, "write");
    bot.argocd.addApplication(applicationResource("wiki", { repoURL: "https://git.example.com/acme/wiki.git" }));
    await loggedIn(bot, "olga");
    const one = await bot.open({ "README.md": "2\n" });
    await bot.comment(one, `svc hold -a 'w*' --reason freeze`, "olga");
    expect(bot.lastComment(one)).toMatch(/Held until [^`]+: `web`, `wiki`\./);
    await bot.comment(one, "svc hold -a api --reason mine");
    await bot.comment(one, "svc release", "olga");
    expect(bot.lastComment(one)).toContain("Not held any more by `olga`: `web`, `wiki`.");
    await bot.comment(one, "svc release -a '*'", "olga");
    expect(bot.lastComment(one)).toContain("Not held any more by `ana`: `api`.");
    expect(await bot.stores.holds.list()).toEqual([]);
  });
});

describe("the end of a hold", () => {
  const winter = new Date("2026-03-28T20:00:30.500Z");
  test.each([
    ["2h", "UTC", "2026-03-28T22:00:30.500Z"],
    ["23:15", "UTC", "2026-03-28T23:15:00.000Z"],
    ["23:15", "Europe/Berlin", "2026-03-28T22:15:00.000Z"],
    ["7:30", "Asia/Tokyo", "2026-03-28T22:30:00.000Z"],
    ["2026-03-29T12:00:00+02:00", "UTC", "2026-03-29T10:00:00.000Z"],
    [undefined, "UTC", "2026-03-29T20:00:30.500Z"],
  ])("%s in %s is %s", (text, timezone, until) => {
    expect(endOfHold(text, winter, timezone)).toEqual({ until });
  });

  // The clocks of Berlin go from 2:00 to 3:00, an hour after this.
  test("at a time of a day on which the clocks change is what they show then", () => {
    const now = new Date("2026-03-29T00:00:00Z");
    expect(endOfHold("12:00", now, "Europe/Berlin")).toEqual({ until: "2026-03-29T10:00:00.000Z" });
    // No clock shows 2:30 on that day: the hold ends as late as somebody may mean.
    expect(endOfHold("2:30", now, "Europe/Berlin")).toEqual({ until: "2026-03-29T01:30:00.000Z" });
  });

  test.each([
    ["19:00", "UTC", "must be in the future: it is now 2026-03-28 20:00 in UTC"],
    ["4:59", "Asia/Tokyo", "must be in the future: it is now 2026-03-29 05:00 in Asia/Tokyo"],
    ["24:00", "UTC", "must be a duration such as 2h"],
    ["2026-03-29", "UTC", "must be a duration such as 2h"],
    ["2026-02-30T12:00:00Z", "UTC", "must be a duration such as 2h"],
  ])("%s in %s is refused", (text, timezone, problem) => {
    expect(endOfHold(text, winter, timezone)).toEqual({ problem: expect.stringContaining(problem) });
  });
});
