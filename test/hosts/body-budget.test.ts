import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { BODY_LIMITS, BodyBudget, type BodyShare } from "../../src/hosts/receive-body.js";

const KIB = 1024;
const MIB = 1024 * KIB;
const LARGEST = 25 * MIB;

/** Takes a whole body in pieces of 64 KiB; undefined if it was refused somewhere. */
function receive(bodies: BodyBudget, address: string, bytes: number, announced = bytes): BodyShare | undefined {
  const share = bodies.open(address, announced);
  if (share === undefined) return undefined;
  for (let left = bytes; left > 0; left -= 64 * KIB) {
    if (share.take(Math.min(left, 64 * KIB))) continue;
    share.release();
    return undefined;
  }
  return share;
}

describe("the room for bodies", () => {
  test("two addresses each send the largest body there is, and a third one an ordinary one", () => {
    const bodies = new BodyBudget();
    expect(receive(bodies, "203.0.113.1", LARGEST)).toBeDefined();
    expect(receive(bodies, "203.0.113.2", LARGEST)).toBeDefined();
    expect(receive(bodies, "203.0.113.3", 20 * KIB)).toBeDefined();
    expect(receive(bodies, "203.0.113.3", 5 * MIB)).toBeUndefined();
    expect(receive(bodies, "203.0.113.3", MIB)).toBeDefined();
  });

  test("an address whose large bodies leave no room still sends ordinary ones", () => {
    const bodies = new BodyBudget();
    expect(receive(bodies, "203.0.113.1", LARGEST)).toBeDefined();
    expect(receive(bodies, "203.0.113.1", 2 * MIB)).toBeUndefined();
    expect(receive(bodies, "203.0.113.1", 100 * KIB)).toBeDefined();
  });

  test("no address takes more than half, whatever the size of its bodies", () => {
    const bodies = new BodyBudget();
    while (receive(bodies, "203.0.113.1", MIB) !== undefined);
    expect(bodies.heldBytes).toBe(32 * MIB);
    expect(receive(bodies, "203.0.113.2", LARGEST)).toBeDefined();
  });

  test("a network of IPv6 is one address, and an IPv4 address stays the same inside of IPv6", () => {
    const bodies = new BodyBudget();
    expect(receive(bodies, "2001:db8:1:1::1", LARGEST)).toBeDefined();
    expect(receive(bodies, "2001:db8:1:1::2", 2 * MIB)).toBeUndefined();
    expect(receive(bodies, "2001:db8:2:1::1", 2 * MIB)).toBeDefined();
    expect(receive(bodies, "203.0.113.1", LARGEST - 2 * MIB)).toBeDefined();
    expect(receive(bodies, "::ffff:203.0.113.1", 4 * MIB)).toBeUndefined();
  });

  test("a promise takes no room, but one that cannot be kept is refused at once", () => {
    const bodies = new BodyBudget();
    for (let index = 0; index < 1000; index += 1) expect(receive(bodies, "203.0.113.1", KIB, LARGEST)).toBeDefined();
    expect(bodies.heldBytes).toBe(1000 * KIB);
    expect(receive(bodies, "203.0.113.1", KIB, 26 * MIB)).toBeUndefined();
  });

  test("a body without a length loses the reserve when it grows over 1 MiB", () => {
    const bodies = new BodyBudget();
    receive(bodies, "203.0.113.1", LARGEST);
    receive(bodies, "203.0.113.2", LARGEST);
    expect(receive(bodies, "203.0.113.3", 3 * MIB, 0)).toBeUndefined();
    expect(bodies.heldBytes).toBe(2 * LARGEST);
    expect(receive(bodies, "203.0.113.3", MIB, 0)).toBeDefined();
  });

  test("pieces of one byte count as what it costs to hold them", () => {
    const bodies = new BodyBudget();
    const share = bodies.open("203.0.113.1", 0);
    let pieces = 0;
    while (share?.take(1) === true) pieces += 1;
    expect(pieces).toBeLessThan((32 * MIB) / 480);
  });
});

test("whatever is sent, no limit is passed, and in the end nothing is held", () => {
  const address = fc.constantFrom("203.0.113.1", "203.0.113.2", "203.0.113.3", "2001:db8::1", "");
  const body = fc.record({ address, announced: fc.nat(LARGEST), pieces: fc.array(fc.nat(3 * MIB), { maxLength: 12 }) });
  fc.assert(
    fc.property(fc.array(fc.record({ body, released: fc.boolean() }), { maxLength: 40 }), (senders) => {
      const bodies = new BodyBudget();
      const kept: BodyShare[] = [];
      const held = new Map<string, number>();
      for (const { body: one, released } of senders) {
        const share = bodies.open(one.address, one.announced);
        if (share === undefined) continue;
        const before = bodies.heldBytes;
        for (const piece of one.pieces) share.take(piece);
        expect(bodies.heldBytes).toBeLessThanOrEqual(BODY_LIMITS.all);
        if (released) share.release();
        else {
          kept.push(share);
          held.set(one.address, (held.get(one.address) ?? 0) + bodies.heldBytes - before);
        }
        expect(Math.max(0, ...held.values())).toBeLessThanOrEqual(BODY_LIMITS.perAddress);
      }
      for (const share of kept) share.release();
      expect(bodies.heldBytes).toBe(0);
      // Nothing is left of it: the largest body finds room again.
      expect(receive(bodies, "203.0.113.1", LARGEST)).toBeDefined();
    }),
  );
});
