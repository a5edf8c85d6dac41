import { parseArgs } from "node:util";
import { type Role, ROLES } from "../core/model/settings.js";
import { HOST_IDS, HOST_PREFIXES, type HostId, SERVER_FILE } from "../names.js";
import { isRepositoryFile } from "./files.js";
import type { HelpTopic } from "./help.js";
import { nearest } from "./nearest.js";
import { repositoryProblem } from "./repository-names.js";
import { url as webAddress } from "./schema-parts.js";

/** The arguments of `svc setup`. Addresses have no trailing slash. */
export type SetupRequest = AppRequest | HookRequest;

interface EverySetup {
  /** Folder of the files with secrets. */
  readonly secrets: string;
}

/** Registers a GitHub App. */
export interface AppRequest extends EverySetup {
  readonly host: Extract<HostId, "hosta">;
  /** Public address of svc, which webhooks are sent to; undefined if none reach it, so that it polls. */
  readonly url: string | undefined;
  /** Root of GitHub's web pages. */
  readonly web: string;
  /** Owner of the App; undefined means whoever creates it. */
  readonly organization: string | undefined;
  /** Name of the App; undefined means the default. */
  readonly name: string | undefined;
  /** Patterns of the repositories that svc serves, of an App that everybody may install; undefined for a private App. */
  readonly publicFor: readonly string[] | undefined;
  /** Where setup serves its pages. Port 0 picks a free one. */
  readonly listen: { readonly host: string; readonly port: number };
}

/** Creates webhooks in GitLab. */
export interface HookRequest extends EverySetup {
  readonly host: Extract<HostId, "hostb">;
  /** Public address of svc, which webhooks are sent to. */
  readonly url: string;
  /** Root of the instance. */
  readonly web: string;
  /** Full paths of projects, or of one group. */
  readonly targets: readonly { readonly kind: "project" | "group"; readonly path: string }[];
  /** Read the token of svc's account from standard input instead of the environment. */
  readonly tokenFromStdin: boolean;
}

interface Help {
  readonly kind: "help";
  readonly topic: HelpTopic;
}

/** `message` says what is wrong, without a full stop; `topic` is the help that says what would be right. */
interface Invalid {
  readonly kind: "invalid";
  readonly message: string;
  readonly topic: HelpTopic;
}

type SetupArguments = { readonly kind: "setup"; readonly request: SetupRequest } | Help;

/** Logins of organizations: https://docs.github.com/enterprise-cloud@latest/admin/managing-iam/iam-configuration-reference */
const ORGANIZATION = /^[A-Za-z0-9](?:[A-Za-z0-9_-]{0,98}[A-Za-z0-9])?$/;
/** Full paths of GitLab's groups and projects: https://docs.gitlab.com/user/reserved_names/ */
const PATH = /^[A-Za-z0-9_.][A-Za-z0-9_.-]*(?:\/[A-Za-z0-9_.][A-Za-z0-9_.-]*)*$/;
/** GitHub refuses a longer name of an App. */
const LONGEST_NAME = 34;

const PROGRAM = {
  config: { type: "string", short: "c", multiple: true },
  help: { type: "boolean", short: "h" },
  version: { type: "boolean", short: "v" },
  online: { type: "boolean" },
} as const;
const EVERY = { url: { type: "string" }, secrets: { type: "string" }, help: { type: "boolean", short: "h" } } as const;
const APP = {
  ...EVERY,
  poll: { type: "boolean" },
  github: { type: "string" },
  organization: { type: "string" },
  name: { type: "string" },
  public: { type: "boolean" },
  allow: { type: "string", multiple: true },
  host: { type: "string" },
  port: { type: "string" },
} as const;
const HOOK = {
  ...EVERY,
  gitlab: { type: "string" },
  project: { type: "string", multiple: true },
  group: { type: "string" },
  "token-stdin": { type: "boolean" },
} as const;

class WrongArgument extends Error {
  override readonly name = "WrongArgument";
}

function parseSetup([product = "", ...rest]: readonly string[]): SetupArguments {
  switch (product) {
    case "github":
      return parseApp(rest);
    case "gitlab":
      return parseHook(rest);
    case "-h":
    case "--help":
      return { kind: "help", topic: "setup" };
    default:
      throw new WrongArgument("write `setup github` or `setup gitlab`, and then its options");
  }
}

