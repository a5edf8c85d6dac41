import type { RequestListener } from "node:http";
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, test } from "@jest/globals";
import {
  type Answer,
  type AnswerLimits,
  AnswerTimedOut,
  AnswerTooLarge,
  createDispatcher,
  fetchText,
  requestBytes,
} from "../../src/http/fetch-text.js";
import { localServer, type LocalServer } from "../local-server.js";

const MEBIBYTE = 1024 * 1024;
/** Takes some tenths of a second to decompress, and is just larger on the wire than one read of 64 KiB. */
const PACKED = gzipSync(Buffer.alloc(65 * MEBIBYTE, 32));
const GENEROUS = { timeoutMs: 60_000, maxBytes: 66 * MEBIBYTE };

let server: LocalServer | undefined;
afterEach(() => server?.stop());

async function serve(answer: RequestListener): Promise<string> {
  server = await localServer(answer);
  return server.url;
}

const packed: RequestListener = (_request, response) => {
  response.setHeader("content-encoding", "gzip").end(PACKED);
};

const CONNECTIONS = { insecure: false, connectTimeout: 20_000, headersTimeout: 0, bodyTimeout: 0 };

async function direct(url: string, limits: AnswerLimits): Promise<Answer> {
  const connections = createDispatcher(CONNECTIONS);
  const request = {
    url: new URL(url),
    method: "GET",
    headers: { "accept-encoding": "gzip" },
    body: undefined,
  } as const;
  try {
    const { bytes, headers, ...answer } = await requestBytes(connections, request, limits);
    return { ...answer, headers, text: bytes.toString() };
  } finally {
    await connections.destroy();
  }
}

describe.each([
  ["fetch", (url: string, limits: AnswerLimits) => fetchText(url, {}, limits)],
  ["connections of our own", direct],
])("by %s", (_name, read) => {
  test("an answer is read to its end, whatever its packing", async () => {
    const url = await serve(packed);
    const { status, headers, text } = await read(url, GENEROUS);
    expect({ status, encoding: headers.get("content-encoding"), length: text.length }).toEqual({
      status: 200,
      encoding: "gzip",
      length: 65 * MEBIBYTE,
    });
  });

  test("a letter that is cut by two chunks stays whole", async () => {
    const bytes = Buffer.from("ü");
    const url = await serve((_request, response) => {
      response.write(bytes.subarray(0, 1), () => response.end(bytes.subarray(1)));
    });
    expect((await read(url, GENEROUS)).text).toBe("ü");
  });

  test("a header with letters beyond ASCII does no harm", async () => {
    const bytes = Buffer.from("ü ✓").toString("latin1");
    // Node.js would send the head in the encoding of a text that follows it.
    const url = await serve((_request, response) => void response.setHeader("x-note", bytes).end(Buffer.from("read")));
    const { headers, text } = await read(url, GENEROUS);
    expect({ note: headers.get("x-note"), text }).toEqual({ note: bytes, text: "read" });
  });

  describe("an abort ends the call with its reason", () => {
    test("before anything was sent", async () => {
      const url = await serve((_request, response) => response.end());
      await expect(read(url, { ...GENEROUS, signal: AbortSignal.abort("pushed") })).rejects.toBe("pushed");
      expect(server?.requests).toEqual([]);
    });

    test("while the answer is awaited", async () => {
      const stop = new AbortController();
      const url = await serve(() => stop.abort("pushed"));
      await expect(read(url, { ...GENEROUS, signal: stop.signal })).rejects.toBe("pushed");
    });
  });

  test("the deadline ends a call whose answer came and is being unpacked, where Node's own fetch never ends (nodejs/undici#4089)", async () => {
    const url = await serve(packed);
    await expect(read(url, { ...GENEROUS, timeoutMs: 50 })).rejects.toThrow(AnswerTimedOut);
  });

  test("the deadline holds for the body too", async () => {
    const url = await serve((_request, response) => void response.write("half"));
    await expect(read(url, { ...GENEROUS, timeoutMs: 50 })).rejects.toThrow(AnswerTimedOut);
  });

  test("an answer is measured unpacked", async () => {
    const url = await serve(packed);
    await expect(read(url, { ...GENEROUS, maxBytes: 1000 })).rejects.toThrow(AnswerTooLarge);
  });
});

test.each([
  ["cut", PACKED.subarray(0, -100)],
  ["not gzip", Buffer.from("{}")],
])("what cannot be unpacked to its end is no answer: %s", async (_name, bytes) => {
  const url = await serve((_request, response) => response.setHeader("content-encoding", "gzip").end(bytes));
  await expect(direct(url, GENEROUS)).rejects.toMatchObject({ code: expect.stringMatching(/^Z_/) });
});

test("an answer without a body is not unpacked", async () => {
  const url = await serve((_request, response) => response.writeHead(404, { "content-encoding": "gzip" }).end());
  expect(await direct(url, GENEROUS)).toMatchObject({ status: 404, text: "" });
});

test("an answer that ends too early is no answer", async () => {
  const url = await serve((_request, response) => {
    response.setHeader("content-length", 100).write("half", () => response.destroy());
  });
  await expect(direct(url, GENEROUS)).rejects.toMatchObject({ code: "UND_ERR_SOCKET" });
});

test("connections of our own follow no redirect", async () => {
  const url = await serve((_request, response) => response.writeHead(302, { location: "/there" }).end());
  expect((await direct(url, GENEROUS)).status).toBe(302);
  expect(server?.requests).toHaveLength(1);
});
