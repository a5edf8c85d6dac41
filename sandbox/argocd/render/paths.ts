import { posix } from "node:path";

/** Resolves `.` and `..` and trims slashes. Empty is the repository's root; a path above it starts with `..`. */
export function cleanPath(...parts: string[]): string {
  const joined = posix.normalize(parts.filter((part) => part !== "").join("/"));
  return joined.replace(/\/+$/, "").replace(/^\.$/, "");
}

/** Resolves a reference inside a repository: `/x` from the root, anything else from the folder. */
export function resolvePath(folder: string, reference: string): string {
  return reference.startsWith("/") ? cleanPath(reference.slice(1)) : cleanPath(folder, reference);
}

export function isInside(folder: string, path: string): boolean {
  return folder === "" || path === folder || path.startsWith(`${folder}/`);
}

export function folderOf(path: string): string {
  return path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : "";
}

export function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** Supports `*`, `?` and `[…]` within a component, `**` across components and `{a,b}`. */
export function globToRegExp(glob: string): RegExp {
  let source = "";
  for (let at = 0; at < glob.length; at += 1) {
    const rest = glob.slice(at);
    const set = /^\[[!^]?[^\]]+\]/.exec(rest)?.[0];
    if (rest.startsWith("**/")) {
      source += "(?:.*/)?";
      at += 2;
    } else if (rest.startsWith("**")) {
      source += ".*";
      at += 1;
    } else if (rest.startsWith("*")) source += "[^/]*";
    else if (rest.startsWith("?")) source += "[^/]";
    else if (set !== undefined) {
      source += set.replace("[!", "[^");
      at += set.length - 1;
    } else if (rest.startsWith("{")) source += "(?:";
    else if (rest.startsWith("}")) source += ")";
    else if (rest.startsWith(",") && /\{[^}]*$/.test(glob.slice(0, at))) source += "|";
    else source += (glob[at] ?? "").replace(/[\\^$.|?*+()[\]{}]/g, "\\$&");
  }
  return new RegExp(`^${source}$`);
}
