import { once } from "node:events";
import { request as httpRequest, type ClientRequest, type IncomingMessage } from "node:http";
import { connect } from "node:net";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { StoreUnavailable } from "../../src/core/model/errors.js";
import type { HostId } from "../../src/names.js";
import { deliver, HOSTS, SECRET, SENDERS, startWebhooks, type WebhooksUnderTest } from "./webhooks-under-test.js";

const MB = 1024 * 1024;
let under: WebhooksUnderTest;
beforeAll(async () => {
  under = await startWebhooks();
});
afterAll(() => under.stop());
beforeEach(() => {
  under.events.length = 0;
});

const accepted = { status: 200, body: { status: "accepted" } };
const ignored = { status: 200, body: { status: "ignored", reason: expect.any(String) } };
const mismatch = { status: 401, body: { error: "webhook secret mismatch" } };
const refused = (status: number) => ({ status, body: { error: expect.any(String) } });

describe.each(HOSTS)("/webhook/%s", (host) => {
  const sender = SENDERS[host];
  const send = (body: Buffer | string, headers: Record<string, string | undefined> = {}) =>
    deliver(under.url, sender, body, headers);

  test("an authentic event of ours is accepted and runs once", async () => {
    expect(await send(sender.opened())).toEqual(accepted);
    await under.idle();
    expect(under.events).toMatchObject([{ kind: "updated", reason: "opened", change: { host } }]);
  });

  describe("the secret", () => {
    test.each<[string, string | undefined]>([
      ["missing", undefined],
      ["empty", ""],
      ["another", host === "hosta" ? `sha256=${"0".repeat(64)}` : "another-secret-of-the-webhook"],
      ["a part of it", host === "hosta" ? "sha256=00" : SECRET.slice(0, -1)],
      ["longer", host === "hosta" ? `sha256=${"0".repeat(65)}` : `${SECRET}x`],
      ["in another case", host === "hosta" ? "SHA256=" : SECRET.toUpperCase()],
      ["twice", host === "hosta" ? "sha256=, sha256=" : `${SECRET}, ${SECRET}`],
      ["the other host's kind", host === "hosta" ? SECRET : `sha256=${"0".repeat(64)}`],
    ])("%s: 401, and no word of it in the log", async (_, value) => {
      expect(await send(sender.opened(), { [sender.secretHeader]: value })).toEqual(mismatch);
      await under.idle();
      expect(under.events).toEqual([]);
      expect(under.lines).toContainEqual(expect.objectContaining({ level: "warn", text: "webhook secret mismatch" }));
      expect(JSON.stringify(under.lines)).not.toContain(SECRET.slice(1));
    });

    test("is asked for before the body is parsed", async () => {
      expect(await send("not JSON", { [sender.secretHeader]: undefined })).toEqual(mismatch);
    });
  });

  describe("the body", () => {
    test.each([
      ["not JSON", "svc plan"],
      ["half a JSON", '{"action":"ope'],
      ["empty", ""],
      ["5", "5"],
      ["null", "null"],
      ["[]", "[]"],
      ['"x"', '"x"'],
      ["a form", "payload=%7B%7D"],
      ["no UTF-8", Buffer.from([0x7b, 0xff, 0x7d])],
    ])("%s: 400", async (_, body) => {
      expect(await send(body)).toEqual(refused(400));
      expect(under.events).toEqual([]);
    });

    test.each([
      ["gzip", gzipSync(sender.opened())],
      ["br", "x"],
      ["identity, gzip", "x"],
    ])("encoded as %s: 415", async (encoding, body) => {
      expect(await send(body, { "content-encoding": encoding })).toEqual(refused(415));
    });

    test("an object that is no event: 200", async () => {
      expect(await send("{}")).toEqual(ignored);
      expect(await send('{"action":7,"object_kind":[],"installation":{"id":"x"}}')).toEqual(ignored);
    });
  });

  describe("the size", () => {
    const start = (length: Record<string, string> = {}): ClientRequest => {
      const headers = { ...sender.headers(""), ...length };
      const outgoing = httpRequest(`${under.url}${sender.path}`, { method: "POST", headers });
      outgoing.on("error", () => undefined); // the server may hang up before it has everything
      return outgoing;
    };
    const statusOf = async (outgoing: ClientRequest): Promise<number | undefined> => {
      const [response] = (await once(outgoing, "response")) as [IncomingMessage];
      outgoing.destroy();
      return response.statusCode;
    };

    test("exactly 25 MB are read", async () => {
      expect(await send(Buffer.alloc(25 * MB, " "))).toEqual(refused(400));
    });

    test("an honest length over 25 MB: 413, before the body is sent", async () => {
      const outgoing = start({ "content-length": String(25 * MB + 1) });
      outgoing.write("{");
      expect(await statusOf(outgoing)).toBe(413);
    });

    test("no length, in chunks: 413 as soon as it is too much", async () => {
      const outgoing = start();
      const answer = statusOf(outgoing);
      for (let sent = 0; sent <= 25; sent += 1) outgoing.write(Buffer.alloc(MB, " "));
      expect(await answer).toBe(413);
    });

    test("a length that is too small: what comes behind it does not count", async () => {
      const { port } = new URL(under.url);
      const socket = connect(Number(port), "127.0.0.1");
      socket.on("error", () => undefined);
      socket.write(`POST ${sender.path} HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}${" ".repeat(100)}`);
      const [answer] = (await once(socket, "data")) as [Buffer];
      socket.destroy();
      // The secret is missing, or Node refuses the second "request" before that.
      expect(answer.toString()).toMatch(/^HTTP\/1\.1 40[01] /);
      expect(under.events).toEqual([]);
    });

    test("a length that is too large: the request ends early and nothing happens", async () => {
      const outgoing = start({ "content-length": "1000" });
      outgoing.write(sender.opened().slice(0, 100), () => outgoing.destroy());
      await new Promise((resolve) => outgoing.once("close", resolve));
      expect(await send(sender.opened())).toEqual(accepted);
      await under.idle();
      expect(under.events).toHaveLength(1);
    });
  });

  describe("a delivery", () => {
    test("that comes again runs once, also when both come at once", async () => {
      const id = { [sender.deliveryHeader]: `0a1b2c3d-0000-4000-8000-${host}`.replace("host", "00000000000") };
      const both = await Promise.all([send(sender.command(), id), send(sender.command(), id)]);
      expect(both.map(({ body }) => (body as { status: string }).status).sort()).toEqual(["accepted", "ignored"]);
      expect(await send(sender.command(), id)).toEqual(ignored);
      await under.idle();
      expect(under.events).toHaveLength(1);
    });

    test("of a comment that was delivered before is ignored, whatever its id", async () => {
      const payload = JSON.parse(sender.command()) as Record<string, { id: number }>;
      const { comment: written = payload.object_attributes } = payload;
      if (written !== undefined) written.id = 77_001;
      const comment = JSON.stringify(payload);
      const id = (last: string) => ({ [sender.deliveryHeader]: `0a1b2c3d-2222-4000-8000-00000000000${last}` });
      expect(await send(comment, id("1"))).toEqual(accepted);
      expect(await send(comment, id("2"))).toEqual(ignored);
    });

    test("without an id is known by its bytes", async () => {
      const without = { [sender.deliveryHeader]: undefined };
      const body = sender.opened().replace("{", `{ "at": "${host}",`);
      expect(await send(body, without)).toEqual(accepted);
      expect(await send(body, without)).toEqual(ignored);
      expect(await send(`${body}\n`, without)).toEqual(accepted);
    });

    test("of the same id from the other host is another one", async () => {
      const other = SENDERS[host === "hosta" ? "hostb" : "hosta"];
      const id = `0a1b2c3d-1111-4000-8000-0000000000${host === "hosta" ? "0a" : "0b"}`;
      expect(await send(sender.opened(), { [sender.deliveryHeader]: id })).toEqual(accepted);
      const elsewhere = await deliver(under.url, other, other.opened(), { [other.deliveryHeader]: id });
      expect(elsewhere).toEqual(accepted);
    });
  });

  test.each(["GET", "PUT", "DELETE"])("%s: 404", async (method) => {
    expect((await fetch(`${under.url}${sender.path}`, { method })).status).toBe(404);
  });
});

