import { describe, expect, test } from "@jest/globals";
import { StoreUnavailable } from "../../src/core/model/errors.js";
import type { AuditRecord } from "../../src/core/ports/audit.js";
import { createMemoryStores } from "../../src/store/memory/memory-stores.js";
import { HOSTS, REPOSITORY, startBot, type Bot } from "./bot.js";
import { changeOf } from "./resources.js";
import { ServiceLog } from "./service-log.js";

async function trail(bot: Bot): Promise<readonly AuditRecord[]> {
  return [...(await bot.stores.audit.list({ limit: 100 }))].reverse();
}

/** One line per entry: who, action, applications with their outcome, reason. */
async function story(bot: Bot): Promise<readonly string[]> {
  return (await trail(bot)).map(({ who, action, applications, reason }) => {
    const name = typeof who === "object" ? who.login : who;
    const what = applications.map(({ application, outcome }) => `${application}=${outcome}`);
    return [name, action, ...what, ...(reason === undefined ? [] : [`(${reason})`])].join(" ");
  });
}

describe.each(HOSTS)("the audit trail on %s", (host) => {
  test("who asked what and what was done: plan, sync, merge", async () => {
    const bot = await startBot({ host, config: { defaults: { auto_merge: true } } });
    const one = await bot.open(changeOf(["web"]));
    const head = bot.seen(one).headRevision;
    await bot.comment(one, "svc plan", "bo");
    bot.expectChanges("dry-run web", "sync web");
    await bot.comment(one, "svc sync --dry-run");
    await bot.comment(one, "svc sync");
    expect(await story(bot)).toEqual([
      "svc planned web=changed",
      "bo planned web=changed",
      "ana synced web=succeeded (dry run)",
      "ana synced web=succeeded",
      "ana merged (squash)",
    ]);
    const entries = await trail(bot);
    for (const entry of entries) expect(entry).toMatchObject({ change: bot.ref(one), head });
    expect(entries[3]).toMatchObject({
      command: "sync",
      who: { host, login: "ana", id: expect.stringMatching(/^\d+$/) },
      delivery: expect.stringContaining(`${host}-`),
    });
    expect(new Set(entries.map(({ runId }) => runId)).size).toBe(4);
    // A merge takes a moment.
    expect(entries.map(({ seconds }) => typeof seconds)).toEqual(["number", "number", "number", "number", "undefined"]);
  });

  test("what was refused and why; of people without access, what was answered", async () => {
    const bot = await startBot({ host, config: { defaults: { require_approval: true } } });
    const one = await bot.open(changeOf(["web"]));
    await bot.comment(one, "svc sync");
    await bot.comment(one, "svc unlock", "olga");
    await bot.comment(one, "svc unlock", "olga");
    await bot.comment(one, "svc plan -a words-of-the-comment");
    await bot.comment(one, "svc make it so");
    await bot.comment(one, "svc help");
    expect((await story(bot)).slice(1)).toEqual([
      "ana refused web=refused (not-approved)",
      "olga refused (no-write-access)",
      "ana refused (unknown-applications)",
    ]);
    expect(JSON.stringify(await trail(bot))).not.toMatch(/words|make it so/);
  });

  test("failed, rolled back, unlocked, closed", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["api", "web"]));
    bot.argocd.failNextSync("web", { phase: "Failed", message: "the cluster said no" });
    bot.expectChanges("sync api", "sync web");
    await bot.comment(one, "svc sync");
    await bot.comment(one, "svc rollback -a api");
    await bot.comment(one, "svc plan");
    await bot.comment(one, "svc unlock -a api");
    const remove = bot.forge.faults.add({ path: /collaborators|\/members\//, fault: { kind: "status", status: 403 } });
    await bot.comment(one, "svc sync");
    remove();
    await bot.close(one);
    expect((await story(bot)).slice(1)).toEqual([
      "ana synced api=succeeded web=failed",
      "ana rolled-back api=succeeded",
      "ana planned api=changed web=changed",
      "ana unlocked api=released",
      expect.stringMatching(/^ana failed \(.*403/),
      "svc closed web=released web=still deployed (closed without a merge)",
    ]);
  });

  test("closed once, whatever commands follow, and again where one of them took a lock", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    bot.expectChanges("sync web", "dry-run web");
    await bot.comment(one, "svc sync");
    await bot.close(one);
    await bot.comment(one, "svc unlock");
    await bot.comment(one, "svc rollback --dry-run");
    bot.argocd.failNextSync("web", { phase: "Failed", message: "the cluster said no" });
    await bot.comment(one, "svc rollback");
    expect((await story(bot)).slice(2)).toEqual([
      "svc closed web=still deployed (closed without a merge)",
      "ana unlocked",
      "ana rolled-back web=succeeded (dry run)",
      "svc closed web=released web=still deployed (closed without a merge)",
      "ana rolled-back web=failed",
    ]);
  });

  test("one structured log line per entry, with the run that stands in Argo CD's operation", async () => {
    const log = new ServiceLog();
    const bot = await startBot({ host, log: log.write });
    const one = await bot.open(changeOf(["web"]));
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync\nprivate words below");
    const entries = await trail(bot);
    expect(log.of("audit").map((line) => line.audit)).toEqual(
      entries.map((entry) => JSON.parse(JSON.stringify({ ...entry, id: undefined })) as unknown),
    );
    expect(log.of("audit").map(({ level }) => level)).toEqual([30, 30]);
    expect(JSON.stringify(log.of("audit"))).not.toContain("private words");
    const operation = JSON.stringify(bot.argocd.requests.filter(({ path }) => path.endsWith("/web/sync")));
    expect(operation).toContain(entries.at(-1)?.runId);
  });

  test("a trail that cannot be written never fails the work; the log has the entry at level error", async () => {
    const log = new ServiceLog();
    const away = () => Promise.reject(new StoreUnavailable("the store is away"));
    const bot = await startBot({
      host,
      log: log.write,
      stores: (clock) => ({ ...createMemoryStores(clock), audit: { record: away, list: away } }),
    });
    const one = await bot.open(changeOf(["web"]));
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.liveValue("web")).toBe("2");
    expect(bot.lastComment(one)).toContain("✅ succeeded");
    expect(log.of("could not write the audit trail").map(({ level, audit }) => ({ level, audit }))).toEqual([
      { level: 50, audit: expect.objectContaining({ action: "planned" }) },
      { level: 50, audit: expect.objectContaining({ action: "synced", command: "sync" }) },
    ]);
  });

  test("a merge that the host refuses is on record with its reason", async () => {
    const bot = await startBot({ host, config: { defaults: { auto_merge: true } } });
    const one = await bot.open(changeOf(["web"]));
    bot.meanwhile("forge", { method: "PUT", path: /\/merge$/ }, async () => {
      await bot.forge.pushSilently(REPOSITORY, one, changeOf(["web"], "3"));
    });
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect((await story(bot)).at(-1)).toMatch(/^ana refused \(merge: /);
    expect(bot.seen(one).state).toBe("open");
  });
});
