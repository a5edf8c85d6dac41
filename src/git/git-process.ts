import { type ChildProcess, spawn } from "node:child_process";
import { childEnvironment, signalGroup } from "../config/environment.js";
import { errorCode } from "../config/files.js";
import type { CloneSource } from "../core/ports/code-host.js";

/** `stderr` is git's own text: untrusted, of bounded length, and it may contain secrets. */
export class GitFailure extends Error {
  override readonly name = "GitFailure";
  constructor(
    readonly kind:
      | "exit"
      | "timeout"
      | "too-much-output"
      | "too-big"
      | "too-deep"
      | "not-started"
      | "unknown-commit"
      | "unexpected-answer",
    readonly stderr: string,
    options?: ErrorOptions,
  ) {
    super(`git: ${kind}`, options);
  }
}

const COMMIT_MISSING = "the host does not have one of the commits yet, or no longer. Try again in a minute";

/** git exits with 128 for every failure, so only its text tells them apart (git 2.39, LC_ALL=C; http.c, remote-curl.c). */
const REMOTE_PROBLEMS: readonly (readonly [RegExp, string])[] = [
  [
    /Authentication failed|could not read Username|could not read Password|returned error: 401/,
    "the host does not accept the credentials. Check that the App is installed on this repository, or that the token is valid and may read it",
  ],
  [/returned error: 403/, "the host forbids reading it. Give the App or the token permission to read the content"],
  [/repository '.*' not found|returned error: 404/, "the host does not know it, or hides it from the App or the token"],
  [/returned error: 429/, "the host limits the rate of requests. Try again in some minutes"],
  [/returned error: 5\d\d/, "the host failed. Try again later"],
  [
    /returned error: 3\d\d|unable to update url base from redirection/,
    "the host redirects to another address. Redirects are not followed, so configure the host's final address",
  ],
  [/couldn't find remote ref/, "the host does not offer the head commit yet. Try again in a minute"],
  [/not our ref|does not allow request for unadvertised object/, COMMIT_MISSING],
  [
    /Could not resolve (?:host|proxy)|Failed to connect|Connection refused|Connection reset|Empty reply|Couldn't connect/,
    "the host cannot be reached. Check its address, the network and the proxy",
  ],
  [
    // Matched after the address, which may contain the word itself.
    /': .*certificate/i,
    "the host's certificate is not trusted. Set the environment variable GIT_SSL_CAINFO to the file of its authority",
  ],
];

/** The failure in words for users; undefined if the mirror itself may be damaged. */
export function remoteProblem(failure: GitFailure): string | undefined {
  if (failure.kind === "timeout") {
    return "git did not finish in time. The host is slow, or the repository is very large";
  }
  if (failure.kind === "too-big") return "it is larger than the 2 GiB that svc fetches of a repository";
  if (failure.kind === "too-much-output") return "it has more or larger files than svc reads at once";
  if (failure.kind === "too-deep") return "it contains a path that is too long, or below more than 200 folders";
  if (failure.kind === "not-started") {
    const code = errorCode(failure.cause) ?? "ENOENT";
    return `git could not be started${code === "ENOENT" ? ". Install git 2.39 or newer" : ` (${code})`}`;
  }
  if (failure.kind === "unknown-commit") return COMMIT_MISSING;
  return REMOTE_PROBLEMS.find(([pattern]) => pattern.test(failure.stderr))?.[1];
}

/** Whether git says that the host has no such ref. */
export function isRefMissing(error: unknown, ref: string): boolean {
  return error instanceof GitFailure && error.stderr.split("\n").includes(`fatal: couldn't find remote ref ${ref}`);
}

/** The last line that git printed, without credentials, for users. */
export function lastWords(failure: GitFailure, { authorization = "" }: CloneSource): string {
  const secrets = [authorization, authorization.replace(/^\S+ /, "")];
  const lines = failure.stderr.split(/[\r\n]+/).filter((line) => line.trim() !== "");
  return redacted(lines.at(-1) ?? failure.kind, secrets).slice(0, 300);
}

/** Removes user names and passwords from URLs, and the given secrets. */
function redacted(text: string, secrets: readonly string[]): string {
  const withoutUrls = text.replace(/(\/\/)[^/@\s]*@/g, "$1");
  return secrets
    .filter((secret) => secret !== "")
    .reduce((rest, secret) => rest.replaceAll(secret, "[redacted]"), withoutUrls);
}

/** git's name for the host's repository. It is passed in the environment and never written to disk. */
export const REMOTE = "origin";

const ALWAYS: readonly (readonly [string, string])[] = [
  ["core.hooksPath", "/dev/null"],
  ["gc.auto", "0"],
  ["maintenance.auto", "false"],
  // A mirror damaged by a power cut is noticed and cloned again, so no write has to wait for the disk.
  ["core.fsync", "none"],
];

/** Makes git accept missing blobs. Written to disk, these settings would make every read fetch them one by one. */
const PARTIAL: readonly (readonly [string, string])[] = [
  [`remote.${REMOTE}.promisor`, "true"],
  [`remote.${REMOTE}.partialCloneFilter`, "blob:none"],
];

const INHERITED = childEnvironment();

/**
 * The environment of a command that reads the mirror, packs what it has, or fetches from a host. Only a fetch gets missing
 * objects; elsewhere they are reported. Only the environment holds the credentials, neither the arguments nor the disk
 * (GIT_CONFIG_COUNT in git-config(1)). Their header applies to the repository's URL only, and redirects are not followed.
 *
 * A host sends small files as differences to files of commits that we have, although a partial clone may lack those files
 * (thin packs in gitprotocol-pack(5)). git then fetches the missing ones by id, all at once, as a child of the same command:
 * from the same address, with the same settings, within the same limits. Doing without costs more: `docs/adr/0008`.
 */
export function environmentFor(folder: string, access: "read" | "pack" | CloneSource): Record<string, string> {
  const source = typeof access === "object" ? access : undefined;
  const settings = [
    ...ALWAYS,
    ...(access === "read" ? [] : PARTIAL),
    ...(source === undefined ? [] : remoteOf(source)),
  ];
  const variables: Record<string, string> = {
    ...INHERITED,
    // No ~/.netrc and no ~/.config.
    HOME: folder,
    GIT_DIR: folder,
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_TERMINAL_PROMPT: "0",
    // Known to git 2.39.4 and newer; older versions fetch lazily wherever a remote is configured.
    GIT_NO_LAZY_FETCH: source === undefined ? "1" : "0",
    GIT_ALLOW_PROTOCOL: source === undefined ? "" : "http:https",
    GIT_OPTIONAL_LOCKS: "0",
    // remoteProblem() parses messages, so their language is fixed.
    LC_ALL: "C",
    GIT_CONFIG_COUNT: String(settings.length),
  };
  for (const [index, [key, value]] of settings.entries()) {
    variables[`GIT_CONFIG_KEY_${index}`] = key;
    variables[`GIT_CONFIG_VALUE_${index}`] = value;
  }
  return variables;
}

function remoteOf({ url, authorization }: CloneSource): readonly (readonly [string, string])[] {
  return [
    [`remote.${REMOTE}.url`, url],
    ["http.followRedirects", "false"],
    // An empty value removes all credential helpers.
    ["credential.helper", ""],
    ...(authorization === undefined ? [] : [[`http.${url}/.extraHeader`, `Authorization: ${authorization}`] as const]),
  ];
}

/** Why a source must not be given to git; undefined if it may. Our own adapters make sources, so this is a second check. */
export function sourceProblem(source: CloneSource): string | undefined {
  if (!/^[\x21-\x7e]+$/.test(source.url) || !URL.canParse(source.url)) return "its address is not a URL";
  const url = new URL(source.url);
  if (url.protocol !== "https:" && url.protocol !== "http:") return "its address is neither https nor http";
  if (url.username !== "" || url.password !== "") return "its address contains credentials";
  if (url.search !== "" || url.hash !== "") return "its address contains a query or a fragment";
  if (source.authorization !== undefined && !/^[\x20-\x7e]+$/.test(source.authorization)) {
    return "the credentials contain characters that a header must not contain";
  }
  if (!/^refs\/(?:[A-Za-z0-9_][A-Za-z0-9_.-]*\/)*[A-Za-z0-9_][A-Za-z0-9_.-]*$/.test(source.headRef)) {
    return "the name of its head ref is not allowed";
  }
  return source.headRef.includes("..") ? "the name of its head ref is not allowed" : undefined;
}

export interface GitOutput {
  readonly stdout: (chunk: Buffer) => void;
  readonly stderr: (chunk: Buffer) => void;
}

/** A git process in a process group of its own. */
export interface GitProcess {
  /** Its exit status after all of its output; null if a signal ended it. @throws {Error} if it could not be started. */
  readonly ended: Promise<number | null>;
  write(text: string): void;
  end(): void;
  signal(signal: "SIGTERM" | "SIGKILL"): void;
}

/** Starts git. The environment is the whole of it: nothing is inherited. */
export type StartGit = (
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  output: GitOutput,
) => GitProcess;

export const startGit: StartGit = (args, environment, { stdout, stderr }) => {
  // It has no streams where too many files are open.
  const child: ChildProcess = spawn("git", [...args], { env: { ...environment }, detached: true });
  child.stdout?.on("data", stdout);
  child.stderr?.on("data", stderr);
  // git may exit before it has read all its input; the exit code says whether it failed.
  child.stdin?.on("error", () => undefined);
  return {
    ended: new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("close", resolve);
    }),
    write: (text) => void child.stdin?.write(text),
    end: () => void child.stdin?.end(),
    signal: (signal) => signalGroup(child, signal),
  };
};

