import type { RepositoryTree } from "../../ports/snapshot.js";
import { fixedPart, type InputCollector } from "./input-set.js";

/**
 * What the symbolic links lead to that are inputs, or on the way to one, and what the links there lead to in turn. Only
 * a link that cannot be read makes the whole repository an input. Call it when everything else was added.
 */
export function addLinkedInputs(tree: RepositoryTree, into: InputCollector): void {
  const waiting = [...into.part.paths, ...into.part.patterns.map(fixedPart)];
  const seen = new Set(waiting);
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { path, links, unreadable } = tree.follow(next);
    if (unreadable !== undefined) into.addWhole(`the symbolic link ${unreadable} cannot be read`);
    for (const link of links) into.addPath(link);
    if (path !== undefined && links.length > 0) into.addPath(path);
    const more = [...(path === undefined ? [] : [path]), ...tree.linksIn(next)];
    for (const one of more.filter((candidate) => !seen.has(candidate))) {
      seen.add(one);
      waiting.push(one);
    }
  }
}

/**
 * A submodule is pinned by its commit, but where it comes from is said in `.gitmodules`, and what its files read in turn
 * cannot be seen. Call it when everything else was added.
 */
export function addSubmoduleInputs(tree: RepositoryTree, into: InputCollector): void {
  const { paths, patterns } = into.part;
  const read = [...paths, ...patterns.map(fixedPart)].some((path) => tree.touchesSubmodule(path));
  if (!read) return;
  into.addPath(".gitmodules");
  into.addRemote();
}
