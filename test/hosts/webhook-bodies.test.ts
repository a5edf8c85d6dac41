import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import type { BodyLimits } from "../../src/hosts/receive-body.js";
import { RawConnection } from "../raw-connection.js";
import { sample } from "./gitlab-samples.js";
import { EDGE_PATH, FORGED, signedHeaders, startEdge, type WebhookEdge } from "./webhook-edge.js";

const KIB = 1024;
const EVENT = JSON.stringify(sample("merge_request.open"));

let edge: WebhookEdge;
const connections: RawConnection[] = [];

async function start(limits: Partial<BodyLimits> = {}): Promise<void> {
  edge = await startEdge(limits);
}
async function open(): Promise<RawConnection> {
  const connection = await RawConnection.open(edge.url);
  connections.push(connection);
  return connection;
}
/** Waits until the bodies being received hold this much. */
async function held(bytes: number): Promise<void> {
  while (edge.bodies.heldBytes !== bytes) await new Promise(setImmediate);
}

beforeEach(() => {
  connections.length = 0;
});
afterEach(async () => {
  for (const connection of connections) connection.close();
  await held(0);
  await edge.stop();
});

describe("a body that comes slowly", () => {
  const QUICK = { periodMs: 100, deadlineMs: 400, leastPerPeriod: 100 };

  test("and stops coming is refused, and its connection closed", async () => {
    await start(QUICK);
    const sender = await open();
    sender.post(EDGE_PATH, { ...FORGED, "content-length": 1000 });
    sender.write("x".repeat(99));
    expect(await sender.answer()).toMatchObject({ status: 408, head: expect.stringContaining("connection: close") });
    await sender.closed;
    expect(edge.refusals).toEqual(["too_slow"]);
    expect(edge.bodies.heldBytes).toBe(0);
    expect(edge.lines).toMatchObject([{ level: "warn", text: "webhook refused: its body came too slowly" }]);
  });

  test("but steadily is refused at the deadline", async () => {
    await start(QUICK);
    const sender = await open();
    sender.post(EDGE_PATH, { ...FORGED, "content-length": 10_000_000 });
    const drip = setInterval(() => sender.write("x".repeat(1000)), 10);
    const { status } = await sender.answer().finally(() => clearInterval(drip));
    expect(status).toBe(408);
    expect(edge.refusals).toEqual(["too_slow"]);
  });

  test("only for us, because this process was busy, is accepted", async () => {
    await start({ ...QUICK, leastPerPeriod: 2500 });
    const sender = await open();
    sender.post(EDGE_PATH, signedHeaders(EVENT));
    sender.write(EVENT.slice(0, 2000));
    await held(2000);
    sender.write(EVENT.slice(2000));
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 350);
    expect((await sender.answer()).status).toBe(200);
    expect(edge.events).toHaveLength(1);
  });
});

describe("a refusal before the end of the body", () => {
  test("reaches a sender that reads only when it has sent everything", async () => {
    await start();
    const sender = await open();
    sender.stopReading();
    sender.post(EDGE_PATH, { "content-length": 900 * KIB });
    while (edge.refusals.length === 0) await new Promise(setImmediate);
    for (let sent = 0; sent < 900; sent += 1) {
      sender.write("x".repeat(KIB));
      await new Promise(setImmediate);
    }
    expect(await sender.answer()).toMatchObject({ status: 401, body: '{"error":"webhook secret mismatch"}' });
    await sender.closed;
  });

  test("does not wait for what a sender does not send, nor read on without an end", async () => {
    await start();
    const [silent, endless] = [await open(), await open()];
    for (const sender of [silent, endless]) sender.post(EDGE_PATH, { "transfer-encoding": "chunked" });
    const chunk = `${(64 * KIB).toString(16)}\r\n${"x".repeat(64 * KIB)}\r\n`;
    const flood = setInterval(() => endless.write(chunk), 1);
    const ended = [silent.closed.then(() => "silent"), endless.closed.then(() => "endless")];
    expect(await Promise.race(ended).finally(() => clearInterval(flood))).toBe("endless");
    await silent.closed;
    expect(edge.refusals).toEqual(["secret", "secret"]);
  });
});

test("a connection whose deliveries are read whole stays open", async () => {
  await start();
  const sender = await open();
  for (const headers of [signedHeaders(EVENT), { ...FORGED, "content-length": EVENT.length }, signedHeaders(EVENT)]) {
    sender.post(EDGE_PATH, headers);
    sender.write(EVENT);
    expect((await sender.answer()).head).not.toContain("connection: close");
  }
  expect(edge.refusals).toEqual(["secret"]);
  expect(edge.events).toHaveLength(2);
});

test("a sender that hangs up gives back what it held", async () => {
  await start();
  const sender = await open();
  sender.post(EDGE_PATH, { ...FORGED, "content-length": 10_000 });
  sender.write("x".repeat(5000));
  await held(5000);
  sender.close();
  await held(0);
  expect(edge.refusals).toEqual(["cut"]);
});

test("a body in pieces of one byte is refused once it takes the memory of a large one", async () => {
  await start({ perAddress: 64 * KIB, largePerAddress: 64 * KIB });
  const sender = await open();
  sender.post(EDGE_PATH, { ...FORGED, "transfer-encoding": "chunked" });
  sender.write("1\r\nx\r\n".repeat(1000));
  expect((await sender.answer()).status).toBe(503);
  expect(edge.refusals).toEqual(["no_room"]);
});

test("a body in pieces of all sizes is put together as it was sent", async () => {
  await start();
  const text = JSON.stringify({ ...JSON.parse(EVENT), padding: Array.from({ length: 9000 }, (_, index) => index) });
  const sender = await open();
  const signed = Object.entries(signedHeaders(text)).filter(([name]) => name !== "content-length");
  sender.post(EDGE_PATH, { ...Object.fromEntries(signed), "transfer-encoding": "chunked" });
  const sizes = [1, 700, 1024, 3, 1023, 9000, 1, 1];
  for (let at = 0, turn = 0; at < text.length; turn += 1) {
    const piece = text.slice(at, at + (sizes[turn % sizes.length] ?? 1));
    sender.write(`${piece.length.toString(16)}\r\n${piece}\r\n`);
    at += piece.length;
  }
  sender.write("0\r\n\r\n");
  expect((await sender.answer()).status).toBe(200);
  expect(edge.events).toHaveLength(1);
});

test("senders behind a trusted proxy have shares of their own", async () => {
  await start({ perAddress: 10 * KIB, largePerAddress: 10 * KIB });
  const [first, second, third] = [await open(), await open(), await open()];
  const from = (address: string) => ({ ...FORGED, "content-length": 9000, "x-forwarded-for": address });
  first.post(EDGE_PATH, from("203.0.113.1"));
  first.write("x".repeat(8000));
  await held(8000);
  second.post(EDGE_PATH, from("203.0.113.1"));
  expect((await second.answer()).status).toBe(503);
  third.post(EDGE_PATH, from("203.0.113.2"));
  third.write("x".repeat(8000));
  await held(16_000);
});

test("strangers cannot fill the log; every refusal is counted", async () => {
  await start();
  const sender = await open();
  for (let index = 0; index < 500; index += 1) {
    sender.post(EDGE_PATH, { ...FORGED, "content-length": 0 });
    expect((await sender.answer()).status).toBe(401);
  }
  expect(edge.refusals).toHaveLength(500);
  // A new minute may have started meanwhile.
  expect(edge.lines.length).toBeLessThanOrEqual(120);
});
