import { afterEach, expect, test } from "@jest/globals";
import { GITHUB } from "../../src/hosts/github/words.js";
import { createHostFetch } from "../../src/hosts/host-fetch.js";
import { localServer, type LocalServer } from "../local-server.js";
import { skippingClock } from "./skipping-clock.js";

let server: LocalServer | undefined;
afterEach(() => server?.stop());

function fetchOf(origin: string) {
  return createHostFetch({
    words: GITHUB,
    origin,
    clock: skippingClock(),
    requestTimeoutMs: 1000,
    isRead: () => false,
    followsOwnRedirects: true,
    waits: () => ({ extend: () => undefined, end: () => undefined }),
  });
}

test.each([
  [200, '{"a":"ä"}', true],
  [404, "not here: ä", false],
  [204, "", true],
])("an answer of status %i gives client libraries its headers and its body", async (status, body, ok) => {
  server = await localServer((_request, response) => {
    const type = status === 404 ? "application/octet-stream" : "application/json";
    response.writeHead(status, { "Content-Type": type, "x-list": ["a", "b"] }).end(body);
  });
  const answer = await fetchOf(server.url)(server.url);
  expect([answer.status, answer.ok, answer.headers.get("x-list")]).toEqual([status, ok, "a, b"]);
  expect(await answer.text()).toBe(body);
  expect(Buffer.from(await answer.arrayBuffer()).toString()).toBe(body);
});

test("another origin than the configured one is never asked", async () => {
  const hostFetch = fetchOf("https://api.github.com");
  await expect(hostFetch("http://127.0.0.1:1/next?page=2")).rejects.toMatchObject({
    reason: "failed",
    message: "GitHub pointed to another server, http://127.0.0.1:1; nothing was sent there.",
  });
});
