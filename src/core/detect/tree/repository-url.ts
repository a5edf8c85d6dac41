import type { ChangeRequest } from "../../model/change-request.js";

/** Default ports, which do not distinguish repositories. */
const USUAL_PORTS = new Set(["", "22", "80", "443", "7999"]);
const SCHEMES = new Set(["http:", "https:", "ssh:", "git:", "git+ssh:"]);
/** `user@host:path`, git's short form of an SSH URL. */
const SCP_FORM = /^[^/@:\s]+@(\[[^\]]+\]|[^/@:\s]+):(.+)$/;

/** Longer texts are not repositories. */
const MAX_LENGTH = 2048;

interface RepositoryAddress {
  readonly host: string;
  /** The repository's path. Two if a leading number may be a port or a group. */
  readonly paths: readonly string[];
  /** A web port other than the defaults, or empty. */
  readonly port: string;
}

/**
 * The canonical form of a repository's URL: `host/path` without scheme, user, port and `.git`, in lower case. Undefined for
 * anything but a Git URL (charts in an OCI registry, local paths).
 */
export function canonicalRepository(url: string): string | undefined {
  const address = parseAddress(url);
  const path = address?.paths[0];
  return address === undefined || path === undefined ? undefined : `${address.host}/${path}`;
}

/**
 * Whether two URLs name the same repository. SSH and HTTPS forms are equal, as in Argo CD's own matching of webhooks;
 * different web ports of one host are different servers.
 */
export function sameRepository(left: string, right: string): boolean {
  return sameAddress(parseAddress(left), parseAddress(right));
}

function sameAddress(one: RepositoryAddress | undefined, other: RepositoryAddress | undefined): boolean {
  if (one === undefined || one.host !== other?.host) return false;
  if (one.port !== "" && other.port !== "" && one.port !== other.port) return false;
  return one.paths.some((path) => other.paths.includes(path));
}

/** Whether a source's URL names the change request's repository. */
export function isOwnRepository({ repositoryUrls }: Pick<ChangeRequest, "repositoryUrls">, url: string): boolean {
  // Most sources have one of these very URLs, and a plan asks for those of thousands of applications.
  if (repositoryUrls.includes(url)) return true;
  const address = parseAddress(url);
  return address !== undefined && repositoryUrls.some((own) => sameAddress(parseAddress(own), address));
}

/** The URL without user name and password, for messages. The user name of git's short SSH form is not secret and stays. */
export function redactUserInfo(url: string): string {
  const start = url.indexOf("://") + "://".length;
  if (start < "://".length) return url;
  const end = url.slice(start).search(/[/?#]/);
  const authority = end === -1 ? url.slice(start) : url.slice(start, start + end);
  // A password with an unescaped slash ends the authority early: the rest of it is no valid port.
  const cutShort = /:.*\D/.test(authority) && !/^\[[^\]]*\](?::\d*)?$/.test(authority);
  const from = (cutShort ? url : authority).lastIndexOf("@");
  if (from === -1) return url;
  return url.slice(0, start) + (cutShort ? url.slice(from + 1) : url.slice(start + from + 1));
}

function parseAddress(url: string): RepositoryAddress | undefined {
  const trimmed = url.trim();
  if (trimmed.length > MAX_LENGTH) return undefined;
  if (!trimmed.includes("://")) return readScpForm(trimmed);
  if (!URL.canParse(trimmed)) {
    // `ssh://git@host:org/repo` is not a URL: it has a path in place of the port.
    return /^(?:git\+)?ssh:\/\//i.test(trimmed) ? readScpForm(afterScheme(trimmed)) : undefined;
  }
  const parsed = new URL(trimmed);
  if (!SCHEMES.has(parsed.protocol)) return undefined;
  const web = parsed.protocol === "http:" || parsed.protocol === "https:";
  return address(parsed.hostname, [parsed.pathname], web && !USUAL_PORTS.has(parsed.port) ? parsed.port : "");
}

function afterScheme(url: string): string {
  return url.slice(url.indexOf("://") + "://".length);
}

function readScpForm(text: string): RepositoryAddress | undefined {
  const [, host, path] = SCP_FORM.exec(text) ?? [];
  if (host === undefined || path === undefined) return undefined;
  const afterPort = /^\d+\/(.+)$/.exec(path)?.[1];
  return address(host, afterPort === undefined ? [path] : [afterPort, path], "");
}

function address(host: string, paths: readonly string[], port: string): RepositoryAddress | undefined {
  const plainHost = host
    .toLowerCase()
    .replace(/\.$/, "")
    .replace(/^(?:(?:ssh|altssh|www)\.)+(?=.)/, "");
  const plainPaths = paths.map(plainPath).filter((path) => path !== "");
  return plainHost === "" || plainPaths.length === 0 ? undefined : { host: plainHost, paths: plainPaths, port };
}

function plainPath(path: string): string {
  return decoded(path)
    .toLowerCase()
    .replace(/\/{2,}/g, "/")
    .replace(/^(?:~?\/)+/, "")
    .replace(/(?:\/|\.git)+$/, "");
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
