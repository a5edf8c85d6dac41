import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { COMMAND_NAMES } from "../../src/core/commands/commands.js";
import { applicationName, repositoryName, revision } from "../../src/core/model/brand.js";
import type { ChangeRequestRef } from "../../src/core/model/change-request.js";
import {
  AUDIT_ACTIONS,
  AUDIT_CAPACITY,
  type AuditEntry,
  type AuditFilter,
  type AuditLog,
} from "../../src/core/ports/audit.js";
import type { StoresUnderTest } from "./stores-under-test.js";

const change: ChangeRequestRef = { host: "hosta", repository: repositoryName("acme/deploy"), number: 7 };
const web = applicationName("web");

const synced: AuditEntry = {
  at: "2026-03-02T10:00:00.000Z",
  runId: "run-1",
  delivery: "hosta-1",
  who: { host: "hosta", id: "11", login: "Ana" },
  change,
  head: revision("a".repeat(40)),
  action: "synced",
  command: "sync",
  applications: [{ application: web, outcome: "failed", detail: 'a "quoted" ü\n', message: "no <room>" }],
  reason: "dry run",
};
const planned: AuditEntry = { ...synced, runId: "run-2", who: "svc", action: "planned", command: "plan" };
const failed: AuditEntry = {
  ...synced,
  runId: "run-3",
  change: { ...change, number: 8 },
  head: undefined,
  action: "failed",
  command: undefined,
  applications: [],
  reason: undefined,
};

const unlocked: AuditEntry = {
  ...synced,
  runId: "run-4",
  delivery: "",
  who: { host: "oidc", id: "oidc:https://sso.example.com|11", login: "olga" },
  action: "force-unlocked",
  command: undefined,
};

/** What every `AuditLog` must do. */
export function auditLogContract(name: string, start: () => Promise<StoresUnderTest>): void {
  describe(`audit log: ${name}`, () => {
    let under: StoresUnderTest;
    let audit: AuditLog;
    beforeAll(async () => {
      under = await start();
    });
    afterAll(() => under.stop());
    beforeEach(async () => {
      await under.clear();
      audit = under.stores.audit;
    });

    const runs = async (query: Parameters<AuditLog["list"]>[0]) => (await audit.list(query)).map(({ runId }) => runId);

    test("keeps an entry that concerns no change request, and finds it for none", async () => {
      const held = { ...unlocked, change: undefined, head: undefined, action: "held" } as const;
      await audit.record(held);
      expect(await audit.list({ limit: 10 })).toEqual([{ ...held, id: expect.any(String) }]);
      expect(await audit.list({ limit: 10, filter: { change } })).toEqual([]);
    });

    test("entries come back as they were written, the newest first", async () => {
      for (const entry of [synced, planned, failed, unlocked]) await audit.record(entry);
      const records = await audit.list({ limit: 10 });
      const newestFirst = [unlocked, failed, planned, synced];
      await audit.record({ ...synced, seconds: 12 });
      const [timed] = await audit.list({ limit: 1 });
      expect(timed).toMatchObject({ runId: "run-1", seconds: 12 });
      expect(records).toEqual(newestFirst.map((entry) => ({ ...entry, id: expect.any(String) })));
      expect(new Set(records.map(({ id }) => id)).size).toBe(4);
    });

    test("entries of every command and of every action come back", async () => {
      const entries = [
        ...COMMAND_NAMES.map((command) => ({ ...synced, command })),
        ...AUDIT_ACTIONS.map((action) => ({ ...synced, action })),
      ];
      for (const entry of entries) await audit.record(entry);
      const found = await audit.list({ limit: entries.length });
      expect(found.map(({ command, action }) => ({ command, action }))).toEqual(
        entries.map(({ command, action }) => ({ command, action })).reverse(),
      );
    });

    test("nothing was recorded yet", async () => {
      expect(await audit.list({ limit: 10 })).toEqual([]);
    });

    test("page after page, none twice and none left out, while new ones come", async () => {
      for (let index = 1; index <= 5; index += 1) await audit.record({ ...synced, runId: `run-${index}` });
      const first = await audit.list({ limit: 2 });
      await audit.record({ ...synced, runId: "later" });
      const second = await audit.list({ limit: 2, before: first.at(-1)?.id ?? "" });
      const third = await audit.list({ limit: 2, before: second.at(-1)?.id ?? "" });
      expect([first, second, third].map((page) => page.map(({ runId }) => runId))).toEqual([
        ["run-5", "run-4"],
        ["run-3", "run-2"],
        ["run-1"],
      ]);
    });

    test.each<[string, AuditFilter, readonly string[]]>([
      ["a change request", { change }, ["run-2", "run-1"]],
      ["another host's of the same name", { change: { ...change, host: "hostb" } }, []],
      ["an application", { application: "web" }, ["run-2", "run-1"]],
      ["a login in any case", { login: "aNA" }, ["run-3", "run-1"]],
      ["an action", { action: "planned" }, ["run-2"]],
      ["any of several actions", { action: ["planned", "synced"] }, ["run-2", "run-1"]],
      ["several at once", { login: "ana", action: "synced", application: "web", change }, ["run-1"]],
    ])("looked for by %s", async (_by, filter, expected) => {
      for (const entry of [synced, planned, failed]) await audit.record(entry);
      expect(await runs({ limit: 10, filter })).toEqual(expected);
    });

    test("the limit counts what is found, however much lies between", async () => {
      await audit.record(planned);
      await Promise.all(Array.from({ length: 1200 }, () => audit.record(synced)));
      await audit.record({ ...planned, runId: "newest" });
      expect(await runs({ limit: 2, filter: { action: "planned" } })).toEqual(["newest", "run-2"]);
      expect(await runs({ limit: 1, filter: { action: "planned" } })).toEqual(["newest"]);
    });

    test("the oldest go when it is full", async () => {
      await audit.record({ ...synced, runId: "oldest" });
      for (let written = 0; written < AUDIT_CAPACITY + 500; written += 500) {
        await Promise.all(Array.from({ length: 500 }, () => audit.record(planned)));
      }
      const all = await runs({ limit: 2 * AUDIT_CAPACITY });
      expect(all.length).toBeGreaterThanOrEqual(AUDIT_CAPACITY);
      expect(all.length).toBeLessThan(AUDIT_CAPACITY + 500);
      expect(all).not.toContain("oldest");
    });

    test("it does not expire", async () => {
      await audit.record(synced);
      await under.expire();
      expect(await runs({ limit: 1 })).toEqual(["run-1"]);
    });
  });
}
