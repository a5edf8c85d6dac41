import { expect, test } from "@jest/globals";
import { TokenSeal } from "../../../src/web/auth/token-seal.js";

const TOKENS = { access: "gho_access", refresh: "ghr_refresh", expiresAt: 1_700_000_000_000 };
const seal = new TokenSeal("a-session-secret-of-the-tests");

test("tokens come back for the account that they were sealed for", () => {
  const sealed = seal.seal(TOKENS, "hosta:1");
  expect(seal.open(sealed, "hosta:1")).toEqual(TOKENS);
  expect(new TokenSeal("a-session-secret-of-the-tests").open(sealed, "hosta:1")).toEqual(TOKENS);
  const lasting = { access: "a", refresh: undefined, expiresAt: undefined };
  expect(seal.open(seal.seal(lasting, "hosta:1"), "hosta:1")).toEqual(lasting);
});

test("a sealed text shows no token, and no two are equal", () => {
  const [one, two] = [seal.seal(TOKENS, "hosta:1"), seal.seal(TOKENS, "hosta:1")];
  expect(one).not.toBe(two);
  expect(Buffer.from(one, "base64url").toString("latin1")).not.toMatch(/gho_|ghr_/);
});

test("it opens for no other account, with no other secret, and not after any change", () => {
  const sealed = seal.seal(TOKENS, "hosta:1");
  expect(seal.open(sealed, "hosta:2")).toBeUndefined();
  expect(new TokenSeal("another-session-secret").open(sealed, "hosta:1")).toBeUndefined();
  const bytes = Buffer.from(sealed, "base64url");
  for (let at = 0; at < bytes.length; at += 1) {
    const changed = Buffer.from(bytes);
    changed.writeUInt8(changed.readUInt8(at) ^ 1, at);
    expect(seal.open(changed.toString("base64url"), "hosta:1")).toBeUndefined();
  }
  for (const text of ["", "x", sealed.slice(0, 30), bytes.subarray(0, -1).toString("base64url")]) {
    expect(seal.open(text, "hosta:1")).toBeUndefined();
  }
});
