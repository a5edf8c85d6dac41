import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, jest, test } from "@jest/globals";
import { connectionsOfProcess, fetchText, requestBytes } from "../../../src/http/fetch-text.js";
import { createMetrics } from "../../../src/observe/metrics/metrics.js";
import { countHostRequests, type ObservedHost } from "../../../src/observe/telemetry.js";

const cleanups: (() => void)[] = [];

afterEach(() => {
  for (const cleanup of cleanups.splice(0).reverse()) cleanup();
});

const LIMITS = { timeoutMs: 10_000, maxBytes: 1_000 };

/** A request as svc's clients of the code hosts send it. */
function ask(url: string) {
  const request = { url: new URL(url), method: "GET", headers: { "user-agent": "svc" }, body: undefined };
  return requestBytes(connectionsOfProcess(), request, LIMITS);
}

/** A code host that answers as it is told, and the numbers of a service that uses it. */
async function startHost(
  answer: (response: ServerResponse) => void,
  rateLimitOf: ObservedHost["rateLimitOf"] = () => "api",
) {
  const server: Server = createServer((_request, response) => answer(response)).listen(0, "127.0.0.1");
  cleanups.push(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const metrics = createMetrics();
  const end = countHostRequests([{ id: "hostb", apiUrl: `${url}/gitlab`, rateLimitOf }], metrics);
  cleanups.push(end);
  const requests = async () =>
    (await metrics.hostRequests.get()).values.map(({ labels, value }) => [labels.host, labels.outcome, value]);
  const remaining = async () =>
    (await metrics.rateLimitRemaining.get()).values.map(({ labels, value }) => [labels.host, labels.resource, value]);
  return { url, requests, remaining, end };
}

test.each([
  [200, {}, "ok"],
  [304, {}, "ok"],
  [404, {}, "client_error"],
  [403, {}, "client_error"],
  [403, { "X-RateLimit-Remaining": "0" }, "rate_limited"],
  [403, { "Retry-After": "60" }, "rate_limited"],
  [429, {}, "rate_limited"],
  [502, {}, "server_error"],
])("an answer %s with %j counts as %s", async (status, headers, outcome) => {
  const host = await startHost((response) => response.writeHead(status, headers).end());
  await ask(`${host.url}/api/v4/user`);
  expect(await host.requests()).toEqual([["hostb", outcome, 1]]);
});

test("a request without an answer is counted, and a broken body of an answer is not counted twice", async () => {
  const silent = await startHost((response) => response.destroy());
  await expect(ask(silent.url)).rejects.toThrow();
  expect(await silent.requests()).toEqual([["hostb", "unanswered", 1]]);
  const torn = await startHost((response) => {
    response.writeHead(200, { "content-length": "10" }).write("half", () => response.destroy());
  });
  await expect(ask(torn.url)).rejects.toThrow();
  expect(await torn.requests()).toEqual([["hostb", "ok", 1]]);
});

test("the remaining rate limit is what the latest answer told", async () => {
  let left = 2000;
  const host = await startHost((response) => {
    left -= 1;
    response.writeHead(200, left === 1998 ? {} : { "RateLimit-Remaining": String(left) }).end();
  });
  await ask(host.url);
  await ask(host.url);
  expect(await host.remaining()).toEqual([["hostb", "api", 1999]]);
  await ask(host.url);
  expect(await host.remaining()).toEqual([["hostb", "api", 1997]]);
});

test("the remaining rate limit is told until its window ends: what is left of the next one is not known", async () => {
  const ends = Math.ceil(Date.now() / 1000) + 60;
  const host = await startHost((response) =>
    response.writeHead(200, { "RateLimit-Remaining": "9", "RateLimit-Reset": String(ends) }).end(),
  );
  await ask(host.url);
  expect(await host.remaining()).toEqual([["hostb", "api", 9]]);
  const now = jest.spyOn(Date, "now").mockReturnValue(ends * 1000 + 1);
  cleanups.push(() => now.mockRestore());
  expect(await host.remaining()).toEqual([]);
});

test("the remaining rate limit stands under the name that the host gives it", async () => {
  const host = await startHost(
    (response) => response.writeHead(200, { "X-RateLimit-Remaining": "9", "X-RateLimit-Resource": "search" }).end(),
    (headers) => `limit of ${headers["x-ratelimit-resource"] ?? "nothing"}`,
  );
  await ask(host.url);
  expect(await host.remaining()).toEqual([["hostb", "limit of search", 9]]);
});

test("requests to others are not counted, and none after the end", async () => {
  const host = await startHost((response) => response.end());
  const other = await startHost((response) => response.end());
  await ask(other.url);
  expect(await host.requests()).toEqual([]);
  host.end();
  await ask(host.url);
  expect(await host.requests()).toEqual([]);
});

test("what a login asks counts towards the limit of the person who logs in, and so not here", async () => {
  const host = await startHost((response) => response.writeHead(200, { "RateLimit-Remaining": "3" }).end());
  await ask(host.url);
  const used = await startHost((response) => response.writeHead(429, { "RateLimit-Remaining": "0" }).end());
  await fetchText(used.url, {}, LIMITS);
  expect([await used.requests(), await used.remaining()]).toEqual([[], []]);
  expect([await host.requests(), await host.remaining()]).toEqual([[["hostb", "ok", 1]], [["hostb", "api", 3]]]);
});
