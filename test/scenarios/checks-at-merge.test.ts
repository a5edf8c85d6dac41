import { describe, expect, test } from "@jest/globals";
import type { HostId } from "../../src/names.js";
import { HOSTS, REPOSITORY, startBot, type Bot, type BotOptions } from "./bot.js";
import { section } from "./plan-comment.js";
import { asYaml, changeOf } from "./resources.js";

/** Fails for manifests with this word, and says so. */
const POLICY = `if grep -q forbidden; then echo "$SVC_APPLICATION holds a forbidden value"; exit 1; fi`;
const CHECK = { name: "values", command: ["sh", "-c", POLICY], overridable_by: ["acme/platform"] };
const AUTO_SYNCED = { api: { spec: { syncPolicy: { automated: {} } } } };

async function start(host: HostId, more: Partial<BotOptions> = {}): Promise<Bot> {
  const config = { checks: [CHECK], defaults: { auto_merge: true, require_approval: false } };
  const bot = await startBot({ host, config, resources: () => AUTO_SYNCED, ...more });
  bot.forge.setTeam("acme/platform", ["bo"]);
  return bot;
}

/** `web` is synced; the merge creates `shop` and lets Argo CD sync `api`. */
function changes(bot: Bot, word: string) {
  return {
    ...changeOf(["web"], "3"),
    ...changeOf(["api", "shop"], word),
    "argocd/shop.yaml": asYaml(bot.resourceOf("shop")),
  };
}

const status = (bot: Bot, one: number) => bot.forge.statuses(REPOSITORY, bot.seen(one).headRevision).at(-1);

describe.each(HOSTS)("what the merge deploys on %s", (host) => {
  test("is checked as well, and a failed check keeps svc from merging it and the status from being green", async () => {
    const bot = await start(host);
    const one = await bot.open(changes(bot, "forbidden"));
    const plan = bot.lastComment(one);
    expect(plan).toContain("checks: 1 passed, 2 failed");
    expect(section(plan, "shop")).toContain("❌ Required check values failed: exit code 1");
    expect(section(plan, "shop")).toContain(" shop holds a forbidden value");
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync -a web");
    const result = bot.lastComment(one);
    expect(result).toContain("- `api`: the merge would deploy it, and the check values failed");
    expect(result).toContain("- `shop`: the merge would deploy it, and the check values failed");
    expect(result).toMatch(/make `values` pass for `api`, `shop` and push, or merge this [PM]R once a member of /);
    expect(bot.seen(one).state).toBe("open");
    // GitLab's is off by itself.
    if (host === "hosta") {
      const failed = expect.stringContaining("failed checks (values): api, shop");
      expect(status(bot, one)).toMatchObject({ state: "failure", description: failed });
      await bot.approve(one, "bo");
      expect(status(bot, one)).toMatchObject({ state: "success" });
    }
    await bot.push(one, changes(bot, "4"));
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync -a web");
    expect(bot.seen(one).state).toBe("merged");
  });

  test("is merged although a check fails once somebody who may override it has approved it; result and audit say who", async () => {
    const bot = await start(host);
    const one = await bot.open(changes(bot, "forbidden"));
    await bot.approve(one, "bo");
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync -a web");
    expect(bot.lastComment(one)).toContain(
      "**Checks:** ⚠️ `values` failed for `shop`, which the merge deploys; the approval of `bo` lifts that",
    );
    expect(bot.seen(one).state).toBe("merged");
    const [audited] = await bot.stores.audit.list({ limit: 1, filter: { action: "merged" } });
    expect(audited?.applications).toMatchObject([
      { application: "api", detail: "check values failed and was overridden by bo" },
      { application: "shop" },
    ]);
  });

  test("has failed its checks where nobody can render it", async () => {
    const bot = await start(host, { config: { checks: [CHECK], deployer: { preview_limit: 0 } } });
    const one = await bot.open(changes(bot, "4"));
    expect(section(bot.lastComment(one), "shop")).toContain(
      "Required check values failed: svc did not preview it: raise argocd.preview_limit",
    );
    expect(bot.lastComment(one)).toContain("checks: 2 passed, 1 failed");
  });
});
