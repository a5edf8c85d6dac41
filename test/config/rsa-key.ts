import { generateKeyPairSync } from "node:crypto";

/** A fresh private key as PEM text, of the kind that GitHub gives to an App (PKCS#1). */
export function rsaKey(): string {
  return generateKeyPairSync("rsa", {
    modulusLength: 2048,
    privateKeyEncoding: { type: "pkcs1", format: "pem" },
    publicKeyEncoding: { type: "spki", format: "pem" },
  }).privateKey;
}
