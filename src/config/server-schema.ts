import { authSection } from "./auth-section.js";
import { applicationRepositories, defaultsSection } from "./defaults-section.js";
import { hostaSection, hostbSection } from "./host-sections.js";
import { count, duration, flag, listOf, oneOf, secret, section, text, url } from "./schema-parts.js";
import { certificateFile, storeAddress } from "./server-parts.js";
import type { ReadFile } from "./server-parts.js";

/** The whole of `svc.yaml`. A section that is left out gets its defaults; hosts that are left out are not configured. */
export function serverSchema(readFile: ReadFile) {
  return section({
    server: serverSection().prefault({}).describe("where svc listens, and how it works"),
    kvstore: kvstoreSection(readFile).prefault({}).describe("Redis; without it everything is kept in memory"),
    deployer: deployerSection().describe("Argo CD"),
    hosta: hostaSection(readFile).optional().describe("GitHub, through a GitHub App"),
    hostb: hostbSection().optional().describe("GitLab"),
    defaults: defaultsSection().prefault({}).describe("what holds in a repository, unless its own file says otherwise"),
    auth: authSection().prefault({}).describe("login for the web pages"),
    application_repositories: applicationRepositories(),
  }).meta({ anyOf: [{ required: ["hosta"] }, { required: ["hostb"] }] });
}

function serverSection() {
  return section({
    host: text().prefault("0.0.0.0").describe("address to listen on"),
    port: count(0, 65_535).prefault(4141).describe("port to listen on; 0 takes a free one"),
    base_url: url().optional().describe("where people reach svc; links and login callbacks begin with it"),
    log_level: oneOf(["debug", "info", "warn", "error"])
      .prefault("info")
      .describe("the least important messages that are logged"),
    trust_proxy: flag().prefault(false).describe("believe `X-Forwarded-*`, behind a reverse proxy that sets them"),
    concurrency: count(1, 1000).prefault(10).describe("pull requests worked on at the same time"),
    shutdown_grace: duration("1h").prefault("25s").describe("time for running work to finish after SIGTERM"),
    metrics_port: count(1, 65_535).optional().describe("port for metrics; left out: there are none"),
    data_dir: text().meta({ title: "path" }).optional().describe("folder for clones; left out: a temporary folder"),
  });
}

function kvstoreSection(readFile: ReadFile) {
  const addresses = () => listOf(storeAddress()).min(1, "at least one host:port is needed");
  return section({
    address: storeAddress().optional().describe("Redis; an IPv6 address in brackets"),
    username: text().optional().describe("user, where Redis has access lists"),
    password: secret().optional().describe("password"),
    db: count(0, 65_535)
      .prefault(0)
      .describe("number of the database; a Redis Cluster has only 0, so leave it out there"),
    tls: flag().prefault(false).describe("connect with TLS"),
    ca_file: certificateFile(readFile)
      .optional()
      .describe("certificate authorities for TLS (PEM); left out: the system's"),
    sentinel: section({
      master: text().describe("name of the master that the sentinels watch"),
      addresses: addresses().describe("the sentinels"),
      password: secret().optional().describe("password of the sentinels"),
    })
      .optional()
      .describe("a Redis that is found through Sentinel"),
    cluster: section({ addresses: addresses().describe("some nodes of the cluster") })
      .optional()
      .describe("a Redis Cluster"),
  }).meta({
    // An empty section is no object, and `required` says nothing of it.
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
    token: secret().describe("bearer token of svc's account"),
    insecure: flag().prefault(false).describe("accept a self-signed certificate, for this connection alone"),
    diff_mode: oneOf(["branch", "live"])
      .prefault("branch")
      .describe(
        "`branch`: diff against the target branch; `live`: against the cluster, at two more calls per application, the first of which makes Argo CD compare it anew. Of `ignoreDifferences` the `jsonPointers` are honoured; the plan says what else makes it approximate",
      ),
    temporary_apps: oneOf(["auto", "always"])
      .prefault("auto")
      .describe("`auto`: temporary Applications only for changed and new definitions; `always`: for every plan"),
    render_concurrency: count(1, 1000).prefault(8).describe("renders at the same time"),
    render_timeout: duration("24h").prefault("2m").describe("for one render"),
    sync_timeout: duration("24h")
      .prefault("10m")
      .describe("for one sync; after it the lock stays and the reply says that the sync is still running"),
    request_timeout: duration("24h").prefault("30s").describe("for calls other than renders"),
    poll_interval: duration("1h").prefault("2s").describe("between two looks at a running sync"),
  });
}
