import { createPrivateKey, X509Certificate } from "node:crypto";
import type * as z from "zod";
import type { HostId } from "../../names.js";
import { errorCode } from "../files.js";
import {
  count,
  durationOrOff,
  flag,
  listOf,
  secret,
  section,
  signingSecret,
  text,
  textLeaf,
  url,
  Wrong,
} from "../schema-parts.js";

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
function certificateFile(readFile: ReadFile) {
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

function aliases() {
  return listOf(hostName()).prefault([]).describe("other host names of the same server in repository addresses");
}

function poll() {
  return durationOrOff("1h", "10s")
    .prefault("off")
    .describe(
      "how often svc looks what happened in the repositories that it serves, 10s at least, for trials and for hosts whose webhooks cannot reach it; `off`: it waits for webhooks",
    );
}

/**
 * At most one placeholder per path part, and always the application: branch rules may require a deployment to an
 * environment, so two applications must never share one.
 */
const PLACEHOLDER = String.raw`\{(?:cluster|namespace|application)\}[A-Za-z0-9._-]*`;
const SEGMENT = String.raw`(?:[A-Za-z0-9._-]+(?:${PLACEHOLDER})?|${PLACEHOLDER})`;
const ENVIRONMENT_NAME = new RegExp(String.raw`^(?=.{1,100}$)(?=.*\{application\})${SEGMENT}(?:/${SEGMENT})*$`);

function environmentName() {
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

export function kvstoreSection(readFile: ReadFile) {
  const addresses = () => listOf(storeAddress()).min(1, "at least one host:port is needed");
  return section({
    address: storeAddress().optional().describe("Redis; an IPv6 address in brackets"),
    username: text().optional().describe("user, if Redis has access lists"),
    password: secret().optional().describe("password"),
    db: count(0, 65_535).prefault(0).describe("number of the database; omit it for a Redis Cluster, which has only 0"),
    tls: flag().prefault(false).describe("connect with TLS"),
    ca_file: certificateFile(readFile)
      .optional()
      .describe("certificate authorities for TLS (PEM); if omitted: the system's"),
    sentinel: section({
      master: text().describe("name of the master that the sentinels watch"),
      addresses: addresses().describe("the sentinels"),
      password: secret().optional().describe("password of the sentinels"),
    })
      .optional()
      .describe("Redis behind Sentinel"),
    cluster: section({ addresses: addresses().describe("some nodes of the cluster") })
      .optional()
      .describe("Redis Cluster"),
  }).meta({
    // An empty section is null, which `required` would accept.
    not: {
      type: "object",
      anyOf: [
        { required: ["address", "sentinel"] },
        { required: ["address", "cluster"] },
        { required: ["sentinel", "cluster"] },
        { required: ["cluster", "db"] },
      ],
    },
  });
}

/** Sections of the code hosts. A host without a section is not configured. */
export function hostSections(readFile: ReadFile) {
  return {
    hosta: hostaSection(readFile).optional().describe("GitHub, through a GitHub App"),
    hostb: hostbSection().optional().describe("GitLab"),
  } satisfies Record<HostId, z.ZodType>;
}

function hostaSection(readFile: ReadFile) {
  return section({
    app_id: count(1, Number.MAX_SAFE_INTEGER).describe("id of the GitHub App"),
    private_key: privateKey(readFile).describe(
      "the App's private key: PEM text (line breaks also as `\\n`), or the path of its file",
    ),
    webhook_secret: secret().optional().describe("webhook secret from the App's settings; required without `poll`"),
    api_url: url()
      .prefault("https://api.github.com")
      .describe("REST API of a self-hosted GitHub, such as `https://HOST/api/v3`"),
    web_url: url().prefault("https://github.com").describe("web pages of a self-hosted GitHub"),
    commit_status: flag().prefault(true).describe("set the commit status `svc/sync`"),
    deployments: flag()
      .prefault(false)
      .describe(
        "show each sync as a GitHub Deployment; the App then needs the permission `Deployments: read and write`",
      ),
    environment_name: environmentName(),
    aliases: aliases(),
    poll: poll(),
  }).meta({
    dependencies: { api_url: ["web_url"], web_url: ["api_url"] },
    anyOf: requiredOneOf("webhook_secret", "poll"),
  });
}

function hostbSection() {
  return section({
    url: url().prefault("https://gitlab.com").describe("the instance"),
    token: secret().describe("access token of svc's own account"),
    webhook_secret: secret()
      .optional()
      .describe("the webhook's secret token; required without `signing_token` and `poll`, and unused with the former"),
    // https://docs.gitlab.com/user/project/integrations/webhooks/
    signing_token: signingSecret("GitLab's signing token: whsec_ and at least 24 bytes as Base64")
      .optional()
      .describe(
        "the webhook's signing token (`whsec_…`, GitLab 19.1 and later); with it svc refuses a request without a valid signature, or signed more than 5 minutes ago, even if the secret token is right",
      ),
    commit_status: flag().prefault(false).describe("set the commit status `svc/sync`, in the merge request's pipeline"),
    environments: flag()
      .prefault(false)
      .describe("show each sync as a deployment in an environment of GitLab; needs no more than the role Developer"),
    environment_name: environmentName(),
    aliases: aliases(),
    poll: poll(),
  }).meta({ anyOf: requiredOneOf("webhook_secret", "signing_token", "poll") });
}

function storeAddress() {
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
