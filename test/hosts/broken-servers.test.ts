import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "@jest/globals";
import { repositoryName } from "../../src/core/model/brand.js";
import type { CodeHost } from "../../src/core/ports/code-host.js";
import { createGitHubHost } from "../../src/hosts/github/host.js";
import { createGitLabHost } from "../../src/hosts/gitlab/host.js";
import { rsaKey } from "../config/rsa-key.js";
import { keptLogger } from "../secrets-in-logs/kept-logger.js";
import { hostParts } from "./host-parts.js";
import { skippingClock } from "./skipping-clock.js";

const servers: Server[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  }
});

/** A real server on loopback; returns its root and the requests it got. */
async function serve(answer: RequestListener) {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    answer(request, response);
  }).listen(0, "127.0.0.1");
  servers.push(server);
  await once(server, "listening");
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

const privateKey = rsaKey();
const requestTimeoutMs = 400;

const hosts = [
  [
    "GitHub",
    "github.api_url",
    (url: string): CodeHost =>
      createGitHubHost(
        { appId: 1, privateKey, apiUrl: url, aliases: [], requestTimeoutMs },
        hostParts(skippingClock(), keptLogger(privateKey)),
      ),
  ],
  [
    "GitLab",
    "gitlab.url",
    (url: string): CodeHost =>
      createGitLabHost(
        { url, token: "glpat-secret", aliases: [], requestTimeoutMs },
        hostParts(skippingClock(), keptLogger("glpat-secret")),
      ),
  ],
] as const;

describe.each(hosts)("%s", (title, addressKey, createHost) => {
  const failure = (reason: string, text: RegExp) => ({
    name: "HostFailure",
    reason,
    message: expect.stringMatching(text),
  });

  test("that hangs is given up at the deadline, without a second try", async () => {
    const { url, requests } = await serve(() => undefined);
    await expect(createHost(url).self()).rejects.toMatchObject(
      failure("unreachable", new RegExp(`^${title} did not answer within 0.4 seconds`)),
    );
    expect(requests).toHaveLength(1);
  });

  test("that hangs in the middle of an answer is given up at the deadline", async () => {
    const { url } = await serve((_, response) => {
      response.writeHead(200, { "content-type": "application/json" }).write('{"id":');
    });
    await expect(createHost(url).self()).rejects.toMatchObject(failure("unreachable", /did not answer within/));
  });

  test("that drops the connection is asked three times", async () => {
    const { url, requests } = await serve((request) => request.socket.destroy());
    await expect(createHost(url).self()).rejects.toMatchObject(
      failure("unreachable", new RegExp(`could not be reached at ${url} .*check ${addressKey}`)),
    );
    expect(requests).toHaveLength(3);
  });

  test("that is not there is unreachable", async () => {
    const { url } = await serve(() => undefined);
    servers[0]?.close();
    await once(servers.splice(0, 1)[0] ?? fail(), "close");
    await expect(createHost(url).self()).rejects.toMatchObject(failure("unreachable", /could not be reached/));
  });

  test.each([301, 302, 303, 307, 308])("no credentials follow a %d to another origin", async (status) => {
    const elsewhere = await serve((_, response) => response.end("{}"));
    const { url } = await serve((request, response) => {
      response.writeHead(status, { location: `${elsewhere.url}${request.url ?? ""}` }).end();
    });
    const host = createHost(url);
    await expect(host.self()).rejects.toMatchObject(
      failure("failed", new RegExp(`redirect to ${elsewhere.url} \\(${status}\\).*set ${addressKey}`)),
    );
    expect(elsewhere.requests).toEqual([]);
  });

  test("that redirects in circles is given up", async () => {
    const { url, requests } = await serve((request, response) => {
      response.writeHead(302, { location: request.url }).end();
    });
    await expect(createHost(url).self()).rejects.toMatchObject(failure("failed", /redirect/));
    expect(requests.length).toBeLessThan(5);
  });

  test.each<[string, string, string, RegExp]>([
    ["a login page", "text/html; charset=utf-8", "<html>Sign in</html>", /answered with a web page: check that/],
    ["plain text", "text/plain", "ok", /something other than JSON/],
    ["half a JSON", "application/json", '{"id": 1, "slug": "s', /incomplete or invalid JSON/],
    ["another shape", "application/json", "[]", /gave an unexpected answer/],
    ["nothing", "application/json", "", /incomplete or invalid JSON/],
  ])("that answers with %s", async (_, type, body, text) => {
    const { url } = await serve((_request, response) => response.setHeader("content-type", type).end(body));
    await expect(createHost(url).self()).rejects.toMatchObject(failure("failed", text));
  });

  test.each([
    [400, "rejected"],
    [401, "unauthenticated"],
    [403, "forbidden"],
    [404, "not-found"],
    [409, "rejected"],
    [415, "rejected"],
    [500, "failed"],
    [503, "failed"],
  ])("that answers %d with a web page", async (status, reason) => {
    const { url } = await serve((_, response) => {
      response.writeHead(status, { "content-type": "text/html" }).end(`<html>${"x".repeat(5000)}</html>`);
    });
    const error: unknown = await createHost(url)
      .self()
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject(failure(reason, new RegExp(`^${title}`)));
    expect((error as Error).message.length).toBeLessThan(500);
  });

  test("an answer without end is not read to its end", async () => {
    const { url } = await serve((_, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      const chunk = Buffer.alloc(1024 * 1024, " ");
      const pump = () => {
        while (!response.destroyed && response.write(chunk)) continue;
      };
      response.on("drain", pump);
      pump();
    });
    await expect(createHost(url).self()).rejects.toMatchObject({ name: "HostFailure" });
  });

  test("an abort ends a call that hangs, with the signal's reason", async () => {
    const controller = new AbortController();
    const reason = new Error("stopped");
    const { url } = await serve(() => controller.abort(reason));
    const host = createHost(url);
    const ref = { host: host.id, repository: repositoryName("acme/deploy"), number: 7 };
    await expect(host.getChangeRequest(ref, controller.signal)).rejects.toBe(reason);
  });
});

function fail(): never {
  throw new Error("no server");
}
