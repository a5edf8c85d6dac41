import { parseArgs } from "node:util";
import { REPOSITORY_FILE, SERVER_FILE, SERVICE } from "../names.js";
import { ROLES } from "./auth-section.js";
import { errorCode } from "./files.js";
import type { Role } from "./server-config.js";

/** The parsed arguments. */
export type CommandLine =
  | { readonly kind: "run"; readonly files: readonly string[] }
  /** `online`: the systems that the configuration names are asked, too. */
  | { readonly kind: "check"; readonly files: readonly string[]; readonly online: boolean }
  | { readonly kind: "token" }
  | { readonly kind: "set-role"; readonly files: readonly string[]; readonly id: string; readonly role: Role }
  | { readonly kind: "help" }
  | { readonly kind: "version" }
  | { readonly kind: "invalid"; readonly message: string };

export const USAGE = `Usage:
  ${SERVICE} [-c FILE]...           start the service
  ${SERVICE} check [FILE]...        check configuration files without starting
  ${SERVICE} check --online [FILE]...
                         and ask the systems in them: reachable, credentials accepted, permissions there
  ${SERVICE} token                  make a token for the API, and its hash for auth.api_tokens
  ${SERVICE} users set-role ID ROLE give somebody the role ${ROLES.join(" or ")}, if no admin can

Options:
  -c, --config FILE   configuration file; may be given several times, later files win key by key
                      (default: ${SERVER_FILE} in the working folder)
  -h, --help          show this text
  -v, --version       show the version

ID is the provider and its own id of the person, such as hosta:583231; a wrong one is answered with those who are logged in.
check takes files named ${REPOSITORY_FILE} as repository files, and all others together as the server's configuration.`;

/** Parses the arguments after the program's name. */
export function parseCommandLine(argv: readonly string[]): CommandLine {
  const parsed = parse(argv);
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
        message: `unknown command \`${command}\`; there are \`check\`, \`token\` and \`users set-role\``,
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
  try {
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
  } catch (error) {
    if (errorCode(error)?.startsWith("ERR_PARSE_ARGS_") !== true) throw error;
    return { message: String(error).replace(/^TypeError[^:]*: /, "") };
  }
}
