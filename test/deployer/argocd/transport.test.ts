import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { RequestListener } from "node:http";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { afterEach, expect, test } from "@jest/globals";
import { applicationName } from "../../../src/core/model/brand.js";
import { neverStarted } from "../../../src/core/model/errors.js";
import { Stopped } from "../../../src/core/ports/event-queue.js";
import type { ArgoCdConfig } from "../../../src/deployer/argocd/client.js";
import { localServer, type LocalServer } from "../../local-server.js";
import { failureOf, live, TOKEN, underTest } from "./under-test.js";

const PEM = readFileSync(new URL("../../fixtures/argocd-adapter/self-signed.pem", import.meta.url), "utf8");
const SETTINGS = JSON.stringify({ controllerNamespace: "argocd" });

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function serve(answer: RequestListener, tls?: string): Promise<LocalServer> {
  const server = await localServer(answer, tls);
  closing.push(() => server.stop());
  return server;
}

function client(config: Partial<ArgoCdConfig>) {
  const made = underTest({ requestTimeoutMs: 2_000, ...config });
  closing.unshift(() => made.deployer.close());
  return made;
}

test("the path of the server's URL stays in front, and the headers are exact", async () => {
  const seen: Record<string, unknown>[] = [];
  const server = await serve((request, response) => {
    seen.push({ ...request.headers });
    response.setHeader("content-encoding", "gzip");
    response.end(gzipSync(SETTINGS));
  });
  const { deployer } = client({ serverUrl: `${server.url}/argo/cd/` });
  const name = await deployer.naming();
  expect(name("argocd", "web")).toBe("web");
  expect(server.requests).toEqual(["GET /argo/cd/api/v1/settings"]);
  expect(seen[0]).toMatchObject({ authorization: `Bearer ${TOKEN}`, "accept-encoding": "gzip" });
  expect(seen[0]).not.toHaveProperty("content-type");
});

test("a self-signed certificate is refused with the cure, and accepted when `insecure` says so, for this client only", async () => {
  const server = await serve((_request, response) => response.end(SETTINGS), PEM);
  const insecure = client({ serverUrl: server.url, insecure: true });
  expect((await insecure.deployer.naming())("argocd", "web")).toBe("web");

  const strict = client({ serverUrl: server.url });
  const failure = await failureOf(strict.deployer.naming());
  expect(failure.reason).toBe("unreachable");
  expect(failure.message).toMatch(/^failed to connect to Argo CD: its certificate is not trusted .*argocd\.insecure/);
  await expect(fetch(server.url)).rejects.toThrow("fetch failed");
});

test("a redirect to another origin is not followed: no token leaves, and the message names the URL", async () => {
  const other = await serve((_request, response) => response.end(SETTINGS));
  const server = await serve((request, response) => {
    response.writeHead(307, { location: `${other.url}${request.url ?? ""}` }).end();
  });
  const { deployer } = client({ serverUrl: `${server.url}/argo` });
  const failure = await failureOf(deployer.naming());
  expect(failure).toMatchObject({ name: "DeployerFailure", reason: "failed" });
  expect(failure.message).toContain(`set argocd.server_url to ${other.url}/argo`);
  expect(other.requests).toEqual([]);
  expect(server.requests).toHaveLength(1);
});

test.each([
  ["/login?return=x", /redirects to http:\/\/127\.0\.0\.1:\d+\/login, .*address that answers the API itself/],
  ["http://[", /redirects without saying where/],
  [undefined, /redirects without saying where/],
])("a redirect to %s is explained", async (location, message) => {
  const server = await serve((_request, response) => {
    response.writeHead(302, location === undefined ? {} : { location }).end();
  });
  expect((await failureOf(client({ serverUrl: server.url }).deployer.naming())).message).toMatch(message);
});

test.each<[string, RequestListener, string, RegExp]>([
  [
    "an HTML page",
    (_q, r) => r.end("<!doctype html><p>Log in</p>"),
    "failed",
    /HTML page instead of JSON: check argocd.server_url/,
  ],
  ["half a JSON", (_q, r) => r.end('{"controllerNamespace":"arg'), "failed", /incomplete or not JSON/],
  ["another program's JSON", (_q, r) => r.end('["hello"]'), "failed", /not as expected \(the answer itself\)/],
  ["nothing at all", (_q, r) => r.end(), "failed", /incomplete or not JSON/],
  [
    "401",
    (_q, r) => r.writeHead(401).end('{"code":16,"message":"no session information"}'),
    "unauthenticated",
    /argocd.token: no session/,
  ],
  [
    "403",
    (_q, r) => r.writeHead(403).end('{"code":7,"message":"permission denied"}'),
    "forbidden",
    /^permission denied: settings, get$/,
  ],
  ["404", (_q, r) => r.writeHead(404).end("Not Found\n"), "unsupported", /check argocd.server_url/],
  ["409", (_q, r) => r.writeHead(409).end('{"code":10,"message":"conflict"}'), "refused", /conflict/],
  ["415", (_q, r) => r.writeHead(415).end("Invalid content type\n"), "failed", /HTTP 415: Invalid content type/],
  ["500", (_q, r) => r.writeHead(500).end('{"code":13,"message":"runtime error"}'), "failed", /^runtime error$/],
])("%s is a clear failure", async (_title, answer, reason, message) => {
  const server = await serve(answer);
  const failure = await failureOf(client({ serverUrl: server.url }).deployer.naming());
  expect([failure.name, failure.reason]).toEqual(["DeployerFailure", reason]);
  expect(failure.message).toMatch(message);
  expect(JSON.stringify(failure)).not.toContain(TOKEN);
  expect(server.requests).toHaveLength(1);
});

