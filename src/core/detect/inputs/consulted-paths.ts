import type { RepositoryTree } from "../../ports/snapshot.js";
import { parentOf } from "../tree/repository-path.js";

/** A tree that records which paths are asked for. */
export interface ConsultedTree {
  readonly tree: RepositoryTree;
  /**
   * The paths that decided every answer so far: trees with the same entries at, above and below each of them give the same
   * answers. No path is below another.
   */
  consulted(): readonly string[];
}

/** Records the paths of all questions to this tree, and where symbolic links led. */
export function noteConsulted(tree: RepositoryTree): ConsultedTree {
  const noted = new Set<string>();
  return {
    tree: {
      hasFile: (path) => tree.hasFile(followed(path)),
      hasDirectory: (path) => tree.hasDirectory(followed(path)),
      entryAt: (path) => tree.entryAt(note(path)),
      entriesIn: (path) => tree.entriesIn(followed(path)),
      linksIn: (path) => tree.linksIn(followed(path)),
      touchesSubmodule: (path) => tree.touchesSubmodule(note(path)),
      follow: (path) => tree.follow(followed(path)),
      readYaml: (path) => tree.readYaml(followed(path)),
      parseYaml: (text) => tree.parseYaml(text),
      readTexts: (paths) => tree.readTexts(paths.map(followed)),
    },
    consulted: () => outermost(noted),
  };

  function note(path: string): string {
    noted.add(path);
    return path;
  }

  function followed(path: string): string {
    const { path: real, asked } = tree.follow(path);
    for (const one of asked) noted.add(one);
    if (real !== undefined) noted.add(real);
    return note(path);
  }
}

/** Drops paths that are below others. */
function outermost(paths: ReadonlySet<string>): readonly string[] {
  if (paths.has("")) return [""];
  return [...paths].filter((path) => {
    for (let above = parentOf(path); above !== ""; above = parentOf(above)) if (paths.has(above)) return false;
    return true;
  });
}
