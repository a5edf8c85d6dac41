import { RepositoryFailure } from "../core/model/errors.js";

/** A git command that failed. `stderr` is git's own text: untrusted, of bounded length, and it may contain secrets. */
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

/**
 * git exits with 128 for every failure, so only its text tells them apart (git 2.39, LC_ALL=C; http.c and remote-curl.c
 * in https://git.kernel.org/pub/scm/git/git.git). After any other text the mirror is examined.
 */
const remoteProblems: readonly (readonly [RegExp, string])[] = [
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
  [/couldn't find remote ref/, "the host does not offer the head commit yet"],
  [/not our ref|does not allow request for unadvertised object/, "the host no longer has one of the commits"],
  [
    /SSL|certificate/i,
    "the host's certificate is not trusted. Set the environment variable GIT_SSL_CAINFO to the file of its authority",
  ],
  [
    /Could not resolve (?:host|proxy)|Failed to connect|Connection refused|Connection reset|Empty reply|Couldn't connect/,
    "the host cannot be reached. Check its address, the network and the proxy",
  ],
];

/** The failure in words for users; undefined if the mirror itself may be damaged. */
export function remoteProblem(failure: GitFailure): string | undefined {
  if (failure.kind === "timeout") {
    return "git did not finish in time. The host is slow, or the repository is very large";
  }
  if (failure.kind === "too-big") return "it is larger than the configured limit";
  if (failure.kind === "too-much-output") return "its list of files is too long";
  if (failure.kind === "too-deep") return "it contains a path that is too long";
  if (failure.kind === "not-started") return "git could not be started. Install git 2.39 or newer";
  if (failure.kind === "unknown-commit") return "the host no longer has one of the commits";
  return remoteProblems.find(([pattern]) => pattern.test(failure.stderr))?.[1];
}

/** The last line that git printed, without credentials, for users. */
export function lastWords(failure: GitFailure, secrets: readonly string[]): string {
  const lines = failure.stderr.split(/[\r\n]+/).filter((line) => line.trim() !== "");
  return redacted(lines.at(-1) ?? failure.kind, secrets).slice(0, 300);
}

/** Removes user names and passwords from URLs, and the given secrets. */
export function redacted(text: string, secrets: readonly string[]): string {
  const withoutUrls = text.replace(/(\/\/)[^/@\s]*@/g, "$1");
  return secrets
    .filter((secret) => secret !== "")
    .reduce((rest, secret) => rest.replaceAll(secret, "[redacted]"), withoutUrls);
}

export function repositoryFailure(repository: string, problem: string, cause?: unknown): RepositoryFailure {
  return new RepositoryFailure(`the repository ${repository} could not be read: ${problem}`, { cause });
}
