import type { TreeEntry } from "../../ports/repositories.js";
import type { Followed } from "../../ports/snapshot.js";

/** Linux's own limit. */
const MAX_LINKS = 40;

/**
 * Follows a clean path. Absolute targets and those above the root lead out of the repository: Argo CD refuses to render them
 * (`CheckOutOfBoundsSymlinks`). A path need not exist, and may lead into a submodule.
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
