import { HOST_IDS } from "../names.js";
import { MERGE_METHODS } from "./merge-method.js";
import { patternProblem } from "./pattern.js";
import {
  count,
  duration,
  exactUrl,
  flag,
  listOf,
  oneOf,
  pattern,
  secret,
  section,
  text,
  textLeaf,
  url,
  Wrong,
} from "./schema-parts.js";
import { LOG_LEVELS, ROLES } from "./server-config.js";
import { certificateFile, hostName, privateKey, slashed, storeAddress } from "./server-parts.js";
import type { ReadFile } from "./server-parts.js";

/** The whole of `svc.yaml`. A section that is left out gets its defaults; hosts that are left out are not configured. */
export function serverSchema(readFile: ReadFile) {
  return section({
    server: serverSection().prefault({}),
    kvstore: kvstoreSection(readFile).prefault({}),
    deployer: deployerSection(),
    hosta: hostaSection(readFile).optional(),
    hostb: hostbSection().optional(),
    defaults: defaultsSection().prefault({}),
    auth: authSection().prefault({}),
    application_repositories: listOf(section({ application: pattern(), repositories: listOf(repository()) })).default(
      [],
    ),
  });
}

function serverSection() {
  return section({
    host: text().default("0.0.0.0"),
    port: count(0, 65_535).default(4141),
    base_url: url().optional(),
    log_level: oneOf(LOG_LEVELS).default("info"),
    trust_proxy: flag().default(false),
    concurrency: count(1, 1000).default(10),
    shutdown_grace: duration("1h").default(25_000),
    metrics_port: count(1, 65_535).optional(),
    data_dir: text().optional(),
  });
}

function kvstoreSection(readFile: ReadFile) {
  const addresses = () => listOf(storeAddress()).min(1, "at least one host:port is needed");
  return section({
    address: storeAddress().optional(),
    username: text().optional(),
    password: secret().optional(),
    db: count(0, 65_535).default(0),
    tls: flag().default(false),
    ca_file: certificateFile(readFile).optional(),
    sentinel: section({ master: text(), addresses: addresses(), password: secret().optional() }).optional(),
    cluster: section({ addresses: addresses() }).optional(),
  });
}

function deployerSection() {
  return section({
    server_url: url(),
    token: secret(),
    insecure: flag().default(false),
    diff_mode: oneOf(["branch", "live"]).default("branch"),
    temporary_apps: oneOf(["auto", "always"]).default("auto"),
    render_concurrency: count(1, 1000).default(8),
    render_timeout: duration("24h").default(120_000),
    sync_timeout: duration("24h").default(600_000),
    request_timeout: duration("24h").default(30_000),
    poll_interval: duration("1h").default(2000),
  });
}

function hostaSection(readFile: ReadFile) {
  return section({
    app_id: count(1, Number.MAX_SAFE_INTEGER),
    private_key: privateKey(readFile),
    webhook_secret: secret(),
    api_url: url().default("https://api.github.com"),
    web_url: url().default("https://github.com"),
    commit_status: flag().default(true),
    aliases: listOf(hostName()).default([]),
  });
}

function hostbSection() {
  return section({
    url: url().default("https://gitlab.com"),
    token: secret(),
    webhook_secret: secret(),
    signing_token: signingToken().optional(),
    commit_status: flag().default(false),
    aliases: listOf(hostName()).default([]),
  });
}

function defaultsSection() {
  return section({
    autoplan: flag().default(true),
    allowed_repos: listOf(repository()).default([]),
    require_approval: flag().default(false),
    require_up_to_date: flag().default(false),
    auto_merge: flag().default(false),
    merge_method: oneOf(MERGE_METHODS).default("squash"),
    skip_no_changes: flag().default(false),
    delete_source_branch: flag().default(false),
    prune: flag().default(false),
    plan_drafts: flag().default(false),
    allow_forks: flag().default(false),
    command_access: oneOf(["write", "anyone"]).default("write"),
    allowed_bots: listOf(text()).default([]),
    protected_branches: listOf(text()).default([]),
  });
}

function authSection() {
  return section({
    enabled: flag().default(false),
    session_secret: secret().optional(),
    session_ttl: duration("365d").default(86_400_000),
    cookie_domain: text()
      .transform((domain) => (domain === "auto" ? undefined : domain))
      .optional(),
    cookie_secure: flag().default(true),
    default_role: oneOf(ROLES).default("user"),
    role_assignments: listOf(
      section({ pattern: text(), provider: oneOf([...HOST_IDS, "oidc"]).optional(), role: oneOf(ROLES) }),
    ).default([]),
    hosta: section({
      client_id: text(),
      client_secret: secret(),
      allowed_orgs: listOf(text()).default([]),
      allowed_teams: listOf(slashed("a team as <org>/<team-slug>", 2)).default([]),
    }).optional(),
    hostb: section({
      url: url().default("https://gitlab.com"),
      client_id: text(),
      client_secret: secret(),
      allowed_groups: listOf(slashed("a group's full path such as <group>/<subgroup>", 1)).default([]),
    }).optional(),
    oidc: oidcSection().optional(),
    basic: section({ users: listOf(section({ username: text(), password: secret(), role: oneOf(ROLES) })) }).optional(),
  });
}

function oidcSection() {
  return section({
    name: text(),
    issuer_url: exactUrl(),
    client_id: text(),
    client_secret: secret(),
    scopes: listOf(text()).default(["openid", "profile", "email"]),
    username_claim: text().default("preferred_username"),
    email_claim: text().default("email"),
    groups_claim: text().optional(),
    allowed_domains: listOf(hostName()).default([]),
    require_verified_email: flag().default(false),
  });
}

function repository() {
  return textLeaf("a repository as <org>/<repo>, or a pattern such as <org>/*", (value) => {
    const problem = patternProblem(value);
    if (problem !== undefined) return new Wrong(problem);
    return value.includes("/") || value === "*" ? value : new Wrong();
  });
}

/** https://docs.gitlab.com/user/project/integrations/webhooks/ : `whsec_` and the Base64 of the key. */
function signingToken() {
  return textLeaf("GitLab's signing token: whsec_ and at least 24 bytes as Base64", (value) => {
    const key = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(value)?.[1] ?? "";
    return Buffer.from(key, "base64").length >= 24 ? value : new Wrong();
  });
}
