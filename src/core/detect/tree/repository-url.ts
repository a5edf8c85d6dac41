import type { ChangeRequest } from "../../model/change-request.js";

/** Default ports, which do not distinguish repositories. */
const USUAL_PORTS = new Set(["", "22", "80", "443", "7999"]);
const SCHEMES = new Set(["http:", "https:", "ssh:", "git:", "git+ssh:"]);
/** `user@host:path`, git's short form of an SSH URL. */
const SCP_FORM = /^[^/@:\s]+@(\[[^\]]+\]|[^/@:\s]+):(.+)$/;

/** Longer texts are not repositories. */
const MAX_LENGTH = 2048;

interface RepositoryAddress {
  /** Over HTTP, where the path of a repository may begin with that of the whole host. */
  readonly web: boolean;
  readonly host: string;
  readonly path: string;
  /** A web port other than the defaults, or empty. */
  readonly port: string;
}

/** The canonical form of a Git URL: `host/path` without scheme, user, port and `.git`, in lower case; undefined if the text is no such URL. */
export function canonicalRepository(url: string): string | undefined {
  const address = parseAddress(url);
  return address && `${address.host}/${address.path}`;
}

/** SSH and HTTPS forms are equal, as in Argo CD's own matching of webhooks; different web ports of one host are different servers. */
function sameAddress(one: RepositoryAddress | undefined, other: RepositoryAddress | undefined): boolean {
  if (one === undefined || one.host !== other?.host) return false;
  if (one.port !== "" && other.port !== "" && one.port !== other.port) return false;
  return one.path === other.path;
}

/**
 * Whether a source's URL names the change request's repository. Web addresses are compared with those that the host gave,
 * and others with its other ones: on a server below the path `code`, `git@host:code/x.git` is not `https://host/code/x`.
 */
export function isOwnRepository({ repositoryUrls }: Pick<ChangeRequest, "repositoryUrls">, url: string): boolean {
  // Most sources have one of these very URLs, and a plan asks for those of thousands of applications.
  if (repositoryUrls.includes(url)) return true;
  const address = parseAddress(url);
  const own = repositoryUrls.map(parseAddress).filter((one) => one?.host === address?.host);
  const alike = own.filter((one) => one?.web === address?.web);
  return (alike.length > 0 ? alike : own).some((one) => sameAddress(one, address));
}

/** The path of a repository below the root of a server, as `isOwnRepository` compares them; undefined if it is elsewhere. */
export function pathBelow(root: string, url: string): string | undefined {
  const [server, one] = [parseAddress(`${root}/x`), parseAddress(url)];
  if (server === undefined || one?.host !== server.host) return undefined;
  if (one.port !== "" && server.port !== "" && one.port !== server.port) return undefined;
  const folder = one.web ? server.path.slice(0, -1) : "";
  return one.path.startsWith(folder) ? one.path.slice(folder.length) : undefined;
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

/**
 * Whether Kustomize could take an entry for an address, even if something in the tree has that name: it looks for a
 * directory only where it reads no repository, and its versions know different short forms.
 * Source: `api/internal/git/repospec.go` of Kustomize 5.8.1.
 */
export function mayBeAddress(entry: string): boolean {
  return /[:?@]|^[\w-]+(?:\.[\w-]+)*\.[a-z]{2,}\//i.test(entry);
}

/** The branch or tag that the query of an address names, as Kustomize finds it (`parseQuery` of 5.8.1); empty if it names none. */
export function refIn(query: string): string {
  // Go reads nothing of a query with a semicolon or a broken escape, and another `?` as a letter.
  const isBroken = /;|%(?![\da-f]{2})/i.test(query);
  const options = new URLSearchParams(isBroken ? "" : `?${query}`);
  return ["ref", "version"].map((name) => options.get(name) ?? "").find((ref) => ref !== "") ?? "";
}

const API_FILE = /^(https?:\/\/.+?)\/api\/v4\/projects\/([^/]+)\/repository\/files\/([^/]+)\/raw$/i;

/** The path of a file of the change request's repository that its host's API serves at an address; undefined for other addresses. */
export function servedByApi(
  url: string,
  change: Pick<ChangeRequest, "repository" | "repositoryId" | "repositoryUrls">,
): string | undefined {
  const [, server = "", project = "", path = ""] = API_FILE.exec(url) ?? [];
  const { repository, repositoryId } = change;
  const named = percentDecoded(project);
  // The host finds a project by its path in any case.
  const isNamed = named === repositoryId || named?.toLowerCase() === repository.toLowerCase();
  return isNamed && isOwnRepository(change, `${server}/${repository}`) ? percentDecoded(path) : undefined;
}

function parseAddress(url: string): RepositoryAddress | undefined {
  const trimmed = url.trim();
  if (trimmed.length > MAX_LENGTH) return undefined;
  if (!trimmed.includes("://")) return readScpForm(trimmed);
  if (!URL.canParse(trimmed)) {
    // `ssh://git@host:org/repo` is not a URL: it has a path in place of the port.
    const short = /^(?:git\+)?ssh:\/\/([^/]*:(?!\d+(?:\/|$)).*)$/i.exec(trimmed)?.[1];
    return short === undefined ? undefined : readScpForm(short);
  }
  const { protocol, hostname, pathname, port } = new URL(trimmed);
  if (!SCHEMES.has(protocol)) return undefined;
  const web = protocol === "http:" || protocol === "https:";
  return address(hostname, pathname, { web, port: web && !USUAL_PORTS.has(port) ? port : "" });
}

/** The short form has no port: a number that leads the path is a group. */
function readScpForm(text: string): RepositoryAddress | undefined {
  const [, host, path] = SCP_FORM.exec(text) ?? [];
  return host === undefined || path === undefined ? undefined : address(host, path, { web: false, port: "" });
}

function address(
  host: string,
  path: string,
  transport: Pick<RepositoryAddress, "web" | "port">,
): RepositoryAddress | undefined {
  const plainHost = host
    .toLowerCase()
    .replace(/\.$/, "")
    .replace(/^(?:(?:ssh|altssh|www)\.)+(?=.)/, "");
  const plain = (percentDecoded(path) ?? path)
    .toLowerCase()
    .replace(/\/{2,}/g, "/")
    .replace(/^(?:~?\/)+/, "")
    .replace(/(?:\/|\.git)+$/, "");
  return plainHost === "" || plain === "" ? undefined : { host: plainHost, path: plain, ...transport };
}

/** A text with its percent escapes read; undefined if one of them is malformed. */
export function percentDecoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
