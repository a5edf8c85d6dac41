import { createPrivateKey, X509Certificate } from "node:crypto";
import { errorCode } from "./error-code.js";
import { textLeaf, Wrong } from "./schema-parts.js";

/** Reads a whole text file. Throws what `node:fs` throws. */
export type ReadFile = (path: string) => string;

/** A GitHub App's key as PEM text, whether the file holds the text (line breaks also written as `\n`) or names a file. */
export function privateKey(readFile: ReadFile) {
  return textLeaf("a private key as PEM text, or the path of a file that holds one", (value) => {
    const pem = value.includes("-----BEGIN") ? value.replaceAll("\\n", "\n") : contentOf(value, readFile);
    if (pem instanceof Wrong) return pem;
    return isRsaKey(pem) ? pem : new Wrong("this is not a readable RSA private key (PEM, not encrypted)");
  }).meta({ title: "text or path", type: "string", pattern: "\\S" });
}

/** Certificates as PEM text, read from the named file. */
export function certificateFile(readFile: ReadFile) {
  return textLeaf("the path of a file with PEM certificates", (value) => {
    const pem = contentOf(value, readFile);
    if (pem instanceof Wrong) return pem;
    return isCertificate(pem) ? pem : new Wrong("the file holds no readable PEM certificate");
  }).meta({ title: "path", type: "string", pattern: "\\S" });
}

export interface StoreAddress {
  readonly host: string;
  readonly port: number;
}

export function storeAddress() {
  return textLeaf("host:port", (value): StoreAddress | Wrong => {
    const [, bracketed, plain, digits] = /^(?:\[([0-9a-fA-F:.]+)\]|([^\s:/@[\]]+)):(\d{1,5})$/.exec(value) ?? [];
    const [host, port] = [bracketed ?? plain, Number(digits)];
    return host === undefined || !(port >= 1 && port <= 65_535) ? new Wrong() : { host, port };
  }).meta({
    title: "host:port",
    type: "string",
    pattern: "^(?:\\[[0-9a-fA-F:.]+\\]|[^\\s:/@\\[\\]]+):(?=\\d*[1-9])\\d{1,5}$",
  });
}

const HOST_NAME = /^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/;

/** A host's name without scheme, port and path, in lower case. */
export function hostName() {
  return textLeaf("a host name such as git.example.org, without scheme and path", (value) =>
    HOST_NAME.test(value) ? value.toLowerCase() : new Wrong(),
  ).meta({ title: "host name", type: "string", pattern: HOST_NAME.source });
}

/** A text of parts between slashes, such as `<org>/<team>`. */
export function slashed(allowed: string, fewest: number) {
  return textLeaf(allowed, (value) => {
    const parts = value.split("/");
    return parts.length < fewest || parts.some((part) => !/^\S+$/.test(part)) ? new Wrong() : value;
  }).meta({ title: "text", type: "string", pattern: `^[^\\s/]+(?:/[^\\s/]+){${fewest - 1},}$` });
}

function contentOf(path: string, readFile: ReadFile): string | Wrong {
  if (path.trim() === "") return new Wrong();
  try {
    return readFile(path);
  } catch (error) {
    return new Wrong(`the file that this names cannot be read (${errorCode(error) ?? "unknown reason"})`);
  }
}

function isRsaKey(pem: string): boolean {
  try {
    return createPrivateKey(pem).asymmetricKeyType === "rsa";
  } catch {
    return false; // node:crypto has no way to ask first
  }
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0;
  } catch {
    return false; // node:crypto has no way to ask first
  }
}
