import { afterEach, beforeEach, expect, jest, test } from "@jest/globals";
import express from "express";
import { listenNear } from "../../demo/listen-near.js";
import { LiveFeed } from "../../demo/live-feed.js";

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ["nextTick", "queueMicrotask", "setImmediate"] });
});
afterEach(() => {
  jest.useRealTimers();
});

test("the demo reads its state when something happens, once for a burst, and never while nothing happens", async () => {
  const reads: string[] = [];
  let pages = "one";
  const feed = new LiveFeed(async () => {
    reads.push(pages);
    return { phase: "ready", pages, hosts: [] };
  });
  feed.wake();
  expect(jest.getTimerCount()).toBe(0);

  const app = express();
  app.get("/", (_request, response) => feed.add(response));
  const server = await listenNear(app, 0);
  const stream = (await fetch(server.url)).body?.getReader();
  const next = async () => new TextDecoder().decode((await stream?.read())?.value as Uint8Array);
  await jest.advanceTimersByTimeAsync(150);
  expect(await next()).toContain('"pages":"one"');
  expect([reads, jest.getTimerCount()]).toEqual([["one"], 0]);

  for (let times = 0; times < 10; times += 1) feed.wake();
  await jest.advanceTimersByTimeAsync(150);
  expect([reads, jest.getTimerCount()]).toEqual([["one", "one"], 0]);

  pages = "two";
  feed.wake();
  await jest.advanceTimersByTimeAsync(150);
  expect(await next()).toContain('"pages":"two"');
  feed.stop();
  await server.stop();
});