test("a server that says nothing is given up after the time-out", async () => {
  const server = await serve(() => undefined);
  const failure = await failureOf(client({ serverUrl: server.url, requestTimeoutMs: 60 }).deployer.naming());
  expect(failure).toMatchObject({
    reason: "unreachable",
    message: "failed to connect to Argo CD: no answer within 1 s",
  });
});

test("a server that stops in the middle of its answer is given up after the time-out", async () => {
  const server = await serve((_request, response) => void response.write('{"controllerNamespace":'));
  const failure = await failureOf(client({ serverUrl: server.url, requestTimeoutMs: 60 }).deployer.naming());
  expect(failure).toMatchObject({
    reason: "unreachable",
    message: "failed to connect to Argo CD: no answer within 1 s",
  });
});

test("a server that never answers is given up after the time-out, and the next call does not wait for it", async () => {
  let silent = true;
  const server = await serve((_request, response) => {
    if (!silent) response.end(SETTINGS);
  });
  const { deployer } = client({ serverUrl: server.url, requestTimeoutMs: 100 });
  expect((await failureOf(deployer.naming())).message).toBe("failed to connect to Argo CD: no answer within 1 s");
  silent = false;
  expect((await deployer.naming())("argocd", "web")).toBe("web");
});

test("an answer that trickles is given up after the time-out, however often something of it comes", async () => {
  const server = await serve((_request, response) => {
    const more = (): void => {
      if (!response.closed) response.write(" ", () => setTimeout(more, 5));
    };
    more();
  });
  const failure = await failureOf(client({ serverUrl: server.url, requestTimeoutMs: 150 }).deployer.naming());
  expect(failure.message).toBe("failed to connect to Argo CD: no answer within 1 s");
});

test("a server that accepts the connection and never agrees on its encryption is given up after the time-out", async () => {
  const mute = createServer((socket) => socket.resume());
  mute.listen(0, "127.0.0.1");
  await once(mute, "listening");
  closing.push(async () => {
    await once(mute.close(), "close");
  });
  const { port } = mute.address() as AddressInfo;
  const { deployer } = client({ serverUrl: `https://127.0.0.1:${port}`, requestTimeoutMs: 100 });
  expect((await failureOf(deployer.naming())).message).toMatch(/^failed to connect to Argo CD: .*(no answer|in time)/);
});

test("a connection that the server closes while it is being used again is replaced: a read does not fail", async () => {
  const used = new Set<Socket>();
  const server = await serve((request, response) => {
    if (used.has(request.socket)) return void request.socket.destroy();
    used.add(request.socket);
    if (request.url === "/api/v1/settings") response.end(SETTINGS);
    else if (request.url?.startsWith("/api/v1/applications?") === true) response.end("{}");
    else response.writeHead(404).end('{"code":5,"message":"not found"}');
  });
  const { deployer, clock } = client({ serverUrl: server.url });
  for (let reads = 0; reads < 4; reads += 1) {
    expect(await deployer.findApplication(applicationName("web"))).toBeUndefined();
  }
  expect(server.requests.length).toBeGreaterThan(5);
  expect(clock.slept).toContain(250);
});

test("half a body is no answer: it is asked for twice more, and then said", async () => {
  const server = await serve((request, response) => {
    response.setHeader("content-length", 100).write(SETTINGS, () => request.socket.destroy());
  });
  const failure = await failureOf(client({ serverUrl: server.url }).deployer.naming());
  expect(failure.message).toMatch(/^failed to connect to Argo CD: the connection broke before the answer was complete/);
  expect(server.requests).toHaveLength(3);
});

test("a read over a dropped connection is tried twice more", async () => {
  let left = 2;
  const server = await serve((request, response) => {
    if (left === 0) response.end(SETTINGS);
    else request.socket.destroy();
    left -= 1;
  });
  const { deployer, clock } = client({ serverUrl: server.url });
  await deployer.naming();
  expect(server.requests).toHaveLength(3);
  expect(clock.slept).toEqual([250, 1000]);
});

