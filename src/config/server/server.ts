import { readFileSync } from "node:fs";
import type * as z from "zod";
import { HOST_IDS, HOST_TITLES, type HostId, SERVER_FILE } from "../../names.js";
import { type Environment, expandEnvironment } from "../environment.js";
import type { ConfigFile } from "../files.js";
import { withHost, namesHost, withEachHost } from "../repository-names.js";
import { Expanded } from "../schema-parts.js";
import {
  camelKeys,
  type CamelKeys,
  type ConfigProblem,
  type ConfigTree,
  keyPath,
  type MapTree,
  orderedProblems,
  problemAt,
  readYaml,
  validate,
} from "../yaml-tree.js";
import { renameSections } from "./section-names.js";
import { isLoopback, type ReadFile } from "./server-parts.js";
import { serverSchema } from "./server-schema.js";

/** The server's file after validation, with all defaults. Durations are in milliseconds, keys and certificates PEM text. */
export type ServerConfig = CamelKeys<z.infer<ReturnType<typeof serverSchema>>>;

/** At most one of `address`, `sentinel` and `cluster` is set; with none, everything is kept in memory. */
export type KvstoreSection = ServerConfig["kvstore"];

/** What a repository's file may override, and what it may not. */
export type ServerDefaults = ServerConfig["defaults"];

/** A receiver of notifications. With the format `json` there is a `secret`. */
export type NotificationReceiver = ServerConfig["notifications"][number];

/** `sessionSecret` is set whenever `enabled` is true. */
export type AuthSection = ServerConfig["auth"];
export type RoleAssignment = AuthSection["roleAssignments"][number];
export type OidcSection = NonNullable<AuthSection["oidc"]>;

/** The sections that decide which accounts people log in with. */
export type LoginConfig = Pick<ServerConfig, "auth" | "hostb">;

/** Where people open the configured code hosts. */
export function hostAddresses({ hosta, hostb }: Pick<ServerConfig, "hosta" | "hostb">): Addresses {
  return { hosta: hosta?.webUrl, hostb: hostb?.url };
}

type Addresses = Readonly<Record<HostId, string | undefined>>;

/** Whether people log in with accounts of the server whose change requests svc serves: ids mean nothing on another GitLab instance. */
export function logsInWith(host: HostId, { auth, hostb }: LoginConfig): boolean {
  switch (host) {
    case "hosta":
      return auth.hosta !== undefined;
    case "hostb":
      return isSameServer(auth.hostb?.url, hostb?.url);
  }
}

function isSameServer(login: string | undefined, host: string | undefined): boolean {
  return login !== undefined && host !== undefined && new URL(login).href === new URL(host).href;
}

const LARGEST_FILE = 1024 * 1024;

type ServerConfigResult =
  | { readonly kind: "valid"; readonly config: ServerConfig; readonly warnings: readonly string[] }
  | { readonly kind: "invalid"; readonly problems: readonly ConfigProblem[] };

/** Merges files key by key; later ones win. `readFile` reads the files that keys name, such as certificates. */
export function loadServerConfig(
  files: readonly ConfigFile[],
  env: Environment,
  readFile: ReadFile = (path) => readFileSync(path, "utf8"),
): ServerConfigResult {
  const names = files.map((file) => file.name);
  const invalid = (problems: readonly ConfigProblem[]): ServerConfigResult => ({
    kind: "invalid",
    problems: orderedProblems(problems, names),
  });
  const read = files.map((file) => readYaml(file.text, file.name, LARGEST_FILE));
  const trees = read.flatMap(({ tree }) => (tree === undefined ? [] : [tree]));
  const mistakes = read.flatMap(({ problems }) => problems);
  if (trees.length < files.length) return invalid(mistakes);

  const renamed = trees.map(renameSections);
  const expanded = renamed.map(({ tree }) => expandEnvironment(tree, env));
  const unset = expanded.flatMap(({ problems }) => problems);
  const at = { file: names.at(-1) ?? SERVER_FILE, line: 1, column: 1 };
  const tree = expanded.map((each) => each.tree).reduce(mergeTrees, { kind: "map", at, entries: new Map() });
  const readVariable = (name: string) => (Object.hasOwn(env, name) ? env[name] : undefined);
  const checked = checkedBy({ readFile, readVariable }, tree);
  const found = checked.kind === "invalid" ? checked.problems : [];
  // An unset variable is already reported; its missing value needs no second problem.
  const reported = new Set(unset.map(placeKey));
  const more = found.filter((problem) => !reported.has(placeKey(problem)));
  const broken = serverRules(tree).filter((problem) => !reported.has(placeKey(problem)));
  const asWritten = new Map(renamed.map((one) => [one.tree.at.file, one.asWritten]));
  const problems = [
    ...mistakes,
    ...renamed.flatMap((one) => one.problems),
    ...[...unset, ...more, ...broken].map((problem) => asWritten.get(problem.file)?.(problem) ?? problem),
  ];
  if (checked.kind === "invalid" || problems.length > 0) return invalid(problems);
  const config: ServerConfig = camelKeys(checked.value);
  return { kind: "valid", config, warnings: [...hostWarnings(config, tree), ...pageWarnings(config)] };
}

