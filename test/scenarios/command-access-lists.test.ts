import { describe, expect, test } from "@jest/globals";
import { HOSTS, REPOSITORY, startBot, type Bot } from "./bot.js";
import { apart, changeOf } from "./resources.js";

const TEAM = "acme/platform";
/** The request by which the host is asked whether somebody is in the team. */
const MEMBERSHIP = /\/teams\/platform\/memberships\/|\/groups\/.+\/members\/all\//;

function policy(...entries: readonly string[]) {
  return () => ({ ".svc.yaml": `sync_requirements:\n${entries.map((entry) => `  - { ${entry} }\n`).join("")}` });
}

function membershipCalls(bot: Bot): number {
  return bot.forge.requests.filter(({ path }) => MEMBERSHIP.test(path)).length;
}

describe.each(HOSTS)("allowed_users and allowed_teams on %s", (host) => {
  test("allowed_users: others with write access are refused, with who may and -a for the rest", async () => {
    const bot = await startBot({
      host,
      resources: () => apart("api", "web"),
      files: policy("name: web, allowed_users: [BO]"),
    });
    const one = await bot.open(changeOf(["api", "web"]));
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("`ana` may not run `svc sync` for:\n- `web`: only BO may");
    expect(bot.lastComment(one)).toContain("\nsvc sync -a api\n```");
    expect(bot.changes()).toEqual([]);
    expect(await bot.locked(one)).toEqual(["api", "web"]);
    bot.expectChanges("sync api", "sync web");
    await bot.comment(one, "svc sync -a api");
    expect(bot.liveValue("api")).toBe("2");
    await bot.comment(one, "svc sync", "bo");
    expect(bot.liveValue("web")).toBe("2");
    expect(membershipCalls(bot)).toBe(0);
  });

  test("a login in the list does not stand in for write access", async () => {
    const bot = await startBot({ host, files: policy("name: web, allowed_users: [olga]") });
    bot.forge.setAccess(REPOSITORY, "olga", "read");
    const one = await bot.open(changeOf(["web"]));
    await bot.comment(one, "svc sync", "olga");
    expect(bot.lastComment(one)).toContain("`olga` has no write access");
    expect(bot.changes()).toEqual([]);
  });

  test("allowed_teams: members may, asked from the host at each command and twice in a sync", async () => {
    const bot = await startBot({ host, files: policy(`name: "*", allowed_teams: [${TEAM}]`) });
    bot.forge.setTeam(TEAM, ["bo"]);
    const one = await bot.open(changeOf(["api", "web"]));
    expect(membershipCalls(bot)).toBe(0);
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain(`- \`web\`: only members of ${TEAM} may`);
    expect(membershipCalls(bot)).toBe(1);
    bot.forge.setTeam(TEAM, ["ana", "bo"]);
    bot.expectChanges("sync api", "sync web");
    await bot.comment(one, "svc sync");
    expect(bot.liveValue("web")).toBe("2");
    expect(membershipCalls(bot)).toBe(3);
  });

  test("the host cannot say who is in the team: refused, with its reason and whose permission is missing", async () => {
    const bot = await startBot({
      host,
      resources: () => apart("api", "web"),
      files: policy(`name: web, allowed_teams: [${TEAM}]`),
    });
    bot.forge.setTeam(TEAM, ["ana"]);
    const one = await bot.open(changeOf(["api", "web"]));
    bot.forge.faults.add({ path: MEMBERSHIP, fault: { kind: "status", status: 403, body: '{"message":"no"}' } });
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("could not check whether this person is one of them");
    if (host === "hosta") expect(bot.lastComment(one)).toContain("Organization members: read");
    expect(bot.lastComment(one)).toContain("\nsvc sync -a api\n```");
    expect(bot.changes()).toEqual([]);
  });

  test("rollback is bound by default; plan and unlock only where commands says so", async () => {
    const bot = await startBot({
      host,
      resources: () => apart("api", "web"),
      files: policy("name: web, allowed_users: [bo]", "name: api, allowed_users: [bo], commands: [plan, unlock]"),
    });
    const one = await bot.open(changeOf(["api", "web"]));
    await bot.comment(one, "svc rollback");
    expect(bot.lastComment(one)).toContain("`ana` may not run `svc rollback` for:\n- `web`: only bo may");
    expect(bot.lastComment(one)).toContain("\nsvc rollback -a api\n```");
    await bot.comment(one, "svc plan");
    expect(bot.lastComment(one)).toContain("`ana` may not run `svc plan` for:\n- `api`: only bo may");
    await bot.comment(one, "svc unlock");
    expect(bot.lastComment(one)).toContain("`ana` may not run `svc unlock` for:\n- `api`: only bo may");
    expect(await bot.locked(one)).toEqual(["api", "web"]);
    await bot.comment(one, "svc unlock -a web");
    await bot.comment(one, "svc plan -a web");
    expect(await bot.locked(one)).toEqual(["api", "web"]);
    bot.expectChanges("sync api");
    await bot.comment(one, "svc sync -a api");
    expect(bot.liveValue("api")).toBe("2");
    await bot.comment(one, "svc unlock", "bo");
    expect(await bot.locked(one)).toEqual([]);
  });

  test("the exact name wins over a pattern, and an empty list means nobody", async () => {
    const bot = await startBot({
      host,
      applications: ["web", "api", "wiki"],
      resources: () => apart("web", "api", "wiki"),
      files: policy(
        'name: "*", allowed_users: [bo]',
        "name: web, allowed_users: [ana]",
        "name: wiki, allowed_users: []",
      ),
    });
    const one = await bot.open(changeOf(["api", "web", "wiki"]));
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync -a web");
    await bot.comment(one, "svc sync");
    expect(bot.changes()).toEqual(["sync web"]);
    expect(bot.lastComment(one)).toContain("- `api`: only bo may");
    expect(bot.lastComment(one)).toContain("- `wiki`: nobody may, because the list is empty");
  });

  test("a PR cannot put its author on the list: the base branch's list holds", async () => {
    const bot = await startBot({ host, files: policy("name: web, allowed_users: [bo]") });
    const loosened = "sync_requirements:\n  - { name: web, allowed_users: [ana] }\n";
    const one = await bot.open({ ...changeOf(["web"]), ".svc.yaml": loosened });
    expect(bot.lastComment(one)).toContain("takes effect only after the merge");
    expect(bot.lastComment(one)).toContain("web: allowed_users ana instead of bo");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("- `web`: only bo may");
    expect(bot.changes()).toEqual([]);
  });

  describe("read afresh right before the first call that deploys", () => {
    test("put out of the team meanwhile", async () => {
      const bot = await startBot({
        host,
        resources: () => apart("api", "web"),
        files: policy(`name: web, allowed_teams: [${TEAM}]`),
      });
      bot.forge.setTeam(TEAM, ["ana"]);
      const one = await bot.open(changeOf(["web"]));
      bot.meanwhile("forge", { path: MEMBERSHIP, nth: 2 }, () => bot.forge.setTeam(TEAM, []));
      await bot.comment(one, "svc sync");
      expect(bot.lastComment(one)).toContain(`- \`web\`: only members of ${TEAM} may`);
      expect(bot.changes()).toEqual([]);
    });

    test("write access taken away meanwhile", async () => {
      const bot = await startBot({ host });
      const one = await bot.open(changeOf(["web"]));
      bot.meanwhile("argocd", { method: "GET", path: /\/api\/v1\/applications\/web$/ }, () =>
        bot.forge.setAccess(REPOSITORY, "ana", "read"),
      );
      await bot.comment(one, "svc sync");
      expect(bot.lastComment(one)).toContain("`ana` has no write access");
      expect(bot.changes()).toEqual([]);
    });

    test.each([
      ["the list", "sync_requirements:\n  - { name: web, allowed_users: [bo] }\n", "- `web`: only bo may"],
      ["require_approval", "require_approval: true\n", "PR must be approved before sync"],
      ["a broken file", "require_approval: [\n", "`.svc.yaml` cannot be used"],
    ])("%s on the base branch changed meanwhile", async (_what, file, answer) => {
      const bot = await startBot({ host });
      const one = await bot.open(changeOf(["web"]));
      bot.meanwhile("argocd", { method: "GET", path: /\/api\/v1\/applications\/web$/ }, async () => {
        await bot.forge.pushToBranch(REPOSITORY, "main", { ".svc.yaml": file });
      });
      await bot.comment(one, "svc sync");
      expect(bot.lastComment(one)).toContain(answer);
      expect(bot.changes()).toEqual([]);
    });

    test("another change of the base branch meanwhile does not stop the sync", async () => {
      const bot = await startBot({ host });
      const one = await bot.open(changeOf(["web"]));
      bot.meanwhile("argocd", { method: "GET", path: /\/api\/v1\/applications\/web$/ }, async () => {
        await bot.forge.pushToBranch(REPOSITORY, "main", { "docs/a.md": "a" });
      });
      bot.expectChanges("sync web");
      await bot.comment(one, "svc sync");
      expect(bot.lastComment(one)).toContain("✅ succeeded");
      expect(bot.liveValue("web")).toBe("2");
    });
  });
});