test("the right signature over other bytes is refused", async () => {
  const { hosta } = SENDERS;
  const signature = hosta.headers(hosta.opened())["x-hub-signature-256"];
  const changed = { "x-hub-signature-256": signature };
  expect(await deliver(under.url, hosta, `${hosta.opened()} `, changed)).toEqual(mismatch);
  expect(await deliver(under.url, hosta, hosta.opened(), changed)).toEqual(accepted);
});

test("the header's neutral name is taken beside GitLab's own", async () => {
  const neutral = { "x-gitlab-token": undefined, "x-hostb-token": SECRET };
  expect(await deliver(under.url, SENDERS.hostb, SENDERS.hostb.opened(), neutral)).toEqual(accepted);
});

describe.each(HOSTS)("%s is not configured", (host) => {
  let alone: WebhooksUnderTest;
  const others = HOSTS.filter((id): id is HostId => id !== host);
  beforeAll(async () => {
    alone = await startWebhooks(others);
  });
  afterAll(() => alone.stop());

  test("its route is not there, the other one is", async () => {
    expect(await deliver(alone.url, SENDERS[host], SENDERS[host].opened())).toEqual(refused(404));
    for (const id of others) expect(await deliver(alone.url, SENDERS[id], SENDERS[id].opened())).toEqual(accepted);
  });
});

describe("the state of the service", () => {
  const get = async (path: string) => {
    const response = await fetch(`${under.url}${path}`);
    return { status: response.status, body: await response.json() };
  };

  test("/health", async () => {
    under.ping = () => Promise.reject(new StoreUnavailable("Redis did not answer"));
    expect(await get("/health")).toEqual({ status: 200, body: { status: "ok" } });
  });

  test("/ready with its store, without, and with it again", async () => {
    under.ping = () => Promise.resolve();
    expect(await get("/ready")).toEqual({ status: 200, body: { status: "ready" } });
    under.ping = () => Promise.reject(new StoreUnavailable("Redis at redis:6379 did not answer in time"));
    expect(await get("/ready")).toEqual({
      status: 503,
      body: { status: "unavailable", error: "Redis at redis:6379 did not answer in time" },
    });
    under.ping = () => Promise.resolve();
    expect((await get("/ready")).status).toBe(200);
  });
});