/** Where a file that is being checked gets what it names. */
interface Sources {
  readonly readFile: ReadFile;
  readonly readVariable: (name: string) => string | undefined;
}

let schema: ReturnType<typeof serverSchema> | undefined;
let reading: Sources = { readFile: () => "", readVariable: () => undefined };

/** Builds the schema only once, since that takes longer than to check a file with it. */
function checkedBy(sources: Sources, tree: MapTree) {
  reading = sources;
  schema ??= serverSchema(
    (path) => reading.readFile(path),
    (name) => reading.readVariable(name),
  );
  return validate(tree, schema);
}

/** Merges maps at every depth; a later list or single value replaces an earlier one. */
function mergeTrees(earlier: MapTree, later: MapTree): MapTree {
  const entries = new Map(earlier.entries);
  for (const [key, entry] of later.entries) {
    const before = entries.get(key);
    entries.set(key, before === undefined ? entry : { ...entry, value: mergeValues(before.value, entry.value) });
  }
  return { ...later, entries };
}

function mergeValues(earlier: ConfigTree, later: ConfigTree): ConfigTree {
  if (earlier.kind === "map" && later.kind === "map") return mergeTrees(earlier, later);
  // An empty section overrides nothing.
  const emptySection = earlier.kind === "map" && later.kind === "scalar" && later.value === null;
  return emptySection ? earlier : later;
}

function placeKey({ file, line, column }: ConfigProblem): string {
  return `${file}:${line}:${column}`;
}

const STORE_KINDS = ["address", "sentinel", "cluster"] as const;

/** Whoever guesses one of them can send webhooks or forge sessions. */
const GUESSABLE = HOST_IDS.map((host) => [host, "webhook_secret"]);
const SESSION_SECRET = ["auth", "session_secret"];
const SHORTEST_SECRET = 16;

/** Checks rules that span keys. They read the file as written, so they report even if other values are invalid. */
export function serverRules(tree: MapTree): readonly ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  const report = (path: readonly PropertyKey[], message: string, atKey = false) =>
    problems.push(problemAt(tree, path, message, atKey));
  const has = (...path: string[]): boolean => treeAt(tree, path) !== undefined;
  if (!HOST_IDS.some((host) => has(host))) {
    report([], "at least one host is needed: a section `github` or `gitlab`");
  }
  // Webhooks without a secret are never taken, so something else has to tell what happens.
  const polls = (host: HostId) => !["", "off"].includes(textAt(tree, [host, "poll"]) ?? "");
  const signs = has("hostb", "signing_token");
  for (const host of HOST_IDS) {
    if (!has(host) || has(host, "webhook_secret") || polls(host) || (host === "hostb" && signs)) continue;
    const instead = host === "hosta" ? "github.poll" : "gitlab.signing_token or gitlab.poll";
    report([host, "webhook_secret"], `is required: text, unless ${instead} is set`);
  }
  if (isTrue(tree, ["auth", "enabled"]) && !has("auth", "session_secret")) {
    report(["auth", "session_secret"], "is required when auth.enabled is true: 32 random bytes as hex");
  }
  const guarding = isTrue(tree, ["auth", "enabled"]) ? [...GUESSABLE, SESSION_SECRET] : GUESSABLE;
  for (const path of servesThisMachineOnly(tree) ? [] : guarding) {
    const { length } = (textAt(tree, path) ?? "").trim();
    if (length > 0 && length < SHORTEST_SECRET) report(path, TOO_SHORT);
  }
  // With only one of them, svc would send a self-hosted GitHub's token to github.com, or the reverse.
  if (has("hosta", "api_url") !== has("hosta", "web_url")) {
    const missing = has("hosta", "api_url") ? "web_url" : "api_url";
    report(["hosta", missing], "is required: api_url and web_url of a self-hosted GitHub belong together");
  }
  for (const key of ["name", "hash"]) reportRepeated(tree, key, report);
  for (const [path, message] of HOST_IDS.every((host) => has(host)) ? namesOnHosts(tree) : []) {
    if (!namesHost(textAt(tree, path) ?? "")) report(path, message);
  }
  const stores = STORE_KINDS.filter((kind) => has("kvstore", kind));
  if (stores.length > 1) {
    report(["kvstore", stores[1] ?? ""], `only one of ${STORE_KINDS.join(", ")} may be set`, true);
  }
  if (has("kvstore", "cluster") && has("kvstore", "db")) {
    report(["kvstore", "db"], "leave it out with redis.cluster: a cluster has only database 0", true);
  }
  return [...problems, ...notificationRules(tree)];
}

