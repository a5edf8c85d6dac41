import { describe, expect, test } from "@jest/globals";
import { HOSTS, startBot, type Bot } from "./bot.js";
import { changeOf } from "./resources.js";

const EDIT_PATH = /\/(comments|notes)\/\d+$/;
const POST_PATH = /\/(comments|notes)$/;

function isEdit({ method, path }: { readonly method: string; readonly path: string }): boolean {
  return (method === "PATCH" || method === "PUT") && EDIT_PATH.test(path);
}

/** Lets a held sync go at the `nth` edit of a comment, and returns what the comment said then. */
function letGoAtEdit(bot: Bot, one: number, nth: number, letGo: () => void): { readonly seen: string[] } {
  const seen: string[] = [];
  bot.meanwhile("forge", { method: bot.host === "hosta" ? "PATCH" : "PUT", path: EDIT_PATH, nth }, () => {
    seen.push(bot.lastComment(one));
    letGo();
  });
  return { seen };
}

describe.each(HOSTS)("progress of a sync on %s", (host) => {
  test("a short sync gets no progress comment: one answer, never edited", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.answers(one)).toHaveLength(2);
    expect(bot.seen(one).comments.at(-1)?.edited).toBe(false);
  });

  test("a long one gets one comment with a line per application, which becomes the result", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web", "api"]));
    const { seen } = letGoAtEdit(bot, one, 4, bot.argocd.holdSync("web"));
    bot.expectChanges("sync web", "sync api");
    await bot.comment(one, "svc sync");
    expect(seen).toHaveLength(1);
    expect(seen[0]).toContain("## svc Sync (running)");
    expect(seen[0]).toMatch(/^- \[`web`\]\([^)]*\/applications\/web>\) ▱+ running/m);
    expect(seen[0]).toMatch(/^- \[`api`\]\([^)]*\/applications\/api>\) ▰+ ✅ succeeded$/m);
    expect(bot.answers(one)).toHaveLength(2);
    expect(bot.lastComment(one)).toMatch(/^<!-- svc:result [^\n]*-->\n## svc Sync ✅\n/u);
    expect(bot.lastComment(one)).not.toContain("running");
    expect(bot.seen(one).comments.at(-1)?.edited).toBe(true);
  });

  test("it is edited at most every three seconds, however often Argo CD is asked", async () => {
    const bot = await startBot({ host, config: { deployer: { sync_timeout: "2m", poll_interval: "1s" } } });
    const one = await bot.open(changeOf(["web"]));
    const letGo = bot.argocd.holdSync("web");
    bot.expectChanges("sync web");
    const from = bot.forge.requests.length;
    const began = bot.clock.now().getTime();
    await bot.comment(one, "svc sync");
    const seconds = (bot.clock.now().getTime() - began) / 1000;
    letGo();
    const edits = bot.forge.requests.slice(from).filter(isEdit).length;
    expect(seconds).toBeGreaterThanOrEqual(120);
    expect(edits).toBeGreaterThan(1);
    // The last one makes the result of it.
    expect(edits).toBeLessThanOrEqual(seconds / 3 + 1);
    expect(bot.lastComment(one)).toContain("still running; svc stopped waiting");
  });

  test("a progress comment whose answer was lost is found again, and no second one is posted", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    letGoAtEdit(bot, one, 1, bot.argocd.holdSync("web"));
    bot.forge.faults.add({ method: "POST", path: POST_PATH, times: 1, fault: { kind: "lost-answer" } });
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.answers(one)).toHaveLength(2);
    expect(bot.lastComment(one)).toContain("✅ succeeded");
  });

  test("a progress comment that was deleted meanwhile: the result is posted", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    const { seen } = letGoAtEdit(bot, one, 1, bot.argocd.holdSync("web"));
    bot.forge.faults.add({
      method: host === "hosta" ? "PATCH" : "PUT",
      path: EDIT_PATH,
      times: 100,
      fault: { kind: "status", status: 404, body: '{"message":"Not Found"}' },
    });
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(seen).toHaveLength(1);
    const result = bot.seen(one).comments.find(({ body }) => body.includes("✅ succeeded"));
    expect(result?.edited).toBe(false);
  });
});
