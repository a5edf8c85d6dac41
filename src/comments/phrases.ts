import { readLabelSelector } from "../core/commands/label-selector.js";
import type { HostWords } from "../core/model/host-words.js";
import type { Lock } from "../core/model/lock.js";
import type { UnreadFile } from "../core/model/plan.js";
import { REPOSITORY_FILE } from "../names.js";
import { code, sentence, shortened } from "./markdown.js";

/** The specification's text for a lock of another change request. In a code span, since `#1` would become a link. */
export function lockedBy({ holder, user }: Lock): string {
  return code(`Locked by PR #${holder.number} (${user})`);
}

/** `1 resource`, `2 resources`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
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

/** Why a label that people see in a file may match nothing; empty if no label was given. */
export function labelHint(selected: readonly string[], short: string): string {
  if (!selected.some((one) => readLabelSelector(one) !== undefined)) return "";
  return ` Labels count as Argo CD has them, not as this ${short} writes them.`;
}

const MAX_FILES = 10;
const MAX_PATH = 200;

/** Changed files that were not read, and what to do. */
export function unreadText(files: readonly UnreadFile[], { short }: HostWords): string {
  const named = files.slice(0, MAX_FILES);
  const items = named.map(({ file, reason }) => `- ${code(shortened(file, MAX_PATH))}: ${sentence(reason)}`);
  const more = files.length > named.length ? [`- and ${files.length - named.length} more`] : [];
  return [
    "These changed files could not be read, and each may hold an Application:",
    ...items,
    ...more,
    "",
    `Nothing of this ${short} is synced or merged while they are in it. Split or simplify them and push, or exclude them with ${code("cr_paths")} in ${code(REPOSITORY_FILE)} on the base branch.`,
  ].join("\n");
}
