import { createHash, createPrivateKey, randomBytes, X509Certificate } from "node:crypto";
import type * as z from "zod";
import { ROLES } from "../../core/model/settings.js";
import { API_TOKEN_PREFIX, HOST_IDS, type HostId } from "../../names.js";
import { errorCode } from "../files.js";
import {
  count,
  duration,
  durationOrOff,
  flag,
  formed,
  listOf,
  oneOf,
  secret,
  section,
  signingSecret,
  text,
  textLeaf,
  url,
  Wrong,
} from "../schema-parts.js";
import { OTHER_NAMES } from "./section-names.js";

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

function certificateFile(readFile: ReadFile) {
  return textLeaf("the path of a file with PEM certificates", (value) => {
    const pem = contentOf(value, readFile);
    if (pem instanceof Wrong) return pem;
    return isCertificate(pem) ? pem : new Wrong("the file holds no readable PEM certificate");
  }).meta({ title: "path", type: "string", pattern: "\\S" });
}

interface StoreAddress {
  readonly host: string;
  readonly port: number;
}

const HOST_NAME = /^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/;

/** A host name without scheme, port and path, read in lower case. */
function hostName() {
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

/** At most one placeholder per path part, and always the application: two applications must never share an environment. */
const PLACEHOLDER = String.raw`\{(?:cluster|namespace|application)\}[A-Za-z0-9._-]*`;
const SEGMENT = String.raw`(?:[A-Za-z0-9._-]+(?:${PLACEHOLDER})?|${PLACEHOLDER})`;
const ENVIRONMENT_NAME = new RegExp(String.raw`^(?=.{1,100}$)(?=.*\{application\})${SEGMENT}(?:/${SEGMENT})*$`);

function environmentName() {
  return formed(
    "a name with {application}, and {cluster} and {namespace} if wanted, with a slash between each two; else letters, digits, dots, dashes and underscores",
    ENVIRONMENT_NAME,
  )
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
    username: secret().optional().describe("user, if Redis has access lists"),
    password: secret().optional().describe("password"),
    db: count(0, 65_535).prefault(0).describe("number of the database; omit it for a Redis Cluster, which has only 0"),
    tls: flag().prefault(false).describe("connect with TLS"),
    ca_file: certificateFile(readFile)
      .optional()
      .describe("certificate authorities for TLS (PEM); if omitted: the system's"),
    sentinel: section({
      master: secret().describe("name of the master that the sentinels watch"),
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
      .describe("show each sync as a GitHub Deployment; the App then needs `Deployments: read and write`"),
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
    commit_status: flag()
      .prefault(false)
      .describe("set the commit status `svc/sync`, in the merge request's pipeline; any Developer can set it too"),
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

/** express-session throws at each login if a domain cannot stand in a cookie. */
const COOKIE_DOMAIN =
  /^\.?[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$/;

/** `auth`: login for the web pages. */
export function authSection() {
  return section({
    enabled: flag().prefault(false).describe("require login"),
    session_secret: secret().optional().describe("secret that signs cookies; use 32 random bytes as hex"),
    session_ttl: duration("365d").prefault("24h").describe("lifetime of a session"),
    cookie_domain: formed("auto, or a domain such as example.org, without scheme, port and path", COOKIE_DOMAIN)
      .transform((domain) => (domain === "auto" ? undefined : domain))
      .prefault("auto")
      .describe("domain of the cookie; `auto`: the host of the request"),
    cookie_secure: flag().prefault(true).describe("send the cookie over HTTPS only"),
    diffs: oneOf(["readers", "all"])
      .prefault("readers")
      .describe(
        "who sees diffs. `readers`: whoever can read the repository with the account of that host they logged in with, and admins who have no account there; `all`: also everybody else who logged in without an account there, such as with OpenID Connect",
      ),
    default_role: oneOf(ROLES).prefault("user").describe("role of people whom no assignment matches"),
    role_assignments: roleAssignments(),
    hosta: hostaLogin().optional().describe("login with GitHub"),
    hostb: hostbLogin()
      .optional()
      .describe("login with GitLab; the application needs the scopes `read_user` and `read_api`"),
    oidc: oidcLogin().optional().describe("login with any OpenID Connect provider"),
    basic: basicLogin().optional().describe("users in this file, for local development only"),
    api_tokens: apiTokens(),
  }).meta({
    if: { required: ["enabled"], properties: { enabled: { const: true } } },
    then: { required: ["session_secret"] },
  });
}

function roleAssignments() {
  const assignment = section({
    pattern: text().describe(
      "`<email>`, `*@<domain>`, `@<org>/<team>` (GitHub), or `<group>`, with `provider: gitlab` by its full path, or with `provider: oidc`, where an `<email>` may be that of a group, too; `*` stands for any text",
    ),
    provider: loginProvider()
      .optional()
      .describe("only for people who logged in with this provider; if omitted: for everyone"),
    role: oneOf(ROLES).describe("role of these people"),
  });
  return listOf(assignment).prefault([]).describe("who gets which role; the first matching entry wins");
}

function apiTokens() {
  const token = section({
    name: formed("1 to 63 letters, digits, dots, dashes and underscores", NAME, "name").describe(
      "which program uses it; the log and the audit trail name it",
    ),
    hash: tokenHash().describe("the token's SHA-256, as `svc token` prints it"),
    role: oneOf(ROLES).describe(
      "`user`: may read; `admin`: may also read every diff, release locks, hold deployments, read users and change roles",
    ),
  });
  return listOf(token)
    .prefault([])
    .describe("tokens with which programs use `/api/v1` instead of a login; `svc token` makes one");
}

/** Accepts the products' names too, as sections do. */
function loginProvider() {
  const others = OTHER_NAMES.flatMap(({ within, name, other }) =>
    within[0] === "auth" ? [[other, name] as const] : [],
  );
  const meant = new Map<string, string>(others);
  const names = [...meant.keys(), "oidc", ...HOST_IDS];
  return textLeaf(`one of ${names.join(", ")}`, (value) => {
    return ([...HOST_IDS, "oidc"] as const).find((one) => one === (meant.get(value) ?? value)) ?? new Wrong();
  }).meta({ title: "text", type: "string", enum: names });
}

function hostaLogin() {
  return section({
    client_id: secret().describe("GitHub OAuth app's client id"),
    client_secret: secret().describe("GitHub OAuth app's client secret"),
    allowed_orgs: listOf(text()).prefault([]).describe("only members of these organizations"),
    allowed_teams: listOf(slashed("a team as <org>/<team-slug>", 2))
      .prefault([])
      .describe("only members of these teams, as `<org>/<team-slug>`"),
  });
}

function hostbLogin() {
  return section({
    url: url()
      .prefault("https://gitlab.com")
      .describe(
        "the GitLab instance. svc knows people by its ids and keeps their roles: before you change to another one, take the role `admin` from everybody who logs in with this one",
      ),
    client_id: secret().describe("GitLab application's id"),
    client_secret: secret().describe("GitLab application's secret"),
    allowed_groups: listOf(slashed("a group's full path such as <group>/<subgroup>", 1))
      .prefault([])
      .describe("only members of these groups, as full path"),
  });
}

function oidcLogin() {
  return section({
    name: text().describe("name on the login button"),
    issuer_url: url({ exact: true }).describe(
      "issuer, exactly as the provider writes it. svc knows people by the ids of this provider and keeps their roles. Before you change to another provider, take the role `admin` from everybody who logs in with this one: there, the same id may be somebody else's",
    ),
    client_id: secret().describe("client id"),
    client_secret: secret().describe("client secret"),
    scopes: listOf(text())
      .prefault(["openid", "profile", "email"])
      .describe("requested scopes; with `offline_access`, many providers let svc check logins and roles again"),
    username_claim: text().prefault("preferred_username").describe("claim with the user's name"),
    email_claim: text().prefault("email").describe("claim with the e-mail address"),
    groups_claim: text().optional().describe("claim with the groups, for role assignments"),
    allowed_domains: listOf(hostName())
      .prefault([])
      .describe("only e-mail addresses of these domains, ignoring case; empty: all"),
    require_verified_email: flag()
      .prefault(true)
      .describe(
        "refuse a login without the claim `email_verified: true`; `false` accepts a provider that does not send the claim. Where it is sent, it is about the claim `email`: another address in `email_claim` is refused",
      ),
  });
}

function basicLogin() {
  const user = section({
    username: text().describe("name"),
    password: secret().describe("password"),
    role: oneOf(ROLES).describe("role of this person"),
  });
  return section({ users: listOf(user).describe("the users") });
}

const RANDOM_BYTES = 32;
const TOKEN = new RegExp(`^${API_TOKEN_PREFIX}[A-Za-z0-9_-]{43}$`);
const HASH = /^sha256:[0-9a-f]{64}$/;
const NAME = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;

/** 256 random bits. The prefix lets people and secret scanners recognise it. */
export function newApiToken(): { readonly token: string; readonly hash: string } {
  const token = API_TOKEN_PREFIX + randomBytes(RANDOM_BYTES).toString("base64url");
  return { token, hash: hashOfToken(token) };
}

/** A fast hash suffices: nobody can try 2^256 tokens. Slow hashes protect what people choose. */
export function hashOfToken(token: string): string {
  return `sha256:${createHash("sha256").update(token).digest("hex")}`;
}

/** Whether it has the form of our tokens; anything else is refused even if its hash is listed. */
export function isApiToken(text: string): boolean {
  return TOKEN.test(text);
}

function tokenHash() {
  return textLeaf("the hash that `svc token` prints: sha256: and 64 hexadecimal digits", (value) => {
    if (isApiToken(value)) {
      return new Wrong("this is a token: write its hash, and make a new token, since this one was seen");
    }
    return HASH.test(value) ? value : new Wrong();
  }).meta({ title: "hash", type: "string", pattern: HASH.source });
}

/** Text split by slashes, such as `<org>/<team>`. */
function slashed(allowed: string, fewest: number) {
  return formed(allowed, new RegExp(`^[^\\s/]+(?:/[^\\s/]+){${fewest - 1},}$`));
}
