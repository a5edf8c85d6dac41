import type { RequestListener } from "node:http";
import { afterEach, expect, test } from "@jest/globals";
import { AnswerTimedOut, postText } from "../../src/http/fetch-text.js";
import { localServer, type LocalServer } from "../local-server.js";

const servers: LocalServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop();
});

async function serve(answer: RequestListener): Promise<LocalServer> {
  const server = await localServer(answer);
  servers.push(server);
  return server;
}

const now = new Date();
const post = (url: string, timeoutMs = 60_000, signal = new AbortController().signal) =>
  postText({ url, headers: { "content-type": "application/json" }, body: "{}", timeoutMs, signal, now });

test("a redirect is an answer, and nobody is asked behind it", async () => {
  const metadata = await serve((_request, response) => response.end());
  const { url } = await serve((_request, response) => {
    response.writeHead(307, { location: `${metadata.url}/latest/meta-data` }).end();
  });
  expect(await post(url)).toEqual({ status: 307, retryAfterMs: undefined });
  expect(metadata.requests).toEqual([]);
});

test("the head of an answer is enough: a body without end is not read", async () => {
  const ended: Promise<void>[] = [];
  const { url } = await serve((_request, response) => {
    ended.push(new Promise((resolve) => response.on("close", resolve)));
    const more = (): void => {
      if (response.write(Buffer.alloc(64 * 1024, "garbage "))) setImmediate(more);
      else response.once("drain", more);
    };
    response.writeHead(200);
    more();
  });
  expect(await post(url)).toEqual({ status: 200, retryAfterMs: undefined });
  await Promise.all(ended);
});

test("a receiver that asks for a pause gets it", async () => {
  const { url } = await serve((_request, response) => response.writeHead(429, { "retry-after": "7" }).end());
  expect(await post(url)).toEqual({ status: 429, retryAfterMs: 7_000 });
});

test("silence ends at the limit, and at an abort with its reason", async () => {
  const { url } = await serve(() => undefined);
  await expect(post(url, 20)).rejects.toThrow(AnswerTimedOut);
  const stop = new AbortController();
  const waiting = post(url, 60_000, stop.signal);
  stop.abort("closed");
  await expect(waiting).rejects.toBe("closed");
});
