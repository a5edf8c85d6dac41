import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";
import * as z from "zod";
import { parseJson } from "../../core/model/json.js";
import { SERVICE } from "../../names.js";

const tokens = z.object({
  access: z.string(),
  /** Undefined if the access token lasts, or cannot be renewed. */
  refresh: z.string().optional(),
  /** Milliseconds since 1970; undefined if the access token lasts until somebody revokes it. */
  expiresAt: z.number().optional(),
});

/** A login provider's tokens of one person. */
export type ProviderTokens = Readonly<z.infer<typeof tokens>>;

const CIPHER = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Encrypts tokens for the store (AES-256-GCM, with a key derived from `auth.session_secret`), each bound to one account. */
export class TokenSeal {
  readonly #key: Buffer;

  constructor(sessionSecret: string) {
    this.#key = Buffer.from(hkdfSync("sha256", sessionSecret, "", `${SERVICE} tokens of login providers`, 32));
  }

  seal({ access, refresh, expiresAt }: ProviderTokens, accountId: string): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.#key, nonce, { authTagLength: TAG_BYTES }).setAAD(
      Buffer.from(accountId),
    );
    const text = cipher.update(JSON.stringify({ access, refresh, expiresAt }), "utf8");
    return Buffer.concat([nonce, text, cipher.final(), cipher.getAuthTag()]).toString("base64url");
  }

  /** Undefined if it was changed, belongs to another account, or was sealed with another secret. */
  open(sealed: string, accountId: string): ProviderTokens | undefined {
    const bytes = Buffer.from(sealed, "base64url");
    if (bytes.length < NONCE_BYTES + TAG_BYTES) return undefined;
    const nonce = bytes.subarray(0, NONCE_BYTES);
    const decipher = createDecipheriv(CIPHER, this.#key, nonce, { authTagLength: TAG_BYTES })
      .setAAD(Buffer.from(accountId))
      .setAuthTag(bytes.subarray(-TAG_BYTES));
    try {
      const text = Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
      return tokens.parse(parseJson(text.toString("utf8")));
    } catch {
      return undefined;
    }
  }
}
