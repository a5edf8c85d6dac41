import { HOST_IDS, SERVICE } from "../../names.js";
import { syncRequirements, team } from "../repository/repository-schema.js";
import {
  count,
  defaultsSection,
  duration,
  durationOrOff,
  flag,
  formed,
  listOf,
  mapOf,
  namePattern,
  oneOf,
  pattern,
  redaction,
  repository,
  repositoryOfHost,
  secret,
  section,
  signingSecret,
  text,
  textLeaf,
  url,
  Wrong,
} from "../schema-parts.js";
import { authSection, hostSections, kvstoreSection, type ReadFile, requiredOneOf } from "./server-parts.js";

/** `svc.yaml`. An omitted section gets its defaults; an omitted host is not configured. */
export function serverSchema(readFile: ReadFile, readVariable: ReadVariable) {
  return section({
    server: serverSection().prefault({}).describe("where svc listens, and how it works"),
    kvstore: kvstoreSection(readFile).prefault({}).describe("Redis; without it everything is kept in memory"),
    deployer: deployerSection().describe("Argo CD"),
    comments: commentsSection()
      .prefault({})
      .describe("what svc posts, and what it leaves to its pages and the commit status"),
    after_merge: afterMergeSection().prefault({}).describe("what svc does after a merge"),
    ...hostSections(readFile),
    defaults: defaultsSection()
      .prefault({})
      .describe("settings for all repositories, unless a repository's own file overrides them"),
    auth: authSection().prefault({}).describe("login for the web pages"),
    application_repositories: applicationRepositories(),
    projects: projects(),
    sync_requirements: syncRequirements()
      .prefault([])
      .describe(
        "what single applications require at least, whichever repository deploys them: a repository's file may require more, and lifts nothing of it. With both hosts configured, people and teams have the host's prefix, as in `github:ana`",
      ),
    sensitive_kinds: sensitiveKinds(),
    checks: checksSection(readVariable),
    notifications: notificationsSection(),
    redact: listOf(redaction(), 50)
      .prefault([])
      .describe(
        "regular expressions (RE2's syntax) for what is replaced by `(redacted)` in each line of diffs and of Argo CD's messages",
      ),
  }).meta({ anyOf: requiredOneOf(...HOST_IDS) });
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
    concurrency: count(1, 1000)
      .prefault(10)
      .describe("pull requests that each process handles at the same time, beside those that wait for a sync"),
    shutdown_grace: duration("1h").prefault("25s").describe("time for running work to finish after SIGTERM"),
    metrics_port: count(1, 65_535).optional().describe("port for metrics; if omitted: no metrics"),
    timezone: timeZone(),
    data_dir: text()
      .meta({ title: "path" })
      .optional()
      .describe("folder for clones, which no other process uses; if omitted: a temporary folder"),
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
    remind_after: durationOrOff("52w", "1m")
      .prefault("24h")
      .describe(
        "how long a pull request may be deployed and not merged before svc reminds of it, a minute at least, and then once a day; `off`: never",
      ),
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
        "`auto`: with Argo CD 3.2 or newer, plans tell what Kubernetes will refuse of the changed objects and what it makes of them: Argo CD tries them in the cluster, and nothing is stored; two more calls per changed application, more where something is refused. Against the target branch they are asked once the plan is posted, and their answers are added by an edit. `off`: Kubernetes is not asked",
      ),
    temporary_apps: oneOf(["auto", "always"])
      .prefault("auto")
      .describe("`auto`: temporary Applications only for changed and new definitions; `always`: for every plan"),
    render_concurrency: count(1, 1000).prefault(8).describe("renders of each process at the same time"),
    preview_limit: count(0, 10_000)
      .prefault(100)
      .describe(
        "how many applications a plan previews at most that no sync deploys: new ones, and those that ApplicationSets add or change; deleted ones are counted apart, up to the same number. The others are named without their objects, and a deletion among them needs an approval. `0`: none",
      ),
    render_timeout: duration("24h").prefault("2m").describe("for one render"),
    sync_timeout: duration("24h")
      .prefault("10m")
      .describe("for one sync; after that the lock stays and the reply says that the sync is still running"),
    request_timeout: duration("24h").prefault("30s").describe("for calls other than renders"),
    poll_interval: duration("1h").prefault("2s").describe("between two polls of a running sync"),
  });
}

