import { createPrivateKey, X509Certificate } from "node:crypto";
import { errorCode } from "../files.js";
import { textLeaf, Wrong } from "../schema-parts.js";

/** Reads a text file; throws like `node:fs`. */
export type ReadFile = (path: string) => string;

/** Reads an environment variable; undefined if it is not set. */
export type ReadVariable = (name: string) => string | undefined;

/** An RSA key, as PEM text (with `\n` allowed for line breaks) or as the path of its file. Read as PEM text. */
export function privateKey(readFile: ReadFile) {
  return textLeaf("a private key as PEM text, or the path of a file that holds one", (value) => {
    const pem = value.includes("-----BEGIN") ? value.replaceAll("\\n", "\n") : contentOf(value, readFile);
    if (pem instanceof Wrong) return pem;
    return isRsaKey(pem) ? pem : new Wrong("this is not a readable RSA private key (PEM, not encrypted)");
  }).meta({ title: "text or path", type: "string", pattern: "\\S" });
}

/** The path of a file with certificates, read as their PEM text. */
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
    pattern: "^(?=.*:\\d*[1-9]\\d*$)(?:\\[[0-9a-fA-F:.]+\\]|[^\\s:/@\\[\\]]+):\\d{1,5}$",
  });
}

const COMMAND_WORD = /^[a-z](?:[a-z0-9-]{0,28}[a-z0-9])?$/;

/** The first word of a command comment. Starts with a letter, since Markdown reads `1.` and `-` as lists. */
export function commandWord() {
  return textLeaf(
    "1 to 30 lower-case letters, digits and dashes, of which the first is a letter and the last no dash",
    (value) => (COMMAND_WORD.test(value) ? value : new Wrong()),
  ).meta({ title: "word", type: "string", pattern: COMMAND_WORD.source });
}

const HOST_NAME = /^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/;

/** A host name without scheme, port and path, read in lower case. */
export function hostName() {
  return textLeaf("a host name such as git.example.org, without scheme and path", (value) =>
    HOST_NAME.test(value) ? value.toLowerCase() : new Wrong(),
  ).meta({ title: "host name", type: "string", pattern: HOST_NAME.source });
}

/** Text split by slashes, such as `<org>/<team>`. */
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
    return new Wrong(`the file cannot be read (${errorCode(error) ?? "unknown reason"})`);
  }
}

function isRsaKey(pem: string): boolean {
  try {
    return createPrivateKey(pem).asymmetricKeyType === "rsa";
  } catch {
    return false; // node:crypto offers no check that does not throw
  }
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0;
  } catch {
    return false; // node:crypto offers no check that does not throw
  }
}

/** Whether a host name can only mean this machine. */
export function isLoopback(hostname: string): boolean {
  return /^(?:localhost|::1|\[::1\]|127(?:\.\d{1,3}){3})$/i.test(hostname);
}
