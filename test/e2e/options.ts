import { parseArgs } from "node:util";
import { HOST_IDS, type HostId } from "../../src/names.js";

export const USAGE = `Usage: npm run e2e -- --argocd URL [--token TOKEN] [options]

Plays svc's scenarios against a real Argo CD, with a GitHub and a GitLab in miniature on this machine. Everything that it creates
in Argo CD and in the cluster has a name beginning with svc-e2e- and is removed at the end.

  --argocd URL            Argo CD's address, with its path prefix if it has one
  --token TOKEN           bearer token of an account; better in the variable ARGOCD_TOKEN, as others on this machine can read arguments
  --insecure              accept any certificate of Argo CD
  --git-listen HOST:PORT  where the git server for Argo CD listens on this machine; port 0 takes a free one (default: 127.0.0.1:0)
  --git-url URL           the address at which Argo CD reaches that server (default: http:// and the one that it listens on)
  --cluster NAME|URL      where to deploy, as Argo CD knows the cluster (default: https://kubernetes.default.svc)
  --project NAME          use this project of Argo CD instead of creating one
  --host github|gitlab    with this host alone
  --log LEVEL             print svc's log from this level on: debug, info, warn, error
  --clean                 remove what earlier runs left behind, also of one that still runs, and do nothing else
  --help                  print this text

Argo CD must reach the git server. With kind, listen on the gateway of its network; with Docker Desktop on 127.0.0.1, and give
--git-url http://host.docker.internal:PORT; with a remote cluster through a tunnel to a fixed port. The server offers the
repositories of this run to everybody who can reach it, for reading.`;

export const LEVELS = ["debug", "info", "warn", "error"] as const;
export type Level = (typeof LEVELS)[number];

/** How to reach Argo CD. */
export interface ArgoCdAccess {
  readonly url: string;
  readonly token: string;
  readonly insecure: boolean;
}

/** The git server for Argo CD: where it listens, and its address as Argo CD knows it. */
export interface GitAddress {
  readonly host: string;
  readonly port: number;
  readonly url: string | undefined;
}

export interface E2eOptions {
  readonly argocd: ArgoCdAccess;
  readonly git: GitAddress;
  readonly hosts: readonly HostId[];
  readonly cluster: string;
  /** An existing project of Argo CD. */
  readonly project: string | undefined;
  readonly log: Level | undefined;
}

export type CommandLine =
  | { readonly kind: "run" | "clean"; readonly options: E2eOptions }
  | { readonly kind: "help" }
  | { readonly kind: "invalid"; readonly message: string };

class Invalid extends Error {}

/** Reads the arguments; the token may come from the variable `ARGOCD_TOKEN`. */
export function parseCommandLine(argv: readonly string[], tokenVariable: string | undefined): CommandLine {
  try {
    const values = valuesOf(argv);
    if (values.help) return { kind: "help" };
    const url = webAddress("--argocd", values.argocd ?? "");
    const token = values.token ?? tokenVariable ?? "";
    if (token === "") throw new Invalid("there is no token: set the variable ARGOCD_TOKEN, or give --token");
    const options: E2eOptions = {
      argocd: { url, token, insecure: values.insecure },
      git: gitAddress(values["git-listen"], values["git-url"]),
      hosts: hostsOf(values.host),
      cluster: values.cluster,
      project: values.project,
      log: levelOf(values.log),
    };
    return { kind: values.clean ? "clean" : "run", options };
  } catch (error) {
    if (error instanceof Invalid) return { kind: "invalid", message: error.message };
    throw error;
  }
}

function valuesOf(argv: readonly string[]) {
  try {
    return parseArgs({
      args: [...argv],
      options: {
        argocd: { type: "string" },
        token: { type: "string" },
        insecure: { type: "boolean", default: false },
        "git-listen": { type: "string", default: "127.0.0.1:0" },
        "git-url": { type: "string" },
        cluster: { type: "string", default: "https://kubernetes.default.svc" },
        project: { type: "string" },
        host: { type: "string" },
        log: { type: "string" },
        clean: { type: "boolean", default: false },
        help: { type: "boolean", default: false },
      },
    }).values;
  } catch (error) {
    // It names the argument.
    throw new Invalid(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

function webAddress(option: string, text: string): string {
  if (text === "") throw new Invalid(`${option} is missing`);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== "http:" && url?.protocol !== "https:") {
    throw new Invalid(`${option} must be an address that starts with http:// or https://`);
  }
  if (url.username !== "" || url.password !== "") throw new Invalid(`${option} must not hold credentials`);
  return `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
}

function gitAddress(listen: string, url: string | undefined): GitAddress {
  const [, host = "", port = ""] = /^(\[[^\]]+\]|[^:]+):(\d{1,5})$/.exec(listen) ?? [];
  if (host === "" || Number(port) > 65535) throw new Invalid("--git-listen must be HOST:PORT, such as 172.18.0.1:0");
  const plain = host.replace(/^\[(.*)\]$/, "$1");
  if (url === undefined) {
    if (plain === "0.0.0.0" || plain === "::") {
      throw new Invalid(
        `--git-listen ${listen} is every address of this machine: say with --git-url which one Argo CD uses`,
      );
    }
    return { host: plain, port: Number(port), url: undefined };
  }
  const address = webAddress("--git-url", url);
  // svc compares the path of a source's address with the repository's name.
  if (new URL(address).pathname !== "/") throw new Invalid("--git-url must not have a path");
  return { host: plain, port: Number(port), url: address };
}

function hostsOf(name: string | undefined): readonly HostId[] {
  switch (name) {
    case undefined:
      return HOST_IDS;
    case "github":
      return ["hosta"];
    case "gitlab":
      return ["hostb"];
    default:
      throw new Invalid("--host must be github or gitlab");
  }
}

function levelOf(name: string | undefined): Level | undefined {
  const level = LEVELS.find((one) => one === name);
  if (level === undefined && name !== undefined) throw new Invalid(`--log must be one of ${LEVELS.join(", ")}`);
  return level;
}
