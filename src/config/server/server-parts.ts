import { createPrivateKey, X509Certificate } from "node:crypto";
import { errorCode } from "../files.js";
import { durationOrOff, listOf, section, textLeaf, Wrong } from "../schema-parts.js";

/** Reads a text file; throws like `node:fs`. */
export type ReadFile = (path: string) => string;

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

const HOST_NAME = /^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/;

/** A host name without scheme, port and path, read in lower case. */
export function hostName() {
  return textLeaf("a host name such as git.example.org, without scheme and path", (value) =>
    HOST_NAME.test(value) ? value.toLowerCase() : new Wrong(),
  ).meta({ title: "host name", type: "string", pattern: HOST_NAME.source });
}

export function aliases() {
  return listOf(hostName()).prefault([]).describe("other host names of the same server in repository addresses");
}

const COMMAND_WORD = /^[a-z](?:[a-z0-9-]{0,28}[a-z0-9])?$/;

/** The first word of a command comment. Starts with a letter, since Markdown reads `1.` and `-` as lists. */
export function commandWord() {
  return textLeaf(
    "1 to 30 lower-case letters, digits and dashes, of which the first is a letter and the last no dash",
    (value) => (COMMAND_WORD.test(value) ? value : new Wrong()),
  ).meta({ title: "word", type: "string", pattern: COMMAND_WORD.source });
}

/** The name of a time zone that Intl knows. */
export function timeZone() {
  return textLeaf("the name of a time zone, such as Europe/Berlin or UTC", (value) => {
    // Most have this one, and Intl's tables take 8 MiB.
    if (value === "UTC") return value;
    try {
      return new Intl.DateTimeFormat("en", { timeZone: value }).resolvedOptions().timeZone;
    } catch {
      return new Wrong(); // Intl offers no check that does not throw
    }
  })
    .meta({ title: "time zone", type: "string", pattern: "\\S" })
    .prefault("UTC")
    .describe("time zone of the times that people write, as in `svc hold --until 18:00`");
}

export function poll() {
  return durationOrOff("1h", "10s")
    .prefault("off")
    .describe(
      "how often svc looks what happened in the repositories that it serves, 10s at least, for trials and for hosts whose webhooks cannot reach it; `off`: it waits for webhooks",
    );
}

export function afterMergeSection() {
  return section({
    timeout: durationOrOff("24h", "1m")
      .prefault("30m")
      .describe(
        "how long svc follows what takes effect at a merge, until it runs the merged commit or is gone; what does neither by then has failed. `off`: nothing is followed",
      ),
  });
}

/**
 * At most one placeholder per path part, and always the application: branch rules may require a deployment to an
 * environment, so two applications must never share one.
 */
const PLACEHOLDER = String.raw`\{(?:cluster|namespace|application)\}[A-Za-z0-9._-]*`;
const SEGMENT = String.raw`(?:[A-Za-z0-9._-]+(?:${PLACEHOLDER})?|${PLACEHOLDER})`;
const ENVIRONMENT_NAME = new RegExp(String.raw`^(?=.{1,100}$)(?=.*\{application\})${SEGMENT}(?:/${SEGMENT})*$`);

export function environmentName() {
  return textLeaf(
    "a name with {application}, and {cluster} and {namespace} if wanted, with a slash between each two; else letters, digits, dots, dashes and underscores",
    (value) => (ENVIRONMENT_NAME.test(value) ? value : new Wrong()),
  )
    .meta({ title: "text", type: "string", pattern: ENVIRONMENT_NAME.source })
    .prefault("{cluster}/{namespace}/{application}")
    .describe(
      "name of an application's environment, with `{application}`, `{cluster}` and `{namespace}` of its destination; what the host does not accept becomes `-`",
    );
}

/** For editors; `serverRules` checks it. */
export function requiredOneOf(...keys: readonly string[]) {
  return keys.map((key) => ({ required: [key] }));
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
