import { parseArgs } from "node:util";
import { type Role, ROLES } from "../core/model/settings.js";
import { type HostId, REPOSITORY_FILE, SERVER_FILE, SERVICE } from "../names.js";
import { errorCode } from "./files.js";
import { url } from "./schema-parts.js";

/** The arguments of `svc setup`. Addresses have no trailing slash. */
export type SetupRequest = AppRequest | HookRequest;

interface EverySetup {
  /** Public address of svc, which webhooks are sent to. */
  readonly url: string;
  /** Folder of the files with secrets. */
  readonly secrets: string;
}

/** Registers a GitHub App. */
export interface AppRequest extends EverySetup {
  readonly host: Extract<HostId, "hosta">;
  /** Root of GitHub's web pages. */
  readonly web: string;
  /** Owner of the App; undefined means whoever creates it. */
  readonly organization: string | undefined;
  /** Name of the App; undefined means the default. */
  readonly name: string | undefined;
  /** Where setup serves its pages. Port 0 picks a free one. */
  readonly listen: { readonly host: string; readonly port: number };
}

/** Creates webhooks in GitLab. */
export interface HookRequest extends EverySetup {
  readonly host: Extract<HostId, "hostb">;
  /** Root of the instance. */
  readonly web: string;
  /** Full paths of projects, or of one group. */
  readonly targets: readonly { readonly kind: "project" | "group"; readonly path: string }[];
  /** Read the token of svc's account from standard input instead of the environment. */
  readonly tokenFromStdin: boolean;
}

type SetupArguments =
  | { readonly kind: "setup"; readonly request: SetupRequest }
  | { readonly kind: "help" }
  | { readonly kind: "invalid"; readonly message: string };

/** Logins of organizations: https://docs.github.com/enterprise-cloud@latest/admin/managing-iam/iam-configuration-reference */
const ORGANIZATION = /^[A-Za-z0-9](?:[A-Za-z0-9_-]{0,98}[A-Za-z0-9])?$/;
/** Full paths of GitLab's groups and projects: https://docs.gitlab.com/user/reserved_names/ */
const PATH = /^[A-Za-z0-9_.][A-Za-z0-9_.-]*(?:\/[A-Za-z0-9_.][A-Za-z0-9_.-]*)*$/;
/** GitHub refuses a longer name of an App. */
const LONGEST_NAME = 34;

