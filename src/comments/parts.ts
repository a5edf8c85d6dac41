import { changeRequestName, type ChangeRequestRef, sameRepositoryOf } from "../core/model/change-request.js";
import { type CheckResult, type FailedCheck, isFailed } from "../core/model/check.js";
import { type HostWords, type Message, plainText } from "../core/model/host-words.js";
import type { Lock } from "../core/model/lock.js";
import { checksOf, type Plan, type UnreadFile } from "../core/model/plan/plan.js";
import { HOST_TITLES, REPOSITORY_FILE } from "../names.js";
import { changeLink, code, details, fence, type Links, messageText, sentence, shortened } from "./markdown.js";

/** A piece of Markdown with every fence and collapsible closed. */
export interface Block {
  readonly text: string;
  /** Repeated with "(continued)" when a later part begins inside this block's section. */
  readonly section: string | undefined;
  /** Cuts it in two, the first not longer than `room`; undefined if that is too little. Without it the block stays whole. */
  readonly split?: (room: number) => Halves | undefined;
}

interface Halves {
  readonly first: string;
  readonly rest: Block;
}

export function block(text: string, section?: string): Block {
  return { text, section };
}

export function blocksOf(texts: readonly string[]): readonly Block[] {
  return texts.flatMap((text) => (text === "" ? [] : [block(text)]));
}

/** Cuts the last lines off blocks that are longer than the limit, and says how many. */
export function cutBlocks(blocks: readonly Block[], limit: number): readonly Block[] {
  return blocks.map(({ text, section }) => block(cut(text, limit), section));
}

function cut(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const lines = text
    .slice(0, limit - 100)
    .split("\n")
    .slice(0, -1);
  return [...lines, `- and ${text.split("\n").length - lines.length} more lines`].join("\n");
}

/** Parts are balanced to within this many characters. */
const TOLERANCE = 1000;

/**
 * Packs blocks into as few comments as fit, of about the same length, so that the last is no small remainder.
 * No block without a `split` may be longer than the limit.
 */
export function pack(blocks: readonly Block[], limit: number): readonly string[] {
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

/** `1 resource`, `2 resources`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
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

interface ListedApplication {
  readonly application: string;
  readonly reason: Message;
  readonly printed?: string | undefined;
}

export function listOf(title: string, items: readonly ListedApplication[], links?: Pick<Links, "hosts">): string {
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
    `Nothing of this ${short} is synced or merged while they are in it. Split or simplify them and push, or exclude them with ${code("cr_paths")} in ${code(REPOSITORY_FILE)} on the base branch.`,
  ].join("\n");
}

export function checksIn({ applications, previews }: Plan): readonly CheckResult[] {
  return [...applications.flatMap(checksOf), ...previews.flatMap(({ content }) => content.checks ?? [])];
}

/** `checks: 3 passed, 1 failed`; empty without checks. */
export function checksText(checks: readonly CheckResult[]): string {
  const counts = countsOf(checks);
  return counts === "" ? "" : `checks: ${counts}`;
}

/** For a page; empty if nothing was checked. */
export function checkSentences(checks: readonly CheckResult[]): readonly string[] {
  const text = checksText(checks);
  return text === "" ? [] : [`${capitalised(text)}.`];
}

/** The number of checks, and each failed one expanded with its output. @param outputs see `outputRoom`. */
export function checkBlocks(
  checks: readonly CheckResult[],
  { section, outputs: room }: { readonly section: string | undefined; readonly outputs: number },
): readonly Block[] {
  if (checks.length === 0) return [];
  const failed = checks.filter(isFailed).map((one) => failureText(one, room));
  return [`**Checks:** ${countsOf(checks)}`, ...failed].map((text) => block(text, section));
}

/** `Required check conftest failed: exit code 1`. Untrusted. */
export function failureTitle({ name, required, outcome: { reason } }: FailedCheck): string {
  return `${required ? "Required check" : "Check"} ${name} failed: ${reason}`;
}

function failureText(failed: FailedCheck, room: number): string {
  const { output } = failed.outcome;
  const said = output === "" ? "It printed nothing." : fence(shortened(output, room));
  return details(`❌ ${failureTitle(failed)}`, said, { open: true });
}

function countsOf(checks: readonly CheckResult[]): string {
  const failed = checks.filter(isFailed).length;
  const passed = checks.length - failed;
  return [...(passed === 0 ? [] : [`${passed} passed`]), ...(failed === 0 ? [] : [`${failed} failed`])].join(", ");
}
