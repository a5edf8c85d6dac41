import { hostAddresses, type ServerConfig } from "../config/server/server.js";
import {
  changePagePath,
  type ChangeRequest,
  changeRequestAddress,
  type ChangeRequestRef,
} from "../core/model/change-request.js";
import type { Message } from "../core/model/host-words.js";
import type { CodeHost } from "../core/ports/code-host.js";
import type { HostId } from "../names.js";

/**
 * Markdown that untrusted text cannot break out of. Untrusted text goes into a fence or a code span, where it cannot
 * mention people, create links, close issues, render HTML, or run a host's quick actions.
 */

const CONTROLS = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;

/** One line of untrusted text as a code span, without control characters, line breaks and bidirectional marks. */
export function code(text: string): string {
  const clean = oneLine(text);
  const delimiter = "`".repeat(longestRun(clean) + 1);
  const padding = /^`|`$|^ .* $/.test(clean) || clean === "" ? " " : "";
  return `${delimiter}${padding}${clean}${padding}${delimiter}`;
}

export function codes(texts: readonly string[]): string {
  return texts.map(code).join(", ");
}

/** A name of letters, digits, `.`, `/` and `-` unchanged, any other as a code span. */
export function plainName(text: string): string {
  return /^[a-z0-9](?:[a-z0-9./-]*[a-z0-9])?$/i.test(text) ? text : code(text);
}

/**
 * A fenced block of untrusted lines, each with a leading space: a host's quick-action parser may end a block at the
 * first line of three backticks, even inside a longer fence, and run a line that begins with `/` after it.
 */
export function fence(text: string): string {
  const lines = withoutDeceivers(text).trimEnd().split("\n");
  return fenced(lines.map((line) => ` ${line}`).join("\n"), "");
}

/** A fenced diff; each of its lines begins with a space, `+`, `-`, `@`, `#` or a backslash already. */
export function diffFence(diff: string): string {
  return fenced(withoutDeceivers(diff).trimEnd(), "diff");
}

/** A command for people to copy, after what it is for and before what else there is to say. */
export function toCopy(intro: string, command: string, rest = ""): string {
  return [`${intro}:`, fenced(oneLine(command), ""), ...(rest === "" ? [] : [rest])].join("\n");
}

/** A collapsible, closed unless `open`. The blank lines make hosts render Markdown inside it. */
export function details(summary: string, content: string, { open = false } = {}): string {
  return `<details${open ? " open" : ""}><summary>${escapeHtml(summary)}</summary>\n\n${content}\n\n</details>`;
}

