import { createHash, randomBytes } from "node:crypto";
import { API_TOKEN_PREFIX } from "../../names.js";
import { textLeaf, Wrong } from "../schema-parts.js";

const RANDOM_BYTES = 32;
const TOKEN = new RegExp(`^${API_TOKEN_PREFIX}[A-Za-z0-9_-]{43}$`);
const HASH = /^sha256:[0-9a-f]{64}$/;
const NAME = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;

/** A token and what svc keeps of it. */
export interface NewApiToken {
  readonly token: string;
  readonly hash: string;
}

/** 256 random bits. The prefix lets people and scanners for secrets recognise it. */
export function newApiToken(): NewApiToken {
  const token = API_TOKEN_PREFIX + randomBytes(RANDOM_BYTES).toString("base64url");
  return { token, hash: hashOfToken(token) };
}

/** A fast hash is enough: nobody can try 2^256 tokens. Slow ones protect what people choose. */
export function hashOfToken(token: string): string {
  return `sha256:${createHash("sha256").update(token).digest("hex")}`;
}

/** Whether it may be one of ours; anything else is no token, even if its hash is listed. */
export function isApiToken(text: string): boolean {
  return TOKEN.test(text);
}

/** The name of a token in logs and in the audit trail. */
export function tokenName() {
  return textLeaf("1 to 63 letters, digits, dots, dashes and underscores", (value) =>
    NAME.test(value) ? value : new Wrong(),
  ).meta({ title: "name", type: "string", pattern: NAME.source });
}

export function tokenHash() {
  return textLeaf("the hash that `svc token` prints: sha256: and 64 hexadecimal digits", (value) => {
    if (isApiToken(value)) {
      return new Wrong("this is a token: write its hash, and make a new token, since this one was seen");
    }
    return HASH.test(value) ? value : new Wrong();
  }).meta({ title: "hash", type: "string", pattern: HASH.source });
}
