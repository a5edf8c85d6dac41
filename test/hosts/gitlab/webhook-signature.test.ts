import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import { signatureCheck, signingKey } from "../../../src/hosts/gitlab/webhook.js";

const TOKEN = "whsec_BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=";
const KEY = signingKey(TOKEN);
/** The bytes that the published signature below is over, its last line break included. */
const BODY = readFileSync(new URL("../../fixtures/gitlab/note.on-mr.create.json", import.meta.url));
const ID = "00000000-0000-4000-9000-000000000015";
const SECONDS = 1_772_450_000;
const KNOWN = "v1,FmJ7fq5i5VW5QKpJJELDoICcXDr2zMAw6hAxy/zida4=";
const HEADERS = { "webhook-id": ID, "webhook-timestamp": String(SECONDS), "webhook-signature": KNOWN };
const OTHER = `v1,${Buffer.alloc(32).toString("base64")}`;

const after = (seconds: number) => new Date((SECONDS + seconds) * 1000);
const verify = (changes: Record<string, string | string[] | undefined> = {}, now = after(0), body = BODY) => {
  const check = signatureCheck({ ...HEADERS, ...changes }, KEY, now);
  if (check === undefined) return "refused without its body";
  // In two pieces, as it may arrive.
  check.update(body.subarray(0, 100));
  check.update(body.subarray(100));
  return check.passes() ? "accepted" : "refused";
};
const sign = (content: string, key: Buffer = KEY) =>
  `v1,${createHmac("sha256", key).update(content).update(BODY).digest("base64")}`;

describe("good", () => {
  test.each<[string, Record<string, string>, number]>([
    ["a known vector of the Standard Webhooks scheme", {}, 0],
    ["five minutes old", {}, 300],
    ["five minutes ahead of our clock", {}, -300],
    ["the second of two signatures", { "webhook-signature": `${OTHER} ${KNOWN}` }, 0],
    ["beside a version that is not known", { "webhook-signature": `v1a,abc v2,def ${KNOWN}` }, 0],
  ])("%s", (_, headers, seconds) => {
    expect(verify(headers, after(seconds))).toBe("accepted");
  });
});

describe("refused before the body is read", () => {
  test.each<[string, Record<string, string | string[] | undefined>, number]>([
    ["more than five minutes old", {}, 301],
    ["more than five minutes ahead", {}, -301],
    ["no signature", { "webhook-signature": undefined }, 0],
    ["an empty signature", { "webhook-signature": "" }, 0],
    ["a short signature", { "webhook-signature": "v1,AAAA" }, 0],
    ["a long signature", { "webhook-signature": `${KNOWN}AAAA` }, 0],
    ["another version", { "webhook-signature": KNOWN.replace("v1,", "v2,") }, 0],
    ["no version", { "webhook-signature": KNOWN.slice(3) }, 0],
    ["two headers", { "webhook-signature": [KNOWN, KNOWN] }, 0],
    ["no id", { "webhook-id": undefined }, 0],
    ["an empty id that was signed", { "webhook-id": "", "webhook-signature": sign(`.${SECONDS}.`) }, 0],
    ["no time", { "webhook-timestamp": undefined }, 0],
    ["a time that is no number, signed", { "webhook-timestamp": "soon", "webhook-signature": sign(`${ID}.soon.`) }, 0],
  ])("%s", (_, headers, seconds) => {
    expect(verify(headers, after(seconds))).toBe("refused without its body");
  });
});

describe("refused after the body was read", () => {
  test.each<[string, Record<string, string>]>([
    ["another signature", { "webhook-signature": OTHER }],
    ["another key", { "webhook-signature": sign(`${ID}.${SECONDS}.`, Buffer.alloc(32)) }],
    ["another id", { "webhook-id": ID.replace("15", "16") }],
    ["a later time", { "webhook-timestamp": String(SECONDS + 1) }],
  ])("%s", (_, headers) => {
    expect(verify(headers)).toBe("refused");
  });

  test("other bytes", () => {
    expect(verify({}, after(0), BODY.subarray(0, -1))).toBe("refused");
  });
});

test.each(["", "whsec_", TOKEN.slice(6), "whsec_!!", `whsec_${Buffer.alloc(23).toString("base64")}`])(
  "the signing token %j is no key",
  (token) => {
    expect(() => signingKey(token)).toThrow(RangeError);
  },
);
