import { HOST_IDS, HOST_PREFIXES, type HostId } from "../names.js";
import { matchesName, patternProblem } from "./pattern.js";

/** A repository, person or team as settings and annotations name it: `github:acme/deploy`, or without a host, which then is any. */
interface NamedOnHost {
  readonly host: HostId | undefined;
  /** A name, or a pattern where patterns are allowed. */
  readonly name: string;
}

export function withHost(text: string): NamedOnHost {
  const host = HOST_IDS.find((id) => HOST_PREFIXES[id].some((prefix) => text.startsWith(`${prefix}:`)));
  return { host, name: host === undefined ? text : text.slice(text.indexOf(":") + 1) };
}

/** `https://host/path`, `ssh://git@host/path` or `git@host:path`. */
const ADDRESS =
  /^(?:(?:https?:\/\/[^\s/?#@*]+|ssh:\/\/(?:[^\s/?#@:*]+@)?[^\s/?#@*]+)\/|[^\s/@:*]+@[^\s/@:*]+:)[^\s?#*]+$/;
export const ADDRESS_FORM = { type: "string", pattern: ADDRESS.source } as const;

export function isRepositoryAddress(text: string): boolean {
  return ADDRESS.test(text);
}

/** Whether the text names one host, by a prefix or as an address. */
export function namesHost(text: string): boolean {
  return isRepositoryAddress(text) || withHost(text).host !== undefined;
}

/** Explains why a text names no repository; undefined if it is a name, or a pattern of names. Empty: what is allowed says enough. */
export function repositoryProblem(text: string): string | undefined {
  const { name } = withHost(text);
  if (name.includes(":")) return "no host has this name: write `github:` or `gitlab:` in front of the repository";
  return patternProblem(name) ?? (name.includes("/") || /^\*\*?$/.test(name) ? undefined : "");
}

/** How to write a repository of unknown host: `github:acme/deploy or gitlab:acme/deploy`. */
export function withEachHost(hosts: readonly HostId[], name: string): string {
  return hosts.map((id) => `${HOST_PREFIXES[id][0]}:${name}`).join(" or ");
}

/** Whether `allowed_repos` has this repository; an empty list has all. */
export function allowsRepository(allowed: readonly string[], host: HostId, repository: string): boolean {
  return allowed.length === 0 || namesOf(allowed, host).some((name) => matchesName(name, repository.toLowerCase()));
}

/** Whether `allowed_repos` may have a repository of this owner. */
export function allowsOwner(allowed: readonly string[], host: HostId, owner: string): boolean {
  return (
    allowed.length === 0 ||
    namesOf(allowed, host).some((name) => {
      const [own = ""] = name.split("/");
      // `{acme/a,other/b}` is cut within its braces: what it names cannot be told from here.
      return own === "**" || (own.includes("{") && !own.includes("}")) || matchesName(own, owner.toLowerCase());
    })
  );
}

function namesOf(allowed: readonly string[], host: HostId): readonly string[] {
  return namesOn(host, allowed).map((name) => name.toLowerCase());
}

/** The names that mean this host, without its prefix: whoever has one of them on another host is somebody else. */
export function namesOn(host: HostId, names: readonly string[]): readonly string[] {
  return names.map(withHost).flatMap((one) => ((one.host ?? host) === host ? [one.name] : []));
}
