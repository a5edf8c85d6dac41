import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import type { Duplex } from "node:stream";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Dispatcher } from "undici";
import {
  AnswerTimedOut,
  createDispatcher,
  fetchText,
  postText,
  proxied,
  requestBytes,
  useProxies,
} from "../../src/http/fetch-text.js";
import { localServer, type LocalServer } from "../local-server.js";

const PEM = readFileSync(new URL("../fixtures/argocd-adapter/self-signed.pem", import.meta.url), "utf8");
const LIMITS = { timeoutMs: 20_000, maxBytes: 1000 };
const CONNECTION = { insecure: true, connectTimeout: 20_000, headersTimeout: 0, bodyTimeout: 0 };

/** What was asked of the proxy, with the credentials that it got. */
const asked: string[] = [];
const proxy: Server = createServer();
const tunnels = new Set<Duplex>();
let address: string;
let plain: LocalServer;
let secure: LocalServer;

beforeAll(async () => {
  plain = await localServer((request, response) => response.end(`plain ${request.headers.host ?? ""}`));
  secure = await localServer((request, response) => response.end(`secure ${request.headers.host ?? ""}`), PEM);
  // Every name leads to one of the two servers, which no name of these tests leads to without the proxy.
  proxy.on("connect", (request, socket) => {
    const target = request.url ?? "";
    tunnels.add(socket);
    asked.push(`${target} ${request.headers["proxy-authorization"] ?? ""}`);
    if (target.startsWith("silent")) return;
    if (target.startsWith("refused")) {
      socket.end("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
      return;
    }
    const { port } = new URL(target.endsWith(":443") ? secure.url : plain.url);
    const upstream = connect(Number(port), "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 Connection Established\r\n\r\n");
      upstream.pipe(socket).pipe(upstream);
    });
    upstream.on("error", () => socket.destroy());
    socket.on("error", () => upstream.destroy());
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  const { port } = proxy.address() as AddressInfo;
  address = `http://svc:pass%20word@127.0.0.1:${port}`;
  useProxies({ httpProxy: address, httpsProxy: address, noProxy: "127.0.0.1,.direct.invalid" });
});

afterAll(async () => {
  // They belong to the process, as the other test files of this worker do.
  useProxies(undefined);
  // The server no longer knows them.
  for (const tunnel of tunnels) tunnel.destroy();
  proxy.closeAllConnections();
  proxy.close();
  await Promise.all([plain.stop(), secure.stop()]);
});

async function textBy(dispatcher: Dispatcher, address: string): Promise<string> {
  const request = { url: new URL(address), method: "GET", headers: {}, body: undefined } as const;
  return (await requestBytes(dispatcher, request, LIMITS)).bytes.toString();
}

const CREDENTIALS = `Basic ${Buffer.from("svc:pass word").toString("base64")}`;

test("an http address is reached through the proxy, with its credentials", async () => {
  const { text } = await fetchText("http://gitlab.invalid/api", {}, LIMITS);
  expect(text).toBe("plain gitlab.invalid");
  expect(asked.splice(0)).toEqual([`gitlab.invalid:80 ${CREDENTIALS}`]);
});

test("a message for a receiver of notifications goes the same way", async () => {
  const signal = new AbortController().signal;
  const request = { url: "http://chat.invalid/hook", headers: {}, body: "{}", timeoutMs: 20_000, now: new Date(0) };
  expect((await postText({ ...request, signal })).status).toBe(200);
  expect(asked.splice(0)).toEqual([`chat.invalid:80 ${CREDENTIALS}`]);
});

test("connections of their own go the same way, and check certificates unless they are told not to", async () => {
  const insecure = createDispatcher(CONNECTION);
  const strict = createDispatcher({ ...CONNECTION, insecure: false });
  expect(await textBy(insecure, "https://argocd.invalid/api")).toBe("secure argocd.invalid");
  await expect(textBy(strict, "https://argocd.invalid/api")).rejects.toThrow("self-signed certificate");
  expect(asked.splice(0)).toEqual([`argocd.invalid:443 ${CREDENTIALS}`, `argocd.invalid:443 ${CREDENTIALS}`]);
  await Promise.all([insecure.close(), strict.close()]);
});

test("without a dispatcher of its own a request trusts no certificate that the machine does not trust", async () => {
  await expect(fetchText("https://github.invalid/api", {}, LIMITS)).rejects.toThrow("fetch failed");
  expect(asked.splice(0)).toEqual([`github.invalid:443 ${CREDENTIALS}`]);
});

test("hosts in NO_PROXY are reached directly, and so are hosts below them", async () => {
  expect((await fetchText(plain.url, {}, LIMITS)).text).toContain("plain 127.0.0.1");
  const direct = createDispatcher(CONNECTION);
  expect(await textBy(direct, secure.url)).toContain("secure 127.0.0.1");
  await expect(fetchText("http://argocd.direct.invalid", {}, LIMITS)).rejects.toThrow("fetch failed");
  expect(asked.splice(0)).toEqual([]);
  await direct.close();
});

test("a proxy that refuses is a failed request", async () => {
  await expect(fetchText("https://refused.invalid/api", {}, LIMITS)).rejects.toThrow("fetch failed");
  expect(asked.splice(0)).toEqual([`refused.invalid:443 ${CREDENTIALS}`]);
});

test("connections of their own wait no longer for a proxy than for an answer, and go on without it", async () => {
  const connections = createDispatcher({ ...CONNECTION, connectTimeout: 50 });
  const call = (address: string) => ({ url: new URL(address), method: "GET", headers: {}, body: undefined }) as const;
  const silent = requestBytes(connections, call("https://silent.invalid"), { ...LIMITS, timeoutMs: 100 });
  await expect(silent).rejects.toThrow(AnswerTimedOut);
  await expect(requestBytes(connections, call("https://refused.invalid"), LIMITS)).rejects.toThrow(
    "Proxy response (407)",
  );
  expect(await textBy(connections, "https://argocd.invalid")).toBe("secure argocd.invalid");
  expect(asked.splice(0)).toHaveLength(3);
  await connections.destroy();
});

test("whoever brings a dispatcher keeps it", () => {
  const own = { dispatcher: {} } as RequestInit;
  expect(proxied(own)).toBe(own);
});

test("a variable that is blank names no proxy beside the one that has an address", async () => {
  process.env.http_proxy = " ";
  try {
    useProxies({ httpProxy: undefined, httpsProxy: address, noProxy: "" });
    const connections = createDispatcher(CONNECTION);
    expect(await textBy(connections, plain.url)).toContain("plain 127.0.0.1");
    expect(await textBy(connections, "https://argocd.invalid")).toBe("secure argocd.invalid");
    expect(asked.splice(0)).toHaveLength(1);
    await connections.destroy();
  } finally {
    delete process.env.http_proxy;
  }
});
