import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "@jest/globals";
import { Router } from "express";
import { applicationName, repositoryName, revision } from "../../src/core/brand.js";
import { StoreUnavailable } from "../../src/core/errors.js";
import type { LockStore } from "../../src/core/ports.js";
import { createMemoryStores } from "../../src/store/memory/memory-stores.js";
import { pagesRouter } from "../../src/web/pages.js";
import { createWebServer } from "../../src/web/server.js";
import { JumpClock } from "../jump-clock.js";
import { recordingLog } from "../recording-log.js";

let server: Server | undefined;

afterEach(async () => {
  const running = server;
  server = undefined;
  if (running !== undefined) await new Promise((resolve) => running.close(resolve));
});

async function serve(locks: LockStore, clock: JumpClock, extra: Router = Router()): Promise<string> {
  const pages = Router().use(extra, pagesRouter({ locks, clock }));
  const parts = { webhooks: [], pages, ping: () => locks.ping(), trustProxy: false, log: recordingLog() };
  const listening = createServer(createWebServer(parts));
  server = listening;
  await new Promise<void>((resolve) => listening.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(listening.address() as AddressInfo).port}`;
}

describe("the page of the locks", () => {
  test("says what to do while nothing is locked", async () => {
    const clock = new JumpClock();
    const answer = await fetch(await serve(createMemoryStores(clock).locks, clock));
    expect(answer.status).toBe(200);
    expect(await answer.text()).toContain("No application is locked.");
  });

  test.each([
    [30 * 60_000, "30 min"],
    [5 * 3_600_000, "5 h"],
    [3 * 24 * 3_600_000, "3 days"],
  ])("shows who holds which lock; after %i ms it is %s old", async (ms, age) => {
    const clock = new JumpClock();
    const { locks } = createMemoryStores(clock);
    const request = {
      application: applicationName("web"),
      holder: { host: "hostb", repository: repositoryName("acme/deploy"), number: 7 } as const,
      user: '<script>alert("ana")</script>',
      planRevision: revision("c0ffee00".repeat(5)),
      sourceFile: undefined,
    };
    await locks.acquire(request, clock.now());
    clock.advance(ms);
    const page = await (await fetch(await serve(locks, clock))).text();
    for (const text of ["web", "acme/deploy!7", "GitLab", "c0ffee00", age]) expect(page).toContain(text);
    expect(page).not.toContain("<script>alert");
  });

  test("is guarded by headers and is not kept by browsers", async () => {
    const clock = new JumpClock();
    const url = await serve(createMemoryStores(clock).locks, clock);
    const { headers } = await fetch(url);
    expect(headers.get("content-security-policy")).toContain("script-src 'self'");
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("x-powered-by")).toBeNull();
    const style = await fetch(`${url}/style.css`);
    expect([style.status, style.headers.get("content-type")]).toEqual([200, "text/css; charset=utf-8"]);
  });

  test("says that the store is away", async () => {
    const clock = new JumpClock();
    const away = () => Promise.reject(new StoreUnavailable("failed to connect to Redis: connection refused"));
    const locks = { ...createMemoryStores(clock).locks, list: away, ping: away } as LockStore;
    const url = await serve(locks, clock);
    const answer = await fetch(url);
    expect(answer.status).toBe(503);
    expect(await answer.text()).toContain("failed to connect to Redis: connection refused");
    expect((await fetch(`${url}/ready`)).status).toBe(503);
  });
});

test("an address without a page, and a page that breaks, answer JSON without details", async () => {
  const clock = new JumpClock();
  const broken = Router().get("/broken", () => {
    throw new Error("secret details");
  });
  const url = await serve(createMemoryStores(clock).locks, clock, broken);
  const missing = await fetch(`${url}/nothing`);
  expect([missing.status, await missing.json()]).toEqual([404, { error: "there is nothing at this address" }]);
  const failed = await fetch(`${url}/broken`);
  expect(failed.status).toBe(500);
  expect(await failed.text()).not.toContain("secret");
});