const EVERY = { url: { type: "string" }, secrets: { type: "string" }, help: { type: "boolean", short: "h" } } as const;
const APP = {
  ...EVERY,
  github: { type: "string" },
  organization: { type: "string" },
  name: { type: "string" },
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

/** Parses what follows `setup`. @throws What `parseArgs` throws for unknown options. */
function parseSetup([product = "", ...rest]: readonly string[]): SetupArguments {
  try {
    switch (product) {
      case "github":
        return parseApp(rest);
      case "gitlab":
        return parseHook(rest);
      case "-h":
      case "--help":
        return { kind: "help" };
      default:
        throw new WrongArgument("write `setup github` or `setup gitlab`, and then its options");
    }
  } catch (error) {
    if (error instanceof WrongArgument) return { kind: "invalid", message: error.message };
    throw error;
  }
}

function parseApp(args: readonly string[]): SetupArguments {
  const { values } = parseArgs({ args: [...args], options: APP });
  const { organization, name, host = "127.0.0.1", port = "0" } = values;
  if (values.help === true) return { kind: "help" };
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
  const web = address("--github", values.github ?? "https://github.com");
  const listen = { host, port: Number(port) };
  return { kind: "setup", request: { host: "hosta", ...everyOf(values), web, organization, name, listen } };
}

function parseHook(args: readonly string[]): SetupArguments {
  const { values } = parseArgs({ args: [...args], options: HOOK });
  if (values.help === true) return { kind: "help" };
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
  return { kind: "setup", request: { host: "hostb", ...everyOf(values), web, targets, tokenFromStdin } };
}

function everyOf(values: { readonly url?: string | undefined; readonly secrets?: string | undefined }): EverySetup {
  if (values.url === undefined) {
    throw new WrongArgument("--url is required: the public address of svc, such as https://svc.example.org");
  }
  const { secrets = "secrets" } = values;
  if (secrets.trim() === "") throw new WrongArgument("--secrets takes the name of a folder");
  return { url: address("--url", values.url), secrets };
}

function address(option: string, text: string): string {
  const read = url().safeParse(text);
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
  | { readonly kind: "help" }
  | { readonly kind: "version" }
  | { readonly kind: "invalid"; readonly message: string };

export const USAGE = `Usage:
  ${SERVICE} [-c FILE]...           start the service
  ${SERVICE} check [FILE]...        check configuration files without starting
  ${SERVICE} check --online [FILE]...
                         and ask the systems in them: reachable, credentials accepted, permissions there
  ${SERVICE} setup github --url URL register the GitHub App, and print its section of ${SERVER_FILE}
  ${SERVICE} setup gitlab --url URL check the token, create the webhook, and print GitLab's section
  ${SERVICE} token                  make a token for the API, and its hash for auth.api_tokens
  ${SERVICE} users set-role ID ROLE give somebody the role ${ROLES.join(" or ")}, if no admin can

Options:
  -c, --config FILE   configuration file; may be given several times, later files win key by key
                      (default: ${SERVER_FILE} in the working folder)
  -h, --help          show this text
  -v, --version       show the version

Options of setup:
  --url URL           public address of svc, which webhooks are sent to
  --secrets FOLDER    where secrets are written, each to a file of mode 0600 (default: secrets)
Options of setup github:
  --organization NAME owner of the App (default: your own account)
  --name NAME         name of the App; no other App may have it (default: ${SERVICE}-<organization>)
  --github URL        address of a self-hosted GitHub
  --port N            port of the page that leads through the registration (default: a free one)
  --host ADDRESS      where it listens (default: 127.0.0.1); 0.0.0.0 in a container whose port is published
Options of setup gitlab:
  --project PATH      project that gets the webhook, such as acme/shop; may be repeated
  --group PATH        group that gets it instead, for all its projects (GitLab Premium)
  --gitlab URL        address of a self-managed GitLab
  --token-stdin       read the token from standard input (default: the variable GITLAB_TOKEN)
The variable GITLAB_SETUP_TOKEN may hold the token of somebody who may create the webhook, if svc's own may not.

ID is the provider and its own id of the person, such as hosta:583231; a wrong one is answered with those who are logged in.
check takes files named ${REPOSITORY_FILE} as repository files, and all others together as the server's configuration.`;

/** Parses the arguments after the program's name. */
export function parseCommandLine(argv: readonly string[]): CommandLine {
  if (argv[0] === "setup") {
    const asked = orMessage((): SetupArguments => parseSetup(argv.slice(1)));
    return "kind" in asked ? asked : { kind: "invalid", message: asked.message };
  }
  const parsed = orMessage(() => parse(argv));
  if ("message" in parsed) return { kind: "invalid", message: parsed.message };
  const { values, positionals } = parsed;
  const [command, ...rest] = positionals;
  const files = values.config ?? [];
  if (values.help === true) return { kind: "help" };
  if (values.version === true) return { kind: "version" };
  const named = command === "check" ? [...files, ...rest] : files;
  if (named.includes("")) return { kind: "invalid", message: "the name of a file is empty" };
  const { online = false } = values;
  if (online && command !== "check") return { kind: "invalid", message: "--online goes with `check`" };
  const given = named.length === 0 ? [SERVER_FILE] : named;
  switch (command) {
    case undefined:
      return { kind: "run", files: given };
    case "check":
      return { kind: "check", files: given, online };
    case "token":
      return rest.length === 0 ? { kind: "token" } : { kind: "invalid", message: "`token` takes no further words" };
    case "users":
      return setRole(rest, given);
    default:
      return {
        kind: "invalid",
        message: `unknown command \`${command}\`; there are \`check\`, \`setup\`, \`token\` and \`users set-role\``,
      };
  }
}

function setRole([verb, id = "", written, ...more]: readonly string[], files: readonly string[]): CommandLine {
  const role = ROLES.find((one) => one === written);
  const complete = verb === "set-role" && id !== "" && role !== undefined && more.length === 0;
  if (complete) return { kind: "set-role", files, id, role };
  return { kind: "invalid", message: `write \`users set-role ID ROLE\`, where ROLE is ${ROLES.join(" or ")}` };
}

function parse(argv: readonly string[]) {
  return parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      config: { type: "string", short: "c", multiple: true },
      help: { type: "boolean", short: "h" },
      version: { type: "boolean", short: "v" },
      online: { type: "boolean" },
    },
  });
}

/** Returns the message of `parseArgs` if it rejects the arguments. */
function orMessage<T>(parseIt: () => T): T | { readonly message: string } {
  try {
    return parseIt();
  } catch (error) {
    if (errorCode(error)?.startsWith("ERR_PARSE_ARGS_") !== true) throw error;
    return { message: String(error).replace(/^TypeError[^:]*: /, "") };
  }
}
