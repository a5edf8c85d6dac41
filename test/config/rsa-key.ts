import { generateKeyPairSync } from "node:crypto";
import { perProcess } from "../../sandbox/per-process.js";

/** A private key as PEM text, of the kind that GitHub gives to an App (PKCS#1); not that of the sandbox's App. */
export function rsaKey(): string {
  return perProcess("a private key", () => {
    const options = {
      modulusLength: 2048,
      privateKeyEncoding: { type: "pkcs1", format: "pem" },
      publicKeyEncoding: { type: "spki", format: "pem" },
    } as const;
    return generateKeyPairSync("rsa", options).privateKey;
  });
}
