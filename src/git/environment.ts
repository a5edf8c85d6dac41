import { childEnvironment } from "../config/environment.js";
import type { CloneSource } from "../core/ports/code-host.js";

/** git's name for the host's repository. It is passed in the environment and never written to disk. */
export const REMOTE = "origin";

/** Settings of every command: no hooks and no repacking. */
const ALWAYS: readonly (readonly [string, string])[] = [
  ["core.hooksPath", "/dev/null"],
  ["gc.auto", "0"],
  ["maintenance.auto", "false"],
  // A mirror damaged by a power cut is noticed and cloned again, so no write has to wait for the disk.
  ["core.fsync", "none"],
];

/** Declares missing blobs to be no damage. On disk these settings would make every read fetch them one by one. */
const PARTIAL: readonly (readonly [string, string])[] = [
  [`remote.${REMOTE}.promisor`, "true"],
  [`remote.${REMOTE}.partialCloneFilter`, "blob:none"],
];

/** Environment for commands that only read the mirror: missing objects are reported, never fetched. */
export function localEnvironment(folder: string): Record<string, string> {
  return environment(folder, ALWAYS, { protocols: "", lazy: false });
}

/** Environment for commands that write packs of what the mirror has. It does not know the host, so nothing is fetched. */
export function packingEnvironment(folder: string): Record<string, string> {
  return environment(folder, [...ALWAYS, ...PARTIAL], { protocols: "", lazy: false });
}

/**
 * Environment for commands that fetch. Only the environment holds the credentials, neither the arguments nor the disk
 * (GIT_CONFIG_COUNT in git-config(1)). Their header applies to the repository's URL only, and redirects are not followed.
 *
 * A host sends small files as differences to files of commits that we have, although a partial clone may lack those files
 * (thin packs in gitprotocol-pack(5)). git then fetches the missing ones by id, all at once, as a child of the same command:
 * from the same address, with the same settings, within the same limits. Doing without costs more: `docs/adr/0008`.
 */
export function remoteEnvironment(folder: string, source: CloneSource): Record<string, string> {
  const settings: (readonly [string, string])[] = [
    ...ALWAYS,
    ...PARTIAL,
    [`remote.${REMOTE}.url`, source.url],
    ["http.followRedirects", "false"],
    // An empty value removes all credential helpers.
    ["credential.helper", ""],
  ];
  if (source.authorization !== undefined) {
    settings.push([`http.${source.url}/.extraHeader`, `Authorization: ${source.authorization}`]);
  }
  return environment(folder, settings, { protocols: "http:https", lazy: true });
}

function environment(
  folder: string,
  settings: readonly (readonly [string, string])[],
  { protocols, lazy }: { readonly protocols: string; readonly lazy: boolean },
): Record<string, string> {
  const variables: Record<string, string> = {
    ...childEnvironment(),
    // No ~/.netrc and no ~/.config.
    HOME: folder,
    GIT_DIR: folder,
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_TERMINAL_PROMPT: "0",
    // Known to git 2.39.4 and newer; older versions fetch lazily wherever a remote is configured.
    GIT_NO_LAZY_FETCH: lazy ? "0" : "1",
    GIT_ALLOW_PROTOCOL: protocols,
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
