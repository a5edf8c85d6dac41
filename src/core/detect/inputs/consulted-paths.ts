import type { RepositoryTree } from "../../ports/snapshot.js";
import { parentOf } from "../tree/repository-path.js";

/** A tree that notes what it is asked. */
export interface ConsultedTree {
  readonly tree: RepositoryTree;
  /**
   * Paths that decide every answer so far: two trees that have the same entries at, above and below each of them give
   * the same answers to the same questions. Nothing in it is below another.
   */
  consulted(): readonly string[];
}

/** Notes the paths of all questions to this tree, and where symbolic links led them. */
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

/** The same reach with fewer paths. */
function outermost(paths: ReadonlySet<string>): readonly string[] {
  if (paths.has("")) return [""];
  return [...paths].filter((path) => {
    for (let above = parentOf(path); above !== ""; above = parentOf(above)) if (paths.has(above)) return false;
    return true;
  });
}
