import { describe, expect, test } from "@jest/globals";
import { HOSTS, REPOSITORY, startBot, type Bot } from "./bot.js";
import { configMap } from "./resources.js";

/** More than a sync with its merge ever makes. */
const MOST_REQUESTS = 80;

function webAt(value: string) {
  return { "apps/web/configmap.yaml": configMap("web", { value }) };
}

/** Every third request in `npm test`, every request in the nightly. */
const STRIDE = process.env.SVC_NIGHTLY === "1" ? 1 : 3;

interface Attempt {
  /** Undefined when the sync had made its last request before. */
  readonly unseen: string | undefined;
  readonly deployed: boolean;
  readonly merged: boolean;
}

/** A planned and approved commit is synced and merged while another is pushed right before the nth request. */
async function pushedBefore(bot: Bot, where: "forge" | "argocd", nth: number): Promise<Attempt> {
  const seen = `seen-${where}-${nth}`;
  const one = await bot.open(webAt(seen));
  await bot.approve(one);
  let unseen: string | undefined;
  bot.meanwhile(where, { path: /./, nth }, async () => {
    unseen = await bot.forge.pushSilently(REPOSITORY, one, webAt("unseen"));
  });
  await bot.comment(one, "svc sync");
  bot[where].faults.clear();
  const merged = bot.seen(one).state === "merged";
  if (!merged) await bot.close(one);
  return { unseen, deployed: bot.liveValue("web") === seen, merged };
}

async function isInMain(bot: Bot, since: string, commit: string): Promise<boolean> {
  const commits = await bot.forge.commitsSince(REPOSITORY, since, "main");
  return commits.some(({ id, parents }) => id === commit || parents.includes(commit));
}

describe.each(HOSTS)("exactly the planned and approved commit on %s", (host) => {
  test("a push right before any request of a sync, from the first to the last: what nobody has seen is never deployed and never merged", async () => {
    const bot = await startBot({
      host,
      git: true,
      applications: ["web"],
      config: { defaults: { auto_merge: true, require_approval: true, merge_method: "merge" } },
    });
    bot.expectChanges("sync web");
    const root = await bot.forge.pushToBranch(REPOSITORY, "main", { "docs/root.md": "root" });
    const attempts: Attempt[] = [];
    for (const where of ["forge", "argocd"] as const) {
      for (let nth = 1; ; nth += STRIDE) {
        expect(nth).toBeLessThan(MOST_REQUESTS);
        const attempt = await pushedBefore(bot, where, nth);
        if (attempt.unseen === undefined) break;
        const at = `${where} request ${nth}`;
        expect({ at, live: bot.liveValue("web") }).not.toEqual({ at, live: "unseen" });
        expect({ at, merged: await isInMain(bot, root, attempt.unseen) }).toEqual({ at, merged: false });
        attempts.push(attempt);
      }
    }
    const count = (match: (attempt: Attempt) => boolean) => attempts.filter(match).length;
    expect(count(({ deployed }) => !deployed)).toBeGreaterThan(5);
    expect(count(({ deployed, merged }) => deployed && !merged)).toBeGreaterThan(0);
  });
});