export function escapeHtml(text: string): string {
  return oneLine(text)
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

/**
 * A sentence of ours that contains untrusted names, on one line. Escapes Markdown and HTML. Hosts find mentions and links
 * after they resolved escapes, so a zero-width space follows `@`, `#`, `!` and the start of an address.
 */
export function sentence(text: string): string {
  return oneLine(shortened(text, 1000))
    .replace(/[@#!](?=[\w/])/g, (character) => `${character}\u200b`)
    .replace(/:(?=\/\/)|\bwww(?=\.)|\bGH(?=-\d)/gi, (linked) => `${linked}\u200b`)
    .replace(/[[\]|*_~\\]/g, (character) => `\\${character}`)
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll("`", "&#96;");
}

/** A message as Markdown: escaped, and the reference in it leads to the other change request. */
export function messageText(message: Message, links: Pick<Links, "hosts">): string {
  if (typeof message === "string") return sentence(message);
  const { before, reference, change, after } = message;
  return `${sentence(before)}${changeLink(reference, change, links)}${sentence(after)}`;
}

/** A warning on a line of its own. It must not begin with a name: its first letter becomes a capital. */
export function warning(text: string): string {
  return warningLine(sentence(text));
}

export function messageWarning(message: Message, links: Pick<Links, "hosts">): string {
  return warningLine(messageText(message, links));
}

function warningLine(escaped: string): string {
  const ended = /[.!?]$/.test(escaped) ? escaped : `${escaped}.`;
  return `⚠️ ${ended.charAt(0).toUpperCase()}${ended.slice(1)}`;
}

/** Untrusted text cut to a length, with an ellipsis. Never splits a surrogate pair. */
export function shortened(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const cut = text.slice(0, limit);
  return `${/[\ud800-\udbff]$/.test(cut) ? cut.slice(0, -1) : cut}…`;
}

function oneLine(text: string): string {
  return text.replace(/[\r\n\t]+/g, " ").replace(CONTROLS, "");
}

/** Removes characters that make a text look different from what it is. Keeps line breaks and tabs. */
export function withoutDeceivers(text: string): string {
  return text.replace(/\r\n?/g, "\n").replace(CONTROLS, (character) => (/[\n\t]/.test(character) ? character : ""));
}

/** The delimiter of a fence around a text: longer than every run of backticks in it. */
export function delimiterOf(text: string): string {
  return "`".repeat(Math.max(3, longestRun(text) + 1));
}

function fenced(content: string, language: string): string {
  const delimiter = delimiterOf(content);
  return `${delimiter}${language}\n${content}\n${delimiter}`;
}

function longestRun(text: string): number {
  let longest = 0;
  for (const [run] of text.matchAll(/`+/g)) longest = Math.max(longest, run.length);
  return longest;
}

/** Where the names in a comment lead. Plain data, because worker threads write comments too. */
export interface Links {
  readonly deployer: string;
  readonly head: string;
  /** The addresses of the code hosts that are configured. */
  readonly hosts: Readonly<Record<HostId, string | undefined>>;
  /** The change request's page here; undefined if there is no login. */
  readonly page: string | undefined;
}

/** The name of a live application, which leads to it in Argo CD. */
export function applicationLink(application: string, links: Links): string {
  return linked(code(application), applicationAddress(application, links));
}

export function applicationAddress(application: string, { deployer }: Pick<Links, "deployer">): string {
  // `encodeURIComponent` throws on a lone surrogate.
  const parts = application.replace(/\p{Cs}/gu, "").split("/");
  return `${deployer}/applications/${parts.map(encodeURIComponent).join("/")}`;
}

/** `PR #7`, `acme/deploy!7` or the specification's sentence, with a login of letters, digits, dots and hyphens. */
const REFERENCE = /^(?:Locked by )?(?:[a-z]{2} [#!]|[a-z0-9./-]+[#!])\d+(?: \([a-z0-9.-]+\))?$/i;

/** A reference to another change request, which leads to it: in a link hosts look for nothing more. Any other text stays code. */
export function changeLink(text: string, change: ChangeRequestRef, { hosts }: Pick<Links, "hosts">): string {
  const root = hosts[change.host];
  if (root === undefined) return code(text);
  return linked(REFERENCE.test(text) ? text : code(text), changeRequestAddress(root, change));
}

/** The head commit, which leads to it on its host. */
export function headLink(head: string, links: Links): string {
  return linked(code(head.slice(0, 8)), links.head);
}

export function linked(text: string, address: string | undefined): string {
  return address === undefined ? text : `[${text}](<${address}>)`;
}

interface LinkParts {
  readonly host: Pick<CodeHost, "commitUrl">;
  readonly config: ServerConfig;
}

/** The links of a comment on a change request. A page is linked only if the service has logins. */
export function linksOf(change: ChangeRequest, { host, config }: LinkParts): Links {
  const { server, auth, deployer } = config;
  const { baseUrl } = server;
  return {
    deployer: deployer.uiUrl ?? deployer.serverUrl,
    hosts: hostAddresses(config),
    head: host.commitUrl(change, change.headRevision),
    page: baseUrl === undefined || !auth.enabled ? undefined : baseUrl + changePagePath(change),
  };
}
