import { parseArgs } from "node:util";
import { type Role, ROLES } from "../core/model/settings.js";
import { REPOSITORY_FILE, SERVER_FILE, SERVICE } from "../names.js";
import { errorCode } from "./files.js";
import { parseSetup, type SetupArguments, type SetupRequest } from "./setup-arguments.js";

/** The parsed arguments. */
export type CommandLine =
  | { readonly kind: "run"; readonly files: readonly string[] }
  /** `online`: the systems that the configuration names are asked, too. */
  | { readonly kind: "check"; readonly files: readonly string[]; readonly online: boolean }
  | { readonly kind: "token" }
  | { readonly kind: "set-role"; readonly files: readonly string[]; readonly id: string; readonly role: Role }
  /** A code host is prepared for svc. */
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

/** What `parseArgs` finds wrong, as a message. */
function orMessage<T>(parseIt: () => T): T | { readonly message: string } {
  try {
    return parseIt();
  } catch (error) {
    if (errorCode(error)?.startsWith("ERR_PARSE_ARGS_") !== true) throw error;
    return { message: String(error).replace(/^TypeError[^:]*: /, "") };
  }
}
