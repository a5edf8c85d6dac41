import { hostAddresses, type ServerConfig } from "../config/server/server.js";
import {
  changePagePath,
  type ChangeRequest,
  changeRequestAddress,
  changeRequestName,
  type ChangeRequestRef,
  sameRepositoryOf,
} from "../core/model/change-request.js";
import { type CheckResult, type FailedCheck, isFailed } from "../core/model/check.js";
import { counted, type HostWords, listed, type Message, plainText } from "../core/model/host-words.js";
import type { Lock } from "../core/model/lock.js";
import { checksOf, type Plan, type UnreadFile } from "../core/model/plan/plan.js";
import type { CodeHost } from "../core/ports/code-host.js";
import { HOST_TITLES, type HostId, REPOSITORY_FILE } from "../names.js";

/** A piece of Markdown with every fence and collapsible closed. */
export interface Block {
  readonly text: string;
  /** Repeated with "(continued)" when a later part begins inside this block's section. */
  readonly section: string | undefined;
  /** Cuts it in two, the first not longer than `room`; undefined if that is too little. Without it the block stays whole. */
  readonly split?: (room: number) => { readonly first: string; readonly rest: Block } | undefined;
}

export function block(text: string, section?: string): Block {
  return { text, section };
}

export function blocksOf(texts: readonly string[]): readonly Block[] {
  return texts.flatMap((text) => (text === "" ? [] : [block(text)]));
}

/** Cuts the last lines off blocks that are longer than the limit and cannot be split, and says how many. */
export function cutBlocks(blocks: readonly Block[], limit: number): readonly Block[] {
  return blocks.map((one) => (one.split === undefined ? block(cut(one.text, limit), one.section) : one));
}

function cut(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const lines = text
    .slice(0, limit - 100)
    .split("\n")
    .slice(0, -1);
  return [...lines, `- and ${counted(text.split("\n").length - lines.length, "more line")}`].join("\n");
}

/** Parts are balanced to within this many characters. */
const TOLERANCE = 1000;

/** Packs blocks into as few comments as fit, of about the same length, so that the last is no small remainder. */
export function pack(given: readonly Block[], limit: number): readonly string[] {
  const blocks = cutBlocks(given, limit);
  let best = fill(blocks, limit);
  if (best.length < 2) return best;
  for (let low = limit / 2, high = limit; high - low > TOLERANCE;) {
    const middle = Math.floor((low + high) / 2);
    const parts = fill(blocks, middle);
    if (parts.length > best.length || parts.some(({ length }) => length > limit)) low = middle;
    else [best, high] = [parts, middle];
  }
  return best;
}

function fill(blocks: readonly Block[], limit: number): readonly string[] {
  const parts: string[] = [];
  let current = "";
  let section: string | undefined;
  /** The part holds nothing but a repeated heading. */
  let blank = true;
  for (let block of blocks) {
    for (;;) {
      const joined = join(current, block.text);
      if (joined.length <= limit) {
        current = joined;
        break;
      }
      const halves = block.split?.(limit - join(current, " ").length + 1);
      if (halves === undefined && blank) {
        current = block.text;
        break;
      }
      parts.push(halves === undefined ? current : join(current, halves.first));
      if (halves !== undefined) [block, section] = [halves.rest, block.section];
      current = block.section !== undefined && block.section === section ? `${block.section} (continued)` : "";
      blank = true;
    }
    blank = false;
    section = block.section;
  }
  return blank ? parts : [...parts, current];
}

function join(part: string, text: string): string {
  return part === "" ? text : `${part}\n\n${text}`;
}

/** The specification's text for a lock of another change request, as a link: a host would take `#1` for something else. */
export function lockedBy({ holder, user }: Lock, reader: ChangeRequestRef, links: Pick<Links, "hosts">): string {
  const isNear = holder.host === reader.host && sameRepositoryOf(holder, reader);
  const where = isNear ? "" : ` of ${code(changeRequestName(holder))} on ${HOST_TITLES[holder.host]}`;
  return `${changeLink(`Locked by PR #${holder.number} (${user})`, holder, links)}${where}`;
}