function parseApp(args: readonly string[]): SetupArguments {
  refuseMisuse(args, APP);
  const { values } = parseArgs({ args: [...args], options: APP });
  const { organization, name, host = "127.0.0.1", port = "0" } = values;
  if (values.help === true) return { kind: "help", topic: "setup github" };
  if (organization !== undefined && !ORGANIZATION.test(organization)) {
    throw new WrongArgument("--organization takes the name of an organization as in its address");
  }
  if (name !== undefined && (name.trim() === "" || name.length > LONGEST_NAME)) {
    throw new WrongArgument(`--name takes 1 to ${LONGEST_NAME} characters`);
  }
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535) {
    throw new WrongArgument("--port takes a number from 0 to 65535");
  }
  if (host.trim() === "") throw new WrongArgument("--host takes an address of this machine");
  const publicFor = repositoriesOf(values);
  const web = address("--github", values.github ?? "https://github.com");
  const listen = { host, port: Number(port) };
  const url = values.poll === true ? undefined : hookUrl(values, ", or --poll where no webhook reaches it");
  if (url === undefined && values.url !== undefined) throw new WrongArgument("give --url or --poll, not both");
  const secrets = folderOf(values);
  return { kind: "setup", request: { host: "hosta", url, secrets, web, organization, name, publicFor, listen } };
}

/** Strangers can install a public App on repositories of theirs, so the list of those that svc serves must not be empty. */
function repositoriesOf(values: { readonly public?: boolean; readonly allow?: string[] }) {
  const { allow = [] } = values;
  if (values.public !== true) {
    if (allow.length === 0) return undefined;
    throw new WrongArgument(
      "--allow belongs to --public: a private App is installed on its owner's repositories alone",
    );
  }
  if (allow.length === 0) {
    throw new WrongArgument(
      "--public needs --allow, such as --allow 'acme/*', which may be repeated: everybody can install a public App, and svc serves these repositories alone",
    );
  }
  const wrong = allow.find((one) => one.split("/").length !== 2 || one.startsWith("*") || repositoryProblem(one));
  if (wrong === undefined) return allow;
  throw new WrongArgument(`--allow takes repositories of one owner, such as acme/shop or 'acme/*', not ${wrong}`);
}

function parseHook(args: readonly string[]): SetupArguments {
  refuseMisuse(args, HOOK);
  const { values } = parseArgs({ args: [...args], options: HOOK });
  if (values.help === true) return { kind: "help", topic: "setup gitlab" };
  const { project: projects = [], group, "token-stdin": tokenFromStdin = false } = values;
  if (projects.length > 0 === (group !== undefined)) {
    throw new WrongArgument("give --project, which may be repeated, or --group: where the webhook is created");
  }
  const targets = [
    ...projects.map((path) => ({ kind: "project", path }) as const),
    ...(group === undefined ? [] : [{ kind: "group", path: group } as const]),
  ];
  const wrong = targets.find(({ kind, path }) => !PATH.test(path) || (kind === "project" && !path.includes("/")));
  if (wrong !== undefined) {
    throw new WrongArgument(
      `--${wrong.kind} takes a full path, such as ${wrong.kind === "group" ? "acme" : "acme/shop"}`,
    );
  }
  const web = address("--gitlab", values.gitlab ?? "https://gitlab.com");
  const url = hookUrl(values);
  return { kind: "setup", request: { host: "hostb", url, secrets: folderOf(values), web, targets, tokenFromStdin } };
}

function hookUrl({ url }: { readonly url?: string | undefined }, otherwise = ""): string {
  if (url !== undefined) return address("--url", url);
  throw new WrongArgument(`--url is required: the public address of svc, such as https://svc.example.org${otherwise}`);
}

function folderOf({ secrets = "secrets" }: { readonly secrets?: string | undefined }): string {
  if (secrets.trim() === "") throw new WrongArgument("--secrets takes the name of a folder");
  return secrets;
}

function address(option: string, text: string): string {
  const read = webAddress().safeParse(text);
  if (!read.success) throw new WrongArgument(`${option} takes an address that begins with https:// and has no query`);
  return read.data;
}

type CommandLine =
  | { readonly kind: "run"; readonly files: readonly string[] }
  /** With `online`, also contacts the systems that the configuration names. */
  | { readonly kind: "check"; readonly files: readonly string[]; readonly online: boolean }
  | { readonly kind: "token" }
  | { readonly kind: "set-role"; readonly files: readonly string[]; readonly id: string; readonly role: Role }
  | { readonly kind: "setup"; readonly request: SetupRequest }
  | Help
  | { readonly kind: "version" }
  | Invalid;

