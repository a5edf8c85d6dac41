import { afterAll, beforeAll, expect, test } from "@jest/globals";
import fc from "fast-check";
import { RawConnection } from "../raw-connection.js";
import { sample } from "./gitlab-samples.js";
import { EDGE_PATH, FORGED, signedHeaders, startEdge, type WebhookEdge } from "./webhook-edge.js";

const BODY = JSON.stringify(sample("merge_request.open"));
const KIB = 1024;
/** Small, so that senders get into each other's way. */
const LIMITS = {
  all: 12 * KIB,
  large: 8 * KIB,
  perAddress: 8 * KIB,
  largePerAddress: 6 * KIB,
  small: 4 * KIB,
  periodMs: 50,
  deadlineMs: 200,
  leastPerPeriod: 64,
};

let edge: WebhookEdge;
beforeAll(async () => {
  edge = await startEdge(LIMITS);
});
afterAll(() => edge.stop());

/** A request as it is written, and where its body is cut off; undefined: nowhere. */
const request = fc.record({
  headers: fc.constantFrom<Readonly<Record<string, string>>>({}, FORGED, signedHeaders(BODY), {
    ...signedHeaders(BODY),
    "webhook-signature": "v1,",
  }),
  /** What it says of its body's length. */
  length: fc.constantFrom<Readonly<Record<string, string>>>(
    {},
    { "content-length": String(BODY.length) },
    { "content-length": String(BODY.length - 1) },
    { "content-length": String(BODY.length + 1) },
    { "content-length": "0" },
    { "content-length": String(26 * KIB * KIB) },
    { "content-length": "-1" },
    { "content-length": "9".repeat(30) },
    { "transfer-encoding": "chunked" },
    { "transfer-encoding": "chunked, chunked" },
    { "transfer-encoding": "chunked", "content-length": "5" },
    { "content-encoding": "gzip", "content-length": String(BODY.length) },
    { expect: "100-continue", "content-length": String(BODY.length) },
    { connection: "close", "content-length": String(BODY.length) },
  ),
  /** The lengths of the chunks, or of what is written at once. */
  pieces: fc.array(fc.integer({ min: 1, max: 6 * KIB }), { minLength: 1, maxLength: 8 }),
  end: fc.constantFrom("whole", "cut", "cut", "whole", "hung up"),
  address: fc.constantFrom("203.0.113.1", "203.0.113.2", "2001:db8::1", "unknown", "::ffff:203.0.113.1"),
});
type Sent = typeof request extends fc.Arbitrary<infer T> ? T : never;

function write(connection: RawConnection, { headers, length, pieces, end, address }: Sent): void {
  const chunked = length["transfer-encoding"] !== undefined;
  connection.post(EDGE_PATH, { "x-forwarded-for": address, ...headers, "content-length": undefined, ...length });
  let at = 0;
  for (const piece of pieces) {
    const text = BODY.slice(at, at + piece);
    at += piece;
    if (text !== "") connection.write(chunked ? `${text.length.toString(16)}\r\n${text}\r\n` : text);
  }
  if (end === "whole") connection.write(chunked ? "0\r\n\r\n" : BODY.slice(at));
  if (end === "hung up") connection.close();
}

async function deliver(): Promise<number> {
  const connection = await RawConnection.open(edge.url);
  connection.post(EDGE_PATH, signedHeaders(BODY));
  connection.write(BODY);
  const { status } = await connection.answer();
  connection.close();
  return status;
}

test("whatever is sent to a webhook's route, in whatever pieces: it answers, and gives everything back", async () => {
  // One after the other on a connection without waiting for answers, and several connections at once.
  const connections = fc.array(fc.array(request, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 6 });
  const holds = fc.asyncProperty(connections, async (sent) => {
    const opened = await Promise.all(sent.map(() => RawConnection.open(edge.url)));
    opened.forEach((connection, index) => {
      for (const one of sent[index] ?? []) write(connection, one);
    });
    const statuses = await Promise.all(
      opened.map((connection) => connection.answer().then(({ status }) => status, String)),
    );
    expect(edge.bodies.heldBytes).toBeLessThanOrEqual(LIMITS.all);
    sent.forEach((requests, index) => {
      if (requests.some(({ end }) => end === "hung up")) return;
      expect([100, 200, 400, 401, 408, 413, 415, 503]).toContain(statuses[index]);
    });
    for (const connection of opened) connection.close();
    await Promise.all(opened.map(({ closed }) => closed));
    // The service may notice a little later that they are gone.
    let status = await deliver();
    while (status === 503) status = await deliver();
    expect(status).toBe(200);
  });
  await fc.assert(holds, { seed: 20260302, numRuns: 100 });
  while (edge.bodies.heldBytes > 0) await new Promise(setImmediate);
  const reached = ["secret", "no_room", "too_slow", "cut", "too_large", "encoded"];
  expect(new Set(edge.refusals)).toEqual(new Set(reached));
});
