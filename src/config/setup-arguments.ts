import { parseArgs } from "node:util";
import type { HostId } from "../names.js";
import { url } from "./schema-parts.js";

/** What `svc setup` is to do. Addresses have no slash at their end. */
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
  /** Owner of the App; undefined: whoever creates it. */
  readonly organization: string | undefined;
  /** Name of the App; undefined: the default. */
  readonly name: string | undefined;
  /** Where the pages of setup are served. Port 0 is any free one. */
  readonly listen: { readonly host: string; readonly port: number };
}

/** Creates webhooks in GitLab. */
export interface HookRequest extends EverySetup {
  readonly host: Extract<HostId, "hostb">;
  /** Root of the instance. */
  readonly web: string;
  /** Full paths, at least one; or one group. */
  readonly targets: readonly { readonly kind: "project" | "group"; readonly path: string }[];
  /** The token of svc's account comes from standard input, and not from the environment. */
  readonly tokenFromStdin: boolean;
}

export type SetupArguments =
  | { readonly kind: "setup"; readonly request: SetupRequest }
  | { readonly kind: "help" }
  | { readonly kind: "invalid"; readonly message: string };

/** Logins of organizations: https://docs.github.com/enterprise-cloud@latest/admin/managing-iam/iam-configuration-reference */
const ORGANIZATION = /^[A-Za-z0-9](?:[A-Za-z0-9_-]{0,98}[A-Za-z0-9])?$/;
/** https://docs.gitlab.com/user/reserved_names/ */
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

/** An argument that cannot be used; the message names it. */
class WrongArgument extends Error {
  override readonly name = "WrongArgument";
}

/** Parses what follows `setup`. @throws What `parseArgs` throws for unknown options. */
export function parseSetup([product = "", ...rest]: readonly string[]): SetupArguments {
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
