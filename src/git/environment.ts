import { childEnvironment } from "../config/child-environment.js";
import type { CloneSource } from "../core/ports/code-host.js";

/** The name under which git knows the host's repository; it stands nowhere on the disk. */
export const REMOTE = "origin";

/** Settings of every command: no hooks, no repacking, nothing of the machine's or the user's own configuration. */
const ALWAYS: readonly (readonly [string, string])[] = [
  ["core.hooksPath", "/dev/null"],
  ["gc.auto", "0"],
  ["maintenance.auto", "false"],
  // Everything here can be fetched again, and a mirror that a power cut damaged is cloned anew: nothing waits for the disk.
  ["core.fsync", "none"],
];

/** Environment for commands that only read the mirror: a missing object is an answer, never fetched. */
export function localEnvironment(folder: string): Record<string, string> {
  return environment(folder, ALWAYS, "");
}

/**
 * Environment for commands that fetch. The credentials are in it and nowhere else: not in the arguments, not on the
 * disk (git-config(1), GIT_CONFIG_COUNT). The header is tied to the repository's URL and no redirect is followed.
 */
export function remoteEnvironment(folder: string, source: CloneSource): Record<string, string> {
  const settings: (readonly [string, string])[] = [
    ...ALWAYS,
    [`remote.${REMOTE}.url`, source.url],
    // Says that missing blobs are no damage; on the disk it would make every reading command fetch them one by one.
    [`remote.${REMOTE}.promisor`, "true"],
    [`remote.${REMOTE}.partialCloneFilter`, "blob:none"],
    ["http.followRedirects", "false"],
    // An empty value takes away every credential helper.
    ["credential.helper", ""],
  ];
  if (source.authorization !== undefined) {
    settings.push([`http.${source.url}/.extraHeader`, `Authorization: ${source.authorization}`]);
  }
  return environment(folder, settings, "http:https");
}

function environment(
  folder: string,
  settings: readonly (readonly [string, string])[],
  protocols: string,
): Record<string, string> {
  const variables: Record<string, string> = {
    ...childEnvironment(),
    // No ~/.netrc and no ~/.config.
    HOME: folder,
    GIT_DIR: folder,
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_TERMINAL_PROMPT: "0",
    GIT_NO_LAZY_FETCH: "1",
    GIT_ALLOW_PROTOCOL: protocols,
    GIT_OPTIONAL_LOCKS: "0",
    // Messages are read below, so their language is fixed.
    LC_ALL: "C",
    GIT_CONFIG_COUNT: String(settings.length),
  };
  for (const [index, [key, value]] of settings.entries()) {
    variables[`GIT_CONFIG_KEY_${index}`] = key;
    variables[`GIT_CONFIG_VALUE_${index}`] = value;
  }
  return variables;
}
