import { describe, expect, test } from "@jest/globals";
import { StoredValueUnreadable, StoreUnavailable } from "../../../src/core/model/errors.js";
import { wrapPort } from "../../../src/observe/wrap-port.js";
import { createMemoryStores } from "../../../src/store/memory/memory-stores.js";
import { freePort } from "../../redis-server.js";
import { HOSTS, startBot } from "../../scenarios/bot.js";
import { changeOf } from "../../scenarios/resources.js";
import { scrape, valueOf } from "./scrape.js";

let port: number;

async function withMetrics() {
  port = await freePort();
  return { server: { metrics_port: port } };
}

describe.each(HOSTS)("metrics on %s", (host) => {
  test("a conversation is counted: events, commands, phases of plans, renders, locks, calls to the host", async () => {
    const bot = await startBot({ host, config: await withMetrics() });
    const one = await bot.open(changeOf(["web"]));
    await bot.open(changeOf(["web"], "3"));
    const planned = await scrape(port);
    expect(valueOf(planned, "svc_locks_held")).toBe(1);
    expect(valueOf(planned, "svc_queue_depth")).toBe(0);
    expect(valueOf(planned, "svc_queue_oldest_event_age_seconds")).toBe(0);
    expect(valueOf(planned, "svc_events_total", { host, kind: "updated", outcome: "done" })).toBe(2);
    expect(valueOf(planned, "svc_command_duration_seconds_count", { command: "plan", outcome: "done" })).toBe(2);
    for (const phase of ["fetch", "detect", "render", "diff", "comment"]) {
      expect(valueOf(planned, "svc_plan_phase_duration_seconds_count", { phase })).toBe(2);
    }
    const whole = valueOf(planned, "svc_command_duration_seconds_sum", { command: "plan" });
    expect(valueOf(planned, "svc_plan_phase_duration_seconds_sum")).toBeCloseTo(whole, 6);
    expect(valueOf(planned, "svc_plan_phase_duration_seconds_sum", { phase: "render" })).toBeGreaterThan(0);
    expect(valueOf(planned, "svc_renders_total", { mode: "in-place" })).toBe(
      bot.argocd.requests.filter(({ path }) => path.includes("/manifests")).length,
    );
    expect(valueOf(planned, "svc_host_requests_total", { host, outcome: "ok" })).toBeGreaterThan(5);

    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    await bot.comment(one, "svc rollback -a nothing");
    await bot.comment(one, "what a nice day");
    const after = await scrape(port);
    // The other one waited for it, and has its turn.
    expect(valueOf(after, "svc_locks_held")).toBe(1);
    expect(valueOf(after, "svc_events_total", { host, kind: "turn", outcome: "done" })).toBe(1);
    expect(valueOf(after, "svc_command_duration_seconds_count", { command: "sync", outcome: "done" })).toBe(1);
    expect(valueOf(after, "svc_command_duration_seconds_count", { command: "rollback", outcome: "refused" })).toBe(1);
    expect(valueOf(after, "svc_plan_phase_duration_seconds_count", { phase: "fetch" })).toBe(3);
  });

  test("a delivery that comes twice, and a sync that fails, are told apart from the others", async () => {
    const bot = await startBot({ host, config: await withMetrics() });
    const one = await bot.open(changeOf(["web"]));
    await bot.forge.redeliver(bot.forge.deliveries.at(-1)?.id ?? "");
    await bot.idle();
    bot.argocd.failNextSync("web", { phase: "Failed", message: "no room" });
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    const scraped = await scrape(port);
    expect(valueOf(scraped, "svc_events_total", { host, outcome: "duplicate" })).toBe(1);
    expect(valueOf(scraped, "svc_command_duration_seconds_count", { command: "sync", outcome: "incomplete" })).toBe(1);
  });

  test("what a plan waits for once it is complete is no part of its diffs", async () => {
    const config = { ...(await withMetrics()), deployer: { server_dry_run: "auto" } };
    const bot = await startBot({ host, applications: ["web"], config });
    // The plan is posted meanwhile, and saved once more with the answers.
    bot.argocd.faults.add({ path: /ServerSideDiff/, fault: { kind: "latency", ms: 1000 } });
    await bot.open(changeOf(["web"]));
    const scraped = await scrape(port);
    expect(valueOf(scraped, "svc_plan_phase_duration_seconds_sum", { phase: "comment" })).toBeGreaterThan(1);
    expect(valueOf(scraped, "svc_plan_phase_duration_seconds_sum", { phase: "diff" })).toBeLessThan(1);
  });

  test("a render that fails is counted with its reason", async () => {
    const bot = await startBot({ host, config: await withMetrics() });
    bot.argocd.faults.add({ path: /\/manifests/, fault: { kind: "status", status: 403 } });
    await bot.open(changeOf(["web"]));
    const scraped = await scrape(port);
    expect(valueOf(scraped, "svc_render_errors_total", { mode: "in-place", reason: "forbidden" })).toBeGreaterThan(0);
    expect(valueOf(scraped, "svc_render_errors_total")).toBe(valueOf(scraped, "svc_renders_total"));
  });

  test("no application, repository, person or text stands in them", async () => {
    const bot = await startBot({ host, config: await withMetrics(), applications: ["payroll-service"] });
    const one = await bot.open(changeOf(["payroll-service"]));
    await bot.comment(one, "svc sync -a no-such-application");
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    expect(text).toContain("svc_command_duration_seconds");
    expect(text).not.toMatch(/payroll|no-such|acme|deploy\b|ana\b/);
  });
});