/** What people may write first. */
const COMMANDS = ["check", "setup", "token", "users"] as const;

/** Parses the arguments after the program's name. */
export function parseCommandLine(argv: readonly string[]): CommandLine {
  try {
    if (argv[0] === "setup") return parseSetup(argv.slice(1));
    if (argv[0] === "help") return { kind: "help", topic: topicOf(argv.slice(1)) };
    refuseMisuse(argv, PROGRAM, "with-words");
    return parseProgram(argv);
  } catch (error) {
    if (!(error instanceof WrongArgument)) throw error;
    return { kind: "invalid", message: error.message, topic: topicOf(argv) };
  }
}

function parseProgram(argv: readonly string[]): CommandLine {
  const { values, positionals } = parseArgs({ args: [...argv], allowPositionals: true, options: PROGRAM });
  const [command, ...rest] = positionals;
  const { config: files = [], online = false } = values;
  if (values.help === true) return { kind: "help", topic: topicOf(positionals) };
  if (values.version === true) return { kind: "version" };
  const named = command === "check" ? [...files, ...rest] : files;
  if (named.includes("")) throw new WrongArgument("the name of a file is empty");
  if (online && command !== "check") throw new WrongArgument("`--online` goes with `check`");
  // Only the server's file says which systems to ask.
  const lacksServer = online && named.every(isRepositoryFile);
  const given = named.length === 0 || lacksServer ? [SERVER_FILE, ...named] : named;
  switch (command) {
    case undefined:
      return { kind: "run", files: given };
    case "check":
      return { kind: "check", files: given, online };
    case "token":
      if (rest.length > 0) throw new WrongArgument("`token` takes no further words");
      return { kind: "token" };
    case "users":
      return setRole(rest, given);
    default:
      throw new WrongArgument(`unknown command \`${command}\`; ${commandMeant(command)}`);
  }
}

function commandMeant(word: string): string {
  const meant = nearest(word, COMMANDS);
  return meant === undefined
    ? "there are `check`, `setup`, `token` and `users set-role`"
    : `did you mean \`${meant === "users" ? "users set-role" : meant}\`?`;
}

/** The help on the command that these arguments begin with. */
function topicOf(argv: readonly string[]): HelpTopic {
  const [command, second] = argv.filter((word) => !word.startsWith("-"));
  switch (command) {
    case "check":
    case "token":
      return command;
    case "users":
      return "users set-role";
    case "setup":
      return second === "github" || second === "gitlab" ? `setup ${second}` : "setup";
    case undefined:
    default:
      return "program";
  }
}

function setRole([verb, id = "", written, ...more]: readonly string[], files: readonly string[]): CommandLine {
  const role = ROLES.find((one) => one === written);
  if (verb !== "set-role" || id === "" || role === undefined || more.length > 0) {
    throw new WrongArgument(`write \`users set-role ID ROLE\`, where ROLE is ${ROLES.join(" or ")}`);
  }
  // Stored ids begin with the names of the specification.
  const host = HOST_IDS.find((each) => id.startsWith(`${HOST_PREFIXES[each][0]}:`));
  const stored = host === undefined ? id : id.replace(HOST_PREFIXES[host][0], host);
  return { kind: "set-role", files, id: stored, role };
}

type Options = Readonly<Record<string, { readonly type: "string" | "boolean"; readonly short?: string }>>;

/** Refuses in our own words what `parseArgs` would refuse. */
function refuseMisuse(args: readonly string[], options: Options, words?: "with-words"): void {
  const { tokens } = parseArgs({ args: [...args], options, strict: false, tokens: true });
  for (const token of tokens) {
    if (token.kind === "positional" && words === undefined) {
      throw new WrongArgument(`\`${token.value}\` stands where an option is expected`);
    }
    if (token.kind !== "option") continue;
    const { name, rawName, value, inlineValue = false } = token;
    const option = Object.hasOwn(options, name) ? options[name] : undefined;
    if (option === undefined) {
      const meant = nearest(name, Object.keys(options));
      throw new WrongArgument(
        `unknown option \`${rawName}\`${meant === undefined ? "" : `; did you mean \`--${meant}\`?`}`,
      );
    }
    if (option.type === "boolean" && value !== undefined) throw new WrongArgument(`\`${rawName}\` takes no value`);
    if (option.type === "string" && (value === undefined || (value.startsWith("-") && !inlineValue))) {
      throw new WrongArgument(`\`${rawName}\` needs a value`);
    }
  }
}