const MOST_CHECKS = 20;
const NAME = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,48}[A-Za-z0-9])?$/;
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Variables that every check gets, besides those its entry names. */
const CHECK_VARIABLES = ["SVC_APPLICATION", "SVC_REPOSITORY", "SVC_NUMBER", "SVC_NAMESPACE", "SVC_BASE_FILE"] as const;

/** `checks`: programs that examine what a plan renders; in the server's file alone, since they run on its machine. */
function checksSection(readVariable: ReadVariable) {
  return listOf(check(readVariable), MOST_CHECKS)
    .superRefine((checks, context) => {
      checks.forEach(({ name }, index) => {
        if (checks.findIndex((one) => one.name === name) === index) return;
        context.addIssue({ code: "custom", path: [index, "name"], message: "an earlier check has this name" });
      });
    })
    .prefault([])
    .describe("programs that check what a plan renders");
}

function check(readVariable: ReadVariable) {
  return section({
    name: formed("up to 50 letters, digits, dots, dashes and underscores", NAME, "name").describe(
      "the name in plans and answers",
    ),
    command: listOf(text(), 100)
      .min(1, "the program is needed")
      .superRefine(([program = ""], context) => {
        if (!program.includes("/") || program.startsWith("/")) return;
        const message = "the program needs its whole path, or a name without a path: a check runs in an empty folder";
        context.addIssue({ code: "custom", path: [0], message });
      })
      .describe(
        "the program and its arguments, without a shell; a name without a path is looked up in svc's `PATH`. It gets the manifests of one application as YAML documents on standard input, and exits with 0 if they pass",
      ),
    applications: namePattern().prefault("*").describe("which applications are checked"),
    required: flag().prefault(true).describe("a sync is refused while the check fails"),
    timeout: duration("10m").prefault("1m").describe("after this time the program is ended, and the check has failed"),
    env: listOf(variable(readVariable), 50)
      .prefault([])
      .describe("environment variables of svc that the program gets; it gets no others but those of the check"),
    overridable_by: listOf(team(), 20)
      .prefault([])
      .describe(
        "teams (`<org>/<team-slug>` on GitHub, a group's full path on GitLab): an approval of the head commit by a member lets it be synced although the check fails. With both hosts configured they have the host's prefix, as in `github:acme/platform`",
      ),
  }).superRefine(({ required, overridable_by: teams }, context) => {
    if (required || teams.length === 0) return;
    const message = "leave it out, or set required: a check that is not required keeps nothing from being synced";
    context.addIssue({ code: "custom", path: ["overridable_by"], message });
  });
}

function variable(readVariable: ReadVariable) {
  return textLeaf("the name of an environment variable", (name) => {
    if (!VARIABLE.test(name)) return new Wrong();
    if (CHECK_VARIABLES.some((own) => own === name)) return new Wrong("svc sets this variable itself");
    const value = readVariable(name);
    return value === undefined ? new Wrong("no environment variable of this name is set") : { name, value };
  }).meta({ title: "name", type: "string", pattern: VARIABLE.source });
}

/** Events that receivers can subscribe to. */
export const NOTIFICATION_EVENTS = [
  "synced",
  "failed",
  "rolled_back",
  "merged",
  "not_merged",
  "lock_taken_over",
  "check_overridden",
  "unavailable",
  "token_expires",
  "rolled_out",
  "rollout_failed",
] as const;

const RECEIVER_NAME = /^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/;
/** Each receiver holds a connection to Redis. */
const MOST_RECEIVERS = 20;

/** `notifications`: who learns what was deployed; in the server's file alone, so that a repository's file sends nothing anywhere. */
function notificationsSection() {
  const receiver = section({
    name: formed(
      "1 to 40 lower-case letters, digits and dashes, of which the first and the last are no dashes",
      RECEIVER_NAME,
      "name",
    ).describe("what the log, the metrics and the status page call the receiver; no two have the same"),
    url: receiverAddress().describe("where messages are posted; for Slack and Teams the address is a secret"),
    format: oneOf(["slack", "teams", "json"]).describe(
      "`slack`: an incoming webhook of Slack, or of a chat that takes the same; `teams`: a workflow of Microsoft Teams; `json`: signed, for programs",
    ),
    events: listOf(oneOf(NOTIFICATION_EVENTS))
      .min(1, "at least one event is needed; leave the key out for all of them")
      .prefault([...NOTIFICATION_EVENTS])
      .describe("what the receiver is told of"),
    repositories: listOf(repository())
      .prefault([])
      .describe("only these repositories, with or without a host's prefix as in `defaults.allowed_repos`; empty: all"),
    applications: listOf(namePattern()).prefault([]).describe("only these applications; empty: all"),
    secret: signingSecret("a signing secret: whsec_ and at least 24 bytes as Base64")
      .optional()
      .describe(
        "signs the messages: `whsec_` and 24 bytes or more as Base64; required with `format: json`, and refused with the others",
      ),
  }).meta({
    // Mirrors `notificationRules`.
    not: {
      type: "object",
      required: ["format"],
      anyOf: [
        { properties: { format: { const: "json" } }, not: { required: ["secret"] } },
        { properties: { format: { enum: ["slack", "teams"] } }, required: ["secret"] },
      ],
    },
  });
  return listOf(receiver, MOST_RECEIVERS).prefault([]).describe("who is told what was deployed");
}

