import { parseArgs } from "node:util";
import { REPOSITORY_FILE, SERVER_FILE, SERVICE } from "../names.js";
import { errorCode } from "./files.js";

/** The parsed arguments. */
export type CommandLine =
  | { readonly kind: "run"; readonly files: readonly string[] }
  /** `online`: the systems that the configuration names are asked, too. */
  | { readonly kind: "check"; readonly files: readonly string[]; readonly online: boolean }
  | { readonly kind: "help" }
  | { readonly kind: "version" }
  | { readonly kind: "invalid"; readonly message: string };

export const USAGE = `Usage:
  ${SERVICE} [-c FILE]...           start the service
  ${SERVICE} check [FILE]...        check configuration files without starting
  ${SERVICE} check --online [FILE]...
                         and ask the systems in them: reachable, credentials accepted, permissions there

Options:
  -c, --config FILE   configuration file; may be given several times, later files win key by key
                      (default: ${SERVER_FILE} in the working folder)
  -h, --help          show this text
  -v, --version       show the version

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
  if (command !== undefined && command !== "check") {
    return { kind: "invalid", message: `unknown command \`${command}\`; the only one is \`check\`` };
  }
  const named = command === "check" ? [...files, ...rest] : files;
  if (named.includes("")) return { kind: "invalid", message: "the name of a file is empty" };
  const { online = false } = values;
  if (online && command !== "check") return { kind: "invalid", message: "--online goes with `check`" };
  const given = named.length === 0 ? [SERVER_FILE] : named;
  return command === "check" ? { kind: "check", files: given, online } : { kind: "run", files: given };
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