const NAMES_NO_HOST =
  "both hosts may have a repository of this name: write `github:<org>/<repo>`, `gitlab:<org>/<repo>` or the repository's address";

const PERSON_OF_NO_HOST =
  "on either host somebody may have this name: write `github:<name>` or `gitlab:<name>`, in two entries of the list if both are meant";

/** Where the file says which repositories, people and teams have a right. */
function namesOnHosts(tree: MapTree): readonly (readonly [readonly (string | number)[], string])[] {
  const within = (list: string, keys: readonly string[], message: string) =>
    itemsAt(tree, [list]).flatMap((_, index) =>
      keys.flatMap((key) => {
        const path = [list, index, key];
        return itemsAt(tree, path).map((_, at) => [[...path, at], message] as const);
      }),
    );
  const projects = treeAt(tree, ["projects"]);
  const names = projects?.kind === "map" ? [...projects.entries.keys()] : [];
  return [
    ...names.flatMap((name) => {
      const path = ["projects", name, "repositories"];
      return itemsAt(tree, path).map((_, at) => [[...path, at], NAMES_NO_HOST] as const);
    }),
    ...within("application_repositories", ["repositories"], NAMES_NO_HOST),
    ...within("sync_requirements", ["allowed_users", "allowed_teams"], PERSON_OF_NO_HOST),
    ...within("checks", ["overridable_by"], PERSON_OF_NO_HOST),
  ];
}

function itemsAt(tree: MapTree, path: readonly (string | number)[]): readonly ConfigTree[] {
  const found = treeAt(tree, path);
  return found?.kind === "list" ? found.items : [];
}

/** Programs can check signatures and chats cannot. The log and the status page tell receivers apart by name. */
function notificationRules(tree: MapTree): readonly ConfigProblem[] {
  const list = treeAt(tree, ["notifications"]);
  const receivers = list?.kind === "list" ? list.items : [];
  const names = receivers.map((one) => (one.kind === "map" ? textAt(one, ["name"]) : undefined));
  return receivers.flatMap((one, index) => {
    if (one.kind !== "map") return [];
    const found: ConfigProblem[] = [];
    const report = (key: string, message: string) =>
      found.push(problemAt(tree, ["notifications", index, key], message));
    const [format, signed] = [textAt(one, ["format"]), treeAt(one, ["secret"]) !== undefined];
    if (format === "json" && !signed) {
      report("secret", 'is required with `format: json`: echo "whsec_$(openssl rand -base64 32)"');
    }
    if (signed && (format === "slack" || format === "teams")) {
      report("secret", `leave it out with \`format: ${format}\`, which cannot check a signature`);
    }
    if (names[index] !== undefined && names.indexOf(names[index]) < index) {
      report("name", "another receiver has this name");
    }
    return found;
  });
}

/** Tokens need distinct names for the audit trail, and distinct values. */
function reportRepeated(
  tree: MapTree,
  key: string,
  report: (path: readonly PropertyKey[], message: string) => void,
): void {
  const list = treeAt(tree, ["auth", "api_tokens"]);
  const seen = new Set<string>();
  for (const [index, token] of (list?.kind === "list" ? list.items : []).entries()) {
    const value = token.kind === "map" ? textAt(token, [key]) : undefined;
    if (value === undefined) continue;
    if (seen.has(value)) report(["auth", "api_tokens", index, key], `another token has the same ${key}`);
    seen.add(value);
  }
}