test("while the store is away its errors are counted, and what it alone knows is left out", async () => {
  const away = { now: false };
  const bot = await startBot({
    host: "hosta",
    config: await withMetrics(),
    stores: (clock) => {
      const stores = createMemoryStores(clock);
      const locks = wrapPort(stores.locks, (method, run) =>
        away.now && method === "list" ? Promise.reject(new StoreUnavailable("failed to connect to Redis")) : run(),
      );
      return { ...stores, locks };
    },
  });
  await bot.open(changeOf(["web"]));
  expect((await scrape(port)).get("svc_locks_held")?.samples).toMatchObject([{ value: 1 }]);
  away.now = true;
  const scraped = await scrape(port);
  expect(scraped.get("svc_locks_held")?.samples).toEqual([]);
  const errors = valueOf(await scrape(port), "svc_store_errors_total", { store: "locks", kind: "unavailable" });
  expect(errors).toBeGreaterThan(0);
  away.now = false;
  expect(valueOf(await scrape(port), "svc_locks_held")).toBe(1);
});

test.each(["holds", "rollouts"] as const)("what cannot be read of the %s is counted", async (store) => {
  const bot = await startBot({
    host: "hosta",
    config: await withMetrics(),
    stores: (clock) => {
      const stores = createMemoryStores(clock);
      const unreadable = () => Promise.reject(new StoredValueUnreadable("a damaged value"));
      return { ...stores, [store]: wrapPort(stores[store], unreadable) };
    },
  });
  await bot.open(changeOf(["web"]));
  await bot.service.follow();
  const scraped = await scrape(port);
  expect(valueOf(scraped, "svc_store_errors_total", { store, kind: "unreadable" })).toBeGreaterThan(0);
});

test.each([
  [401, "unauthenticated"],
  [503, "unreachable"],
])("Argo CD that answers every call with %d is counted, although nothing is rendered then", async (status, reason) => {
  const bot = await startBot({ host: "hosta", config: await withMetrics() });
  bot.argocd.faults.add({ path: /\/api\/v1\//, fault: { kind: "status", status } });
  await bot.open(changeOf(["web"]));
  const scraped = await scrape(port);
  expect(valueOf(scraped, "svc_renders_total")).toBe(0);
  expect(valueOf(scraped, "svc_argocd_errors_total", { reason })).toBeGreaterThan(0);
});

test("Argo CD that is away is counted each minute, although nobody pushes and no receiver wants to know", async () => {
  const bot = await startBot({ host: "hosta", config: await withMetrics() });
  bot.argocd.faults.add({ path: /\/api\//, fault: { kind: "status", status: 503 } });
  for (let minute = 0; minute < 10; minute += 1) await bot.service.watch();
  // What svc does at its start may fail as well.
  expect(valueOf(await scrape(port), "svc_argocd_errors_total", { reason: "unreachable" })).toBeGreaterThanOrEqual(10);
});

test("two services in one process have numbers of their own", async () => {
  const config = await withMetrics();
  const [first, second] = [port, await freePort()];
  const one = await startBot({ host: "hosta", config });
  await startBot({ host: "hosta", config: { server: { metrics_port: second } } });
  await one.open(changeOf(["web"]));
  expect(valueOf(await scrape(first), "svc_events_total", { kind: "updated" })).toBe(1);
  expect(valueOf(await scrape(second), "svc_events_total")).toBe(0);
  expect(valueOf(await scrape(second), "svc_locks_held")).toBe(0);
});

test("the port serves /metrics and nothing else, and is closed with the service; the service's own port has none", async () => {
  const bot = await startBot({ host: "hostb", config: await withMetrics() });
  const at = (path: string, method = "GET") => fetch(`http://127.0.0.1:${port}${path}`, { method });
  const answer = await at("/metrics");
  expect(answer.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
  expect(await answer.text()).toContain("process_cpu_seconds_total");
  expect((await at("/")).status).toBe(404);
  expect((await at("/health")).status).toBe(404);
  expect((await at("//")).status).toBe(404);
  expect((await at("/metrics", "POST")).status).toBe(405);
  expect((await fetch(`${bot.service.url}/metrics`)).status).not.toBe(200);
  await bot.end();
  await expect(at("/metrics")).rejects.toThrow();
});