test("a connection that always drops is a failure to connect", async () => {
  const server = await serve((request) => request.socket.destroy());
  const failure = await failureOf(client({ serverUrl: server.url }).deployer.naming());
  expect(failure.message).toMatch(/^failed to connect to Argo CD: the connection broke/);
  expect(neverStarted(failure)).toBe(false);
  expect(server.requests).toHaveLength(3);
});

test("a refused connection says so, and that nothing was started", async () => {
  const server = await localServer(() => undefined);
  await server.stop();
  const failure = await failureOf(client({ serverUrl: server.url }).deployer.check());
  expect(failure).toMatchObject({ reason: "unreachable", message: "failed to connect to Argo CD: connection refused" });
  expect(neverStarted(failure)).toBe(true);
});

test("Retry-After is waited for, unless it is longer than the time-out", async () => {
  let left = 1;
  const server = await serve((_request, response) => {
    if (left === 0) response.end(SETTINGS);
    else response.writeHead(503, { "retry-after": left === 1 ? "1" : "90" }).end("busy");
    left -= 1;
  });
  const { deployer, clock } = client({ serverUrl: server.url });
  await deployer.naming();
  expect(clock.slept).toEqual([1000]);

  left = 5;
  const second = client({ serverUrl: server.url });
  expect((await failureOf(second.deployer.naming())).message).toBe("failed to connect to Argo CD: HTTP 503: busy");
  expect(second.clock.slept).toEqual([]);
});

test("an answer over 64 MiB is not read, even when it is small on the wire", async () => {
  const bomb = gzipSync(Buffer.alloc(65 * 1024 * 1024, 32));
  const server = await serve((_request, response) => {
    response.setHeader("content-encoding", "gzip");
    response.end(bomb);
  });
  const failure = await failureOf(client({ serverUrl: server.url, requestTimeoutMs: 100_000 }).deployer.naming());
  expect(failure).toMatchObject({ reason: "failed", message: expect.stringContaining("larger than 64 MiB") });
});

test("an abort ends the call with the signal's reason", async () => {
  const stop = new AbortController();
  const server = await serve((request, response) => {
    if (request.url === "/api/v1/settings") response.end(SETTINGS);
    else stop.abort(new Stopped("pushed"));
  });
  const { deployer } = client({ serverUrl: server.url });
  await expect(deployer.findApplication(applicationName("web"), stop.signal)).rejects.toThrow("stopped: pushed");
  expect(server.requests.filter((one) => one.includes("applications"))).toHaveLength(1);
});

test("a write is sent once, whatever becomes of it", async () => {
  const server = await serve((request, response) => {
    if (request.method === "PUT") response.writeHead(503).end("busy");
    else response.end(SETTINGS);
  });
  const failure = await failureOf(
    client({ serverUrl: server.url }).deployer.updateSpec(live(), { project: "default" }),
  );
  expect(failure.reason).toBe("unreachable");
  expect(failure.message).toMatch(/could not find out whether the definition of plain was changed .*HTTP 503/);
  expect(server.requests.filter((one) => one.startsWith("PUT"))).toHaveLength(1);
});

test("a token that comes back in an error is not shown", async () => {
  const server = await serve((request, response) => {
    response.writeHead(500).end(`headers: ${request.headers.authorization ?? ""}`);
  });
  const failure = await failureOf(client({ serverUrl: server.url }).deployer.naming());
  expect(failure.message).toBe("Argo CD answered HTTP 500: headers: Bearer ***");
});

test("an abort between two tries ends the call too", async () => {
  const stop = new AbortController();
  const server = await serve((request, response) => {
    if (request.url === "/api/v1/settings") response.end(SETTINGS);
    else if (request.url?.startsWith("/api/v1/applications?") === true) response.end("{}");
    else response.writeHead(503).end("busy");
  });
  const { deployer, clock } = client({ serverUrl: server.url });
  await deployer.naming();
  const sleep = clock.sleep.bind(clock);
  clock.sleep = (ms, signal) => {
    stop.abort(new Stopped("closed"));
    return sleep(ms, signal);
  };
  await expect(deployer.findApplication(applicationName("web"), stop.signal)).rejects.toThrow("stopped: closed");
  expect(server.requests.filter((one) => one.includes("applications"))).toHaveLength(1);
});

test("the token is in no log line", async () => {
  const server = await serve((_request, response) => response.writeHead(500).end("x"));
  const { deployer, lines } = client({ serverUrl: server.url });
  await failureOf(deployer.naming());
  expect(lines.map((line) => line.text)).toContain("called Argo CD");
  expect(JSON.stringify(lines)).not.toContain(TOKEN);
});
