import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "@jest/globals";
import express from "express";
import { applicationName } from "../../../src/core/model/brand.js";
import { SESSION_COOKIE } from "../../../src/names.js";
import { publishProgress } from "../../../src/run/line/run.js";
import { MemoryLiveFeed } from "../../../src/store/memory/memory-stores.js";
import { LiveStreams, type LiveStreamsOptions } from "../../../src/web/live-streams.js";
import { LiveReader } from "../live-reader.js";
import { fillStores, MERGE, PULL } from "../sample-stores.js";
import { startSite, type SiteUnderTest } from "../site-under-test.js";

const WEB = applicationName("web");
const RUNNING = { kind: "running", done: 1, total: 4, message: "applying <b>web</b>" } as const;

let server: Server | undefined;
let site: SiteUnderTest | undefined;
const readers: LiveReader[] = [];

afterEach(async () => {
  for (const reader of readers.splice(0)) reader.leave();
  server?.closeAllConnections();
  server?.close();
  server = undefined;
  await site?.stop();
  site = undefined;
});

async function open(url: string, headers: Readonly<Record<string, string>> = {}): Promise<LiveReader> {
  const reader = await LiveReader.open(url, headers);
  readers.push(reader);
  return reader;
}

async function serve(feed: MemoryLiveFeed, options: LiveStreamsOptions = {}): Promise<[string, LiveStreams]> {
  const streams = new LiveStreams(feed, { paceMs: 1, ...options });
  const app = express().get("/:listener", (request, response) => {
    const opened = streams.open(PULL, response, { listener: request.params.listener, withMessages: true });
    if (!opened) response.status(503).end();
  });
  const listening = createServer(app);
  server = listening;
  await new Promise<void>((resolve) => listening.listen(0, "127.0.0.1", resolve));
  return [`http://127.0.0.1:${(listening.address() as AddressInfo).port}`, streams];
}

const begin = (feed: MemoryLiveFeed, change = PULL) =>
  publishProgress({ change, runId: "run-1", command: "sync", startedAt: new Date(0) }, feed);

describe("the streams", () => {
  test("report a run from its current state to its end, to readers of its change request", async () => {
    const feed = new MemoryLiveFeed();
    const [url] = await serve(feed);
    const run = begin(feed);
    run.report(WEB, RUNNING);
    begin(feed, MERGE).report(applicationName("other"), RUNNING);
    const reader = await open(`${url}/ana`);
    expect(await reader.until('"done":1')).toContain('"ended":false');
    run.report(WEB, { kind: "ended", outcome: "succeeded" });
    run.end();
    const text = await reader.until('"ended":true');
    expect(text).toContain('"state":"succeeded"');
    expect(text).not.toContain("other");
  });

  test("report nothing to a reader who comes after the end", async () => {
    const feed = new MemoryLiveFeed();
    const [url] = await serve(feed, { heartbeatMs: 5 });
    begin(feed).end();
    const reader = await open(`${url}/ana`);
    expect(await reader.until("still here")).not.toContain("run-1");
  });

  test("are limited per person and in total, and free their place", async () => {
    const [url] = await serve(new MemoryLiveFeed(), { most: 3, mostEach: 2, lifetimeMs: 60_000 });
    const status = async (listener: string) => (await open(`${url}/${listener}`)).response.status;
    expect([await status("ana"), await status("ana"), await status("ana")]).toEqual([200, 200, 503]);
    expect([await status("bo"), await status("olga")]).toEqual([200, 503]);
    readers[0]?.leave();
    let last = 503;
    while (last === 503) last = await status("olga");
    expect(last).toBe(200);
  });

  test("end after their lifetime, and when the service shuts down", async () => {
    const [url, streams] = await serve(new MemoryLiveFeed(), { lifetimeMs: 10 });
    expect(await (await open(`${url}/ana`)).until("never")).toContain("retry: 3000");
    const second = await open(`${url}/bo`);
    streams.close();
    expect(await second.until("never")).toContain("retry: 3000");
  });
});

describe("the address", () => {
  const path = "/changes/github/acme/deploy/7/live";

  test("requires a login and a change request", async () => {
    site = await startSite();
    expect((await site.stranger().ask(path)).status).toBe(401);
    const visitor = await site.visitor("ana");
    expect((await visitor.ask("/changes/hostc/acme/deploy/7/live")).status).toBe(404);
  });

  test("without a login counts a network of IPv6 as one address, which leaves room for others", async () => {
    site = await startSite({ auth: false, trustProxy: true });
    const status = async (address: string) =>
      (await open(`${site?.url}${path}`, { "x-forwarded-for": address })).response.status;
    for (let place = 1; place <= 20; place += 1) expect(await status(`2001:db8::${place}`)).toBe(200);
    expect([await status("2001:db8::21"), await status("2001:db8:1::1"), await status("192.0.2.1")]).toEqual([
      503, 200, 200,
    ]);
  });

  test.each([
    [true, true],
    [false, false],
  ])("with authentication %s, Argo CD's messages are shown: %s", async (auth, shown) => {
    site = await startSite({ auth });
    await fillStores(site.stores, site.clock);
    const cookie = auth ? (await site.visitor("ana")).cookie(SESSION_COOKIE)?.value : undefined;
    begin(site.live).report(WEB, RUNNING);
    const reader = await open(
      `${site.url}${path}`,
      cookie === undefined ? {} : { cookie: `${SESSION_COOKIE}=${cookie}` },
    );
    expect(reader.response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    expect(reader.response.headers.get("cache-control")).toBe("no-store");
    expect((await reader.until('"done":1')).includes("applying")).toBe(shown);
  });
});
