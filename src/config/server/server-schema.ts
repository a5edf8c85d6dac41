import { HOST_IDS, SERVICE } from "../../names.js";
import { applicationRepositories, defaultsSection } from "../defaults-section.js";
import {
  count,
  duration,
  durationOrOff,
  flag,
  listOf,
  oneOf,
  redaction,
  secret,
  section,
  text,
  url,
} from "../schema-parts.js";
import { authSection } from "./auth-section.js";
import { checksSection } from "./checks-section.js";
import { hostSections } from "./host-sections.js";
import { notificationsSection } from "./notifications-section.js";
import { certificateFile, commandWord, type ReadFile, type ReadVariable, storeAddress } from "./server-parts.js";

/** `svc.yaml`. An omitted section gets its defaults; an omitted host is not configured. */
export function serverSchema(readFile: ReadFile, readVariable: ReadVariable) {
  return section({
    server: serverSection().prefault({}).describe("where svc listens, and how it works"),
    kvstore: kvstoreSection(readFile).prefault({}).describe("Redis; without it everything is kept in memory"),
    deployer: deployerSection().describe("Argo CD"),
    comments: commentsSection()
      .prefault({})
      .describe("what svc posts, and what it leaves to its pages and the commit status"),
    ...hostSections(readFile),
    defaults: defaultsSection()
      .prefault({})
      .describe("settings for all repositories, unless a repository's own file overrides them"),
    auth: authSection().prefault({}).describe("login for the web pages"),
    application_repositories: applicationRepositories(),
    checks: checksSection(readVariable),
    notifications: notificationsSection(),
    redact: listOf(redaction(), 50)
      .prefault([])
      .describe(
        "regular expressions (RE2's syntax) for what is replaced by `(redacted)` in each line of diffs and of Argo CD's messages",
      ),
  }).meta({ anyOf: HOST_IDS.map((id) => ({ required: [id] })) });
}

function serverSection() {
  return section({
    host: text().prefault("0.0.0.0").describe("address to listen on"),
    port: count(0, 65_535).prefault(4141).describe("port to listen on; 0 takes a free one"),
    base_url: url().optional().describe("public address of svc; links and login callbacks start with it"),
    command: commandWord()
      .prefault(SERVICE)
      .describe("the word that a comment begins with to be a command; replies, statuses and pages name it"),
    log_level: oneOf(["debug", "info", "warn", "error"]).prefault("info").describe("lowest level that is logged"),
    trust_proxy: flag()
      .prefault(false)
      .describe("trust `X-Forwarded-*` headers, behind a reverse proxy that sets them"),
    concurrency: count(1, 1000).prefault(10).describe("pull requests handled at the same time"),
    shutdown_grace: duration("1h").prefault("25s").describe("time for running work to finish after SIGTERM"),
    metrics_port: count(1, 65_535).optional().describe("port for metrics; if omitted: no metrics"),
    data_dir: text().meta({ title: "path" }).optional().describe("folder for clones; if omitted: a temporary folder"),
  });
}

function commentsSection() {
  return section({
    plan: oneOf(["auto", "one", "all"])
      .prefault("auto")
      .describe(
        "`one`: one comment per plan, with the smallest diffs; the others are on svc's page. `all`: as many comments as the diffs need, eight at most. `auto`: `one` if `server.base_url` is set and `auth.enabled` is true, otherwise `all`",
      ),
    nothing_affected: oneOf(["status", "comment"])
      .prefault("status")
      .describe(
        "how an automatic plan says that no application is affected. `status`: with the commit status alone where that could be set; `comment`: with a comment",
      ),
    remind_after: durationOrOff("52w")
      .prefault("24h")
      .describe(
        "how long a pull request may be deployed and not merged before svc reminds of it, and then once a day; `off`: never",
      ),
  });
}

function kvstoreSection(readFile: ReadFile) {
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

function deployerSection() {
  return section({
    server_url: url().describe("where svc reaches Argo CD"),
    ui_url: url().optional().describe("address of Argo CD for people, for links in comments; if omitted: `server_url`"),
    token: secret().describe("bearer token of svc's account"),
    insecure: flag().prefault(false).describe("accept a self-signed certificate, for this connection alone"),
    diff_mode: oneOf(["branch", "live", "both"])
      .prefault("branch")
      .describe(
        "`branch`: diff against the target branch; `live`: against the cluster, with two more calls per application, the first of which makes Argo CD refresh it; `both`: against the target branch, and beside it what the cluster already differs by. The plan names the objects for which a comparison with the cluster is approximate",
      ),
    server_dry_run: oneOf(["auto", "off"])
      .prefault("auto")
      .describe(
        "`auto`: with Argo CD 3.2 or newer, plans tell what Kubernetes will refuse of the changed objects: Argo CD tries them in the cluster, and nothing is stored; two more calls per changed application, more where something is refused. `off`: Kubernetes is not asked",
      ),
    temporary_apps: oneOf(["auto", "always"])
      .prefault("auto")
      .describe("`auto`: temporary Applications only for changed and new definitions; `always`: for every plan"),
    render_concurrency: count(1, 1000).prefault(8).describe("renders at the same time"),
    preview_limit: count(0, 10_000)
      .prefault(100)
      .describe(
        "how many applications a plan previews at most that no sync deploys: new and deleted ones, and those that ApplicationSets add, change or remove; the others are named without their objects. `0`: none",
      ),
    render_timeout: duration("24h").prefault("2m").describe("for one render"),
    sync_timeout: duration("24h")
      .prefault("10m")
      .describe("for one sync; after that the lock stays and the reply says that the sync is still running"),
    request_timeout: duration("24h").prefault("30s").describe("for calls other than renders"),
    poll_interval: duration("1h").prefault("2s").describe("between two polls of a running sync"),
  });
}
