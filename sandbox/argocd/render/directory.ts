import type { Manifest } from "../manifest.js";
import type { Source } from "../resource.js";
import type { Checkout } from "./checkout.js";
import { baseName, folderOf, globToRegExp, isInside } from "./paths.js";
import { readManifests } from "./yaml-documents.js";

/** Renders plain YAML and JSON files, in subfolders only with `recurse`. */
export async function renderDirectory(checkout: Checkout, source: Source): Promise<Manifest[]> {
  const { recurse = false, include, exclude } = source.directory ?? {};
  const paths = checkout.files().filter((path) => {
    if (!isInside(checkout.path, path) || !/\.(ya?ml|json)$/.test(path)) return false;
    if (!recurse && folderOf(path) !== checkout.path) return false;
    const relative = checkout.path === "" ? path : path.slice(checkout.path.length + 1);
    if (baseName(path).startsWith(".argocd-source")) return false;
    if (exclude !== undefined && exclude !== "" && globToRegExp(exclude).test(relative)) return false;
    return include === undefined || include === "" || globToRegExp(include).test(relative);
  });
  const texts = await checkout.read(paths);
  return paths.flatMap((path) => readManifests(baseName(path), texts.get(path) ?? ""));
}
