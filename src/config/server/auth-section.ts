import { createHash, randomBytes } from "node:crypto";
import { ROLES } from "../../core/model/settings.js";
import { API_TOKEN_PREFIX, HOST_IDS } from "../../names.js";
import { duration, flag, listOf, oneOf, secret, section, text, textLeaf, url, Wrong } from "../schema-parts.js";
import { OTHER_NAMES } from "./section-names.js";
import { hostName } from "./server-parts.js";

/** `auth`: login for the web pages. */
export function authSection() {
  return section({
    enabled: flag().prefault(false).describe("require login"),
    session_secret: secret().optional().describe("secret that signs cookies; use 32 random bytes as hex"),
    session_ttl: duration("365d").prefault("24h").describe("lifetime of a session"),
    cookie_domain: text()
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
      "`<email>`, `*@<domain>`, `@<org>/<team>` (provider `github`) or `<group>` (provider `oidc`); `*` stands for any text",
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
    name: tokenName().describe("which program uses it; the log and the audit trail name it"),
    hash: tokenHash().describe("the token's SHA-256, as `svc token` prints it"),
    role: oneOf(ROLES).describe("`user`: may read; `admin`: may also release locks, read users and change roles"),
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
    client_id: text().describe("GitHub OAuth app's client id"),
    client_secret: secret().describe("GitHub OAuth app's client secret"),
    allowed_orgs: listOf(text()).prefault([]).describe("only members of these organizations"),
    allowed_teams: listOf(slashed("a team as <org>/<team-slug>", 2))
      .prefault([])
      .describe("only members of these teams, as `<org>/<team-slug>`"),
  });
}

function hostbLogin() {
  return section({
    url: url().prefault("https://gitlab.com").describe("the GitLab instance"),
    client_id: text().describe("GitLab application's id"),
    client_secret: secret().describe("GitLab application's secret"),
    allowed_groups: listOf(slashed("a group's full path such as <group>/<subgroup>", 1))
      .prefault([])
      .describe("only members of these groups, as full path"),
  });
}

function oidcLogin() {
  return section({
    name: text().describe("name on the login button"),
    issuer_url: url({ exact: true }).describe("issuer, exactly as the provider writes it"),
    client_id: text().describe("client id"),
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
        "refuse a login without the claim `email_verified: true`; `false` accepts a provider that does not send the claim",
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

interface NewApiToken {
  readonly token: string;
  readonly hash: string;
}

/** 256 random bits. The prefix lets people and secret scanners recognise it. */
export function newApiToken(): NewApiToken {
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

/** The name of a token in logs and in the audit trail. */
function tokenName() {
  return textLeaf("1 to 63 letters, digits, dots, dashes and underscores", (value) =>
    NAME.test(value) ? value : new Wrong(),
  ).meta({ title: "name", type: "string", pattern: NAME.source });
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
  return textLeaf(allowed, (value) => {
    const parts = value.split("/");
    return parts.length < fewest || parts.some((part) => !/^\S+$/.test(part)) ? new Wrong() : value;
  }).meta({ title: "text", type: "string", pattern: `^[^\\s/]+(?:/[^\\s/]+){${fewest - 1},}$` });
}
