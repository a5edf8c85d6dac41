import type { HostWords } from "../core/model/host-words.js";
import type { Lock } from "../core/model/lock.js";
import type { UnreadFile } from "../core/model/plan.js";
import { REPOSITORY_FILE } from "../names.js";
import { code, sentence, shortened } from "./markdown.js";

/** A piece of Markdown with every fence and collapsible closed. */
export interface Block {
  readonly text: string;
  /** Repeated with "(continued)" when a later part begins inside this block's section. */
  readonly section: string | undefined;
  /** Cuts it in two, the first not longer than `room`; undefined if that is too little. Without it the block stays whole. */
  readonly split?: (room: number) => Halves | undefined;
}

export interface Halves {
  readonly first: string;
  readonly rest: Block;
}

export function block(text: string, section?: string): Block {
  return { text, section };
}

/** A block for each text that is not empty. */
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

/** The specification's text for a lock of another change request. In a code span, since `#1` would become a link. */
export function lockedBy({ holder, user }: Lock): string {
  return code(`Locked by PR #${holder.number} (${user})`);
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

/** Joins the texts that are not empty. */
export function joined(texts: readonly string[], separator: string): string {
  return texts.filter((text) => text !== "").join(separator);
}

export function capitalised(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

interface ListedApplication {
  readonly application: string;
  readonly reason: string;
  /** What a program printed about it. */
  readonly printed?: string | undefined;
}

/** A list of applications with a reason each. */
export function listOf(title: string, items: readonly ListedApplication[]): string {
  const lines = items.map(({ application, reason, printed }) => {
    const text = printed === undefined ? reason : `${reason}. It printed: ${printed}`;
    return `- ${code(application)}: ${sentence(text)}`;
  });
  return [title, ...lines].join("\n");
}

const MAX_FILES = 10;
const MAX_PATH = 200;

/** Changed files that were not read, and what to do. */
export function unreadText(files: readonly UnreadFile[], { short }: HostWords): string {
  const items = files.map(({ file, reason }) => `- ${code(shortened(file, MAX_PATH))}: ${sentence(reason)}`);
  return [
    "These changed files could not be read, and each may hold an Application:",
    ...firstLines(items, MAX_FILES),
    "",
    `Nothing of this ${short} is synced or merged while they are in it. Split or simplify them and push, or exclude them with ${code("cr_paths")} in ${code(REPOSITORY_FILE)} on the base branch.`,
  ].join("\n");
}