/** One call of git. */
export interface GitCommand {
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly input?: string;
  readonly timeoutMs: number;
  /** Bytes of standard output; a command that prints more is stopped. */
  readonly maxOutput: number;
  readonly signal: AbortSignal;
  /** Exit statuses other than 0 that are answers as well. */
  readonly expected?: readonly number[];
  /** Called four times a second while the command runs; false stops it. */
  readonly mayContinue?: () => Promise<boolean>;
}

export const STDERR_LIMIT = 8 * 1024;
/** Time between SIGTERM and SIGKILL, in milliseconds, for git to remove its lock files. */
const KILL_AFTER_MS = 2000;

/** Runs one git command to its end. @throws {GitFailure} @throws the signal's reason. */
export async function runGitProcess(start: StartGit, command: GitCommand): Promise<Buffer> {
  command.signal.throwIfAborted();
  const output: Buffer[] = [];
  let outputSize = 0;
  let stderr = "";
  let failure: { readonly reason: unknown } | undefined;
  let killing: NodeJS.Timeout | undefined;
  const stop = (reason: unknown) => {
    if (failure !== undefined) return;
    failure = { reason };
    git.signal("SIGTERM");
    killing = setTimeout(() => git.signal("SIGKILL"), KILL_AFTER_MS);
  };
  const git = start(command.args, command.environment, {
    stdout: (chunk) => {
      outputSize += chunk.length;
      if (outputSize > command.maxOutput) stop(new GitFailure("too-much-output", stderr));
      else output.push(chunk);
    },
    stderr: (chunk) => {
      stderr = (stderr + chunk.toString("utf8")).slice(-STDERR_LIMIT);
    },
  });
  git.write(command.input ?? "");
  git.end();

  const timer = setTimeout(() => stop(new GitFailure("timeout", stderr)), command.timeoutMs);
  const watch = watchWork(command, () => stop(new GitFailure("too-big", stderr)));
  const aborted = () => stop(command.signal.reason);
  command.signal.addEventListener("abort", aborted, { once: true });
  try {
    const status = await git.ended.catch((cause: unknown) => {
      throw new GitFailure("not-started", "", { cause });
    });
    throwStopped(failure);
    if (status !== 0 && command.expected?.includes(status ?? -1) !== true) throw new GitFailure("exit", stderr);
    return Buffer.concat(output);
  } finally {
    clearTimeout(timer);
    clearTimeout(killing);
    clearInterval(watch);
    command.signal.removeEventListener("abort", aborted);
  }
}

function throwStopped(failure: { readonly reason: unknown } | undefined): void {
  if (failure !== undefined) throw failure.reason;
}

function watchWork({ mayContinue }: GitCommand, stop: () => void): NodeJS.Timeout | undefined {
  if (mayContinue === undefined) return undefined;
  return setInterval(() => {
    void mayContinue().then((may) => {
      if (!may) stop();
    });
  }, 250);
}