/** Unlike `url()`, allows a query: addresses of workflows carry their signature there. Messages never quote it. */
function receiverAddress() {
  const allowed = "an address that begins with http:// or https://, without user and fragment";
  return textLeaf(allowed, (value) => {
    if (!/^https?:\/\/[^\s#]+$/i.test(value) || !URL.canParse(value)) return new Wrong();
    const { username, password } = new URL(value);
    return username === "" && password === "" ? value : new Wrong();
  }).meta({ title: "address", type: "string", pattern: "^(?![^/]*//[^/?]*@)[hH][tT][tT][pP][sS]?://[^\\s#]+$" });
}

/** Reads an environment variable; undefined if it is not set. */
type ReadVariable = (name: string) => string | undefined;

const COMMAND_WORD = /^[a-z](?:[a-z0-9-]{0,28}[a-z0-9])?$/;

/** The first word of a command comment. Starts with a letter, since Markdown reads `1.` and `-` as lists. */
function commandWord() {
  return formed(
    "1 to 30 lower-case letters, digits and dashes, of which the first is a letter and the last no dash",
    COMMAND_WORD,
    "word",
  );
}

function timeZone() {
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

function afterMergeSection() {
  return section({
    timeout: durationOrOff("24h", "1m")
      .prefault("30m")
      .describe(
        "how long svc follows what takes effect at a merge, until it runs the merged commit or is gone; what does neither by then has failed. `off`: nothing is followed",
      ),
  });
}

const KIND = /^[A-Z][A-Za-z0-9]{0,62}(?:\.[a-z0-9](?:[a-z0-9.-]{0,250}[a-z0-9])?)?$/;
const LABEL = /^[A-Za-z0-9][A-Za-z0-9._/-]{0,315}(?:=[A-Za-z0-9._-]{0,63})?$/;

/** A name of Kubernetes, of which an AppProject's resource has one. */
const PROJECT = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/;

/** `projects`. Only the server's file has it: it limits what the writers of repositories can do. */
function projects() {
  const project = section({
    repositories: listOf(repositoryOfHost(), 1000).describe(
      "repositories whose pull requests may introduce applications into this AppProject, or move them there; an empty list: none",
    ),
  });
  return mapOf("AppProject", PROJECT, project)
    .prefault({})
    .describe(
      "who may introduce applications into an AppProject: `github:acme/deploy`, `gitlab:acme/*` or a repository's address, as in `application_repositories`. A project that is not listed is open to every repository",
    );
}

/** `sensitive_kinds`. Only the server's file has it: it limits what the writers of repositories can do. */
function sensitiveKinds() {
  const entry = section({
    kind: formed("a kind with its group, such as AppProject.argoproj.io or Secret", KIND, "`<Kind>.<group>`").describe(
      "the kind, and its API group after a dot; without one that of Kubernetes' core",
    ),
    name: pattern().optional().describe("only objects of this name"),
    label: formed("a label as `<key>` or `<key>=<value>`", LABEL, "label")
      .optional()
      .describe("only objects with this label on either side, as `<key>` or `<key>=<value>`"),
  });
  return listOf(entry, 200)
    .optional()
    .describe(
      "kinds of objects that set limits or grant rights: whoever creates or changes one needs an approval, and whoever deletes a limit or what takes others along, whatever other rules say. The list replaces the default, which `svc.example.yaml` shows; `[]`: none",
    );
}

function applicationRepositories() {
  return listOf(
    section({
      application: namePattern().describe("the application"),
      repositories: listOf(repositoryOfHost()).describe("repositories that may drive it"),
    }),
  )
    .prefault([])
    .describe(
      "which repositories may drive an application that does not point at them: `github:acme/deploy`, `gitlab:acme/*` or a repository's address; the prefix may be left out where one host is configured",
    );
}
