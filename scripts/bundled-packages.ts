import { readFileSync } from "node:fs";
import { join } from "node:path";

/** What svc reads of a package's package.json. */
export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
  readonly author?: string | { readonly name: string };
  readonly repository?: string | { readonly url: string };
}

/** One installed copy of a package; the bundle can hold several versions of one. */
export interface BundledPackage {
  /** Below the root of the repository, as package-lock.json names it. */
  readonly folder: string;
  readonly manifest: Manifest;
}

/** The packages that these files are of, paths below `root`, in the order of their folders. */
export function bundledPackages(root: string, files: readonly string[]): readonly BundledPackage[] {
  const folders = new Set(files.flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []));
  return [...folders].sort().map((folder) => ({
    folder,
    manifest: JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8")) as Manifest,
  }));
}
