import type { TreeEntry } from "../../ports/repositories.js";

/** Where a path leads when every symbolic link on the way is followed, as an operating system does. */
export interface Followed {
  /** The path without links; undefined when a link leads out of the repository, in a circle, or nobody knows where. */
  readonly path: string | undefined;
  /** The links that were followed, in order. */
  readonly links: readonly string[];
  /** Every path at which a link was looked for, in order: the links, and what is none. */
  readonly asked: readonly string[];
  /** The link whose target cannot be read. */
  readonly unreadable: string | undefined;
}

/** What Linux follows before it gives up. */
const MAX_LINKS = 40;

/**
 * Follows a clean path. Absolute targets and those that climb above the root lead to nothing of the repository: Argo CD
 * refuses to render them (`CheckOutOfBoundsSymlinks`). A path need not exist, and may lead into a submodule.
 */
export function followLinks(
  path: string,
  entryAt: (path: string) => Pick<TreeEntry, "kind"> | undefined,
  targets: ReadonlyMap<string, string>,
): Followed {
  const links: string[] = [];
  const asked: string[] = [];
  const followed: string[] = [];
  const nowhere = { path: undefined, links, asked, unreadable: undefined };
  let waiting: readonly string[] = path.split("/");
  for (let [next, ...rest] = waiting; next !== undefined; [next, ...rest] = waiting) {
    waiting = rest;
    if (next === "" || next === ".") continue;
    if (next === "..") {
      if (followed.pop() === undefined) return nowhere;
      continue;
    }
    const candidate = [...followed, next].join("/");
    asked.push(candidate);
    if (entryAt(candidate)?.kind !== "symlink") {
      followed.push(next);
      continue;
    }
    links.push(candidate);
    const target = targets.get(candidate);
    if (target === undefined) return { path: undefined, links, asked, unreadable: candidate };
    if (target.startsWith("/") || links.length > MAX_LINKS) return nowhere;
    waiting = [...target.split("/"), ...rest];
  }
  return { path: followed.join("/"), links, asked, unreadable: undefined };
}