function hostWarnings(config: ServerConfig, tree: MapTree): readonly string[] {
  const served = HOST_IDS.filter((host) => config[host] !== undefined);
  const placed = (path: readonly (string | number)[]) => [keyPath(path), textAt(tree, path) ?? ""] as const;
  const listed = (path: readonly (string | number)[]) => itemsAt(tree, path).map((_, at) => placed([...path, at]));
  const allowed = listed(["defaults", "allowed_repos"]);
  const entitled = namesOnHosts(tree).map(([path]) => placed(path));
  // A receiver may hear of both hosts by one name: that does no harm.
  const told = config.notifications.flatMap((_, index) => listed(["notifications", index, "repositories"]));
  const idle = [...allowed, ...entitled, ...told].flatMap(([place, name]) => {
    const { host } = withHost(name);
    if (host === undefined || served.includes(host)) return [];
    return [`${place}: ${HOST_TITLES[host]} is not configured, so it names nothing`];
  });
  const titles = served.map((id) => HOST_TITLES[id]).join(" and of ");
  const unclear = served.length < 2 ? [] : allowed.filter(([, name]) => !namesHost(name));
  return [
    ...idle,
    ...unclear.map(
      ([place, name]) => `${place}: means repositories of ${titles}; to mean one, write ${withEachHost(served, name)}`,
    ),
  ];
}

function pageWarnings({ auth, server }: ServerConfig): readonly string[] {
  const warnings: string[] = [];
  if (server.baseUrl !== undefined && new URL(server.baseUrl).pathname !== "/") {
    warnings.push(
      "server.base_url has a path, and the links of svc's pages begin at the root: give svc a host name of its own",
    );
  }
  if (!auth.enabled) {
    const idle = "auth.api_tokens: not accepted while auth.enabled is false";
    return auth.apiTokens.length === 0 ? warnings : [...warnings, idle];
  }
  const open = (key: string, keys: string) =>
    warnings.push(`auth.${key}: everyone with an account there can log in; restrict it with ${keys}`);
  if (auth.hosta !== undefined && auth.hosta.allowedOrgs.length + auth.hosta.allowedTeams.length === 0) {
    open("github", "allowed_orgs or allowed_teams");
  }
  if (auth.hostb?.allowedGroups.length === 0) open("gitlab", "allowed_groups");
  if (auth.oidc?.allowedDomains.length === 0) open("oidc", "allowed_domains");
  if (auth.basic !== undefined) {
    warnings.push("auth.basic: users with passwords in the file are for local development only");
  }
  const oauth = auth.hosta ?? auth.hostb ?? auth.oidc;
  if (oauth === undefined && auth.basic === undefined) {
    warnings.push("auth.enabled: no provider is configured, so nobody can log in; add github, gitlab, oidc or basic");
  }
  if (oauth !== undefined && server.baseUrl === undefined) {
    warnings.push(
      "server.base_url is not set, but the callback addresses registered with the login providers start with it",
    );
  }
  if ((auth.sessionSecret ?? "").length < 32) {
    warnings.push("auth.session_secret is shorter than 32 characters; use 32 random bytes as hex");
  }
  return warnings;
}

const TOO_SHORT =
  `has fewer than ${SHORTEST_SECRET} characters and could be guessed; use 32 random bytes as hex (openssl rand -hex 32). ` +
  "Shorter ones are accepted only if server.host, and server.base_url if it is set, are loopback addresses";

/** Whether only this machine reaches svc: it listens on loopback, and no proxy publishes it. */
function servesThisMachineOnly(tree: MapTree): boolean {
  const baseUrl = textAt(tree, ["server", "base_url"]);
  const published = baseUrl !== undefined && !(URL.canParse(baseUrl) && isLoopback(new URL(baseUrl).hostname));
  return !published && isLoopback(textAt(tree, ["server", "host"]) ?? "");
}

function textAt(tree: MapTree, path: readonly (string | number)[]): string | undefined {
  const found = treeAt(tree, path);
  if (found?.kind !== "scalar") return undefined;
  if (found.value instanceof Expanded) return found.value.text;
  return typeof found.value === "string" ? found.value : undefined;
}

function isTrue(tree: MapTree, path: readonly string[]): boolean {
  const found = treeAt(tree, path);
  if (found?.kind !== "scalar") return false;
  return found.value === true || (found.value instanceof Expanded && found.value.text === "true");
}

function treeAt(tree: ConfigTree, path: readonly (string | number)[]): ConfigTree | undefined {
  let current: ConfigTree | undefined = tree;
  for (const part of path) {
    if (current?.kind === "list") current = current.items[Number(part)];
    else current = current?.kind === "map" ? current.entries.get(String(part))?.value : undefined;
  }
  return current;
}