/** The first lines of a list, and one that counts the others: `- and 3 more`. */
export function firstLines(lines: readonly string[], most: number, more = "more"): readonly string[] {
  const left = lines.length - most;
  return [...lines.slice(0, most), ...(left > 0 ? [`- and ${left} ${more}`] : [])];
}

export function joined(texts: readonly string[], separator: string): string {
  return texts.filter((text) => text !== "").join(separator);
}

export function capitalised(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

export function listOf(
  title: string,
  items: readonly { readonly application: string; readonly reason: Message; readonly printed?: string | undefined }[],
  links?: Pick<Links, "hosts">,
): string {
  const lines = items.map(({ application, reason, printed }) => {
    const output = printed === undefined ? "" : sentence(`. It printed: ${printed}`);
    return `- ${code(application)}: ${links === undefined ? sentence(plainText(reason)) : messageText(reason, links)}${output}`;
  });
  return [title, ...lines].join("\n");
}

const MAX_FILES = 10;
const MAX_PATH = 200;

export function unreadText(files: readonly UnreadFile[], { short }: HostWords): string {
  const items = files.map(({ file, reason }) => `- ${code(shortened(file, MAX_PATH))}: ${sentence(reason)}`);
  return [
    "These changed files could not be read, and each may hold an Application:",
    ...firstLines(items, MAX_FILES),
    "",
    `Nothing of this ${short} is synced or merged while they are in it, unless ${code("cr_paths")} in ${code(REPOSITORY_FILE)} on the base branch leaves them out.`,
  ].join("\n");
}

export function checksIn({ applications, previews }: Plan): readonly CheckResult[] {
  return [...applications.flatMap(checksOf), ...previews.flatMap(({ content }) => content.checks ?? [])];
}

/** `Required check conftest failed: exit code 1`. Untrusted. */
export function failureTitle({ name, required, outcome: { reason } }: FailedCheck): string {
  return `${required ? "Required check" : "Check"} ${name} failed: ${reason}`;
}

/** `3 passed, 1 failed`; empty without checks. */
export function countsOf(checks: readonly CheckResult[]): string {
  const failed = checks.filter(isFailed).length;
  const passed = checks.length - failed;
  return [...(passed === 0 ? [] : [`${passed} passed`]), ...(failed === 0 ? [] : [`${failed} failed`])].join(", ");
}

/**
 * Markdown that untrusted text cannot break out of. Untrusted text goes into a fence or a code span, where it cannot
 * mention people, create links, close issues, render HTML, or run a host's quick actions.
 */

/** All but line feeds and tabs, and halves of pairs: a host refuses JSON that has one. */
const CONTROLS = /(?![\n\t])[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu;

/** One line of untrusted text as a code span, without control characters, line breaks and bidirectional marks. */
export function code(text: string): string {
  const clean = oneLine(text);
  const delimiter = "`".repeat(longestRun(clean) + 1);
  const padding = /^`|`$|^ .* $/.test(clean) || clean === "" ? " " : "";
  return `${delimiter}${padding}${clean}${padding}${delimiter}`;
}

export function codes(texts: readonly string[]): string {
  return fitting(texts.map(code));
}

/** In characters: several such lists may stand in one comment. */
const LONGEST_LIST = 12_000;

/** A list in one paragraph, with the number of those for which there is no room. */
export function fitting(texts: readonly string[]): string {
  let length = 0;
  const end = texts.findIndex((text) => (length += text.length + 2) > LONGEST_LIST);
  return listed(texts, end < 0 ? texts.length : end);
}

/** A name of letters, digits, `.`, `/` and `-` unchanged; any other, and one that a host could turn into a link, as a code span. */
export function plainName(text: string): string {
  const isLinked = /^www\.|\bgh-\d|^[0-9a-f]{7,64}$/i.test(text);
  return !isLinked && /^[a-z0-9](?:[a-z0-9./-]*[a-z0-9])?$/i.test(text) ? text : code(text);
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
 * A sentence of ours that contains untrusted names, on one line. Escapes Markdown and HTML. Hosts find mentions, links and formulas
 * after they resolved escapes, so a zero-width space follows `@`, `#`, `!` and the start of an address, and words with a dollar sign
 * become code.
 */
export function sentence(text: string): string {
  const line = oneLine(shortened(text, 1000));
  if (!line.includes("$")) return escaped(line);
  const words = line.split(" ").map((word) => (word.includes("$") ? codeIn(word) : escaped(word)));
  return words.join(" ");
}

/** Quotes around a word and what ends a sentence stay outside. */
function codeIn(word: string): string {
  const [, before = "", name = "", after = ""] = /^(["']*)(.*?)([.,:;!?"']*)$/.exec(word) ?? [];
  return `${before}${code(name)}${after}`;
}

function escaped(text: string): string {
  return text
    .replace(/[@#!](?=[\w/])/g, (character) => `${character}\u200b`)
    .replace(/:(?=\/\/)|\bwww(?=\.)|\bGH(?=-\d)/gi, (linked) => `${linked}\u200b`)
    .replace(/[[\]|*_~\\]/g, (character) => `\\${character}`)
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll("`", "&#96;");
}

/** A message as Markdown: escaped, and the reference in it leads to the other change request. */
function messageText(message: Message, links: Pick<Links, "hosts">): string {
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
  return `⚠️ ${capitalised(escaped)}${/[.!?]$/.test(escaped) ? "" : "."}`;
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
  return text.replace(/\r\n?/g, "\n").replace(CONTROLS, "");
}

/** The delimiter of a fence around a text: longer than every run of backticks in it. */
export function delimiterOf(text: string): string {
  return "`".repeat(Math.max(3, longestRun(text) + 1));
}

function fenced(content: string, language: string): string {
  const delimiter = delimiterOf(content);
  return `${delimiter}${language}\n${content}\n${delimiter}`;
}

/** The length of the longest run of backticks. A long plan is searched again for each of its parts, so no run becomes an object. */
function longestRun(text: string): number {
  let longest = 0;
  let run = 0;
  for (let at = text.indexOf("`"); at >= 0 && at < text.length; at += 1) {
    run = text.charCodeAt(at) === BACKTICK ? run + 1 : 0;
    if (run > longest) longest = run;
  }
  return longest;
}

const BACKTICK = 0x60;

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

/** The links of a comment on a change request. A page is linked only if the service has logins. */
export function linksOf(
  change: ChangeRequest,
  { host, config }: { readonly host: Pick<CodeHost, "commitUrl">; readonly config: ServerConfig },
): Links {
  const { server, auth, deployer } = config;
  const { baseUrl } = server;
  return {
    deployer: deployer.uiUrl ?? deployer.serverUrl,
    hosts: hostAddresses(config),
    head: host.commitUrl(change, change.headRevision),
    page: baseUrl === undefined || !auth.enabled ? undefined : baseUrl + changePagePath(change),
  };
}

const MAX_NAMES = 50;
const MAX_NAME = 60;

/** Counts what has no room, and names the first. @param which the end of the noun's phrase. */
export function leftOut(
  left: readonly string[],
  noun: string,
  which: string,
  page: string | undefined,
): readonly Block[] {
  if (left.length === 0) return [];
  const names = left.map((name) => code(shortened(name, MAX_NAME)));
  const where = page === undefined ? "" : `; log in to read [their plan](<${page}>)`;
  const what = `${counted(left.length, `more ${noun}`)}${which} ${left.length === 1 ? "is" : "are"}`;
  return [block(`${what} not shown here for lack of room${where}: ${listed(names, MAX_NAMES)}`)];
}
