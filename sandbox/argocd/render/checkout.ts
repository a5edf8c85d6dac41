import { failedPrecondition, unknown } from "../api-error.js";
import type { Repository, Tree } from "../repository.js";
import { cleanPath, isInside } from "./paths.js";

/** A commit of a repository with the folder that a source renders. */
export class Checkout {
  private constructor(
    readonly repository: Repository,
    readonly repoUrl: string,
    readonly revision: string,
    readonly path: string,
    private readonly tree: Tree,
  ) {}

  static async open(repository: Repository, repoUrl: string, revision: string, path: string): Promise<Checkout> {
    if (path.startsWith("/")) throw unknown(`${path}: app path is absolute`);
    const clean = cleanPath(path);
    if (clean.startsWith("..")) throw unknown(`${path}: app path outside root`);
    const checkout = new Checkout(repository, repoUrl, revision, clean, await repository.tree(revision));
    if (checkout.tree.has(clean)) throw unknown(`${path}: app path is not a directory`);
    if (clean !== "" && !checkout.hasFolder(clean)) throw unknown(`${path}: app path does not exist`);
    return checkout;
  }

  /** All files of the commit, in order. */
  files(): string[] {
    return [...this.tree.keys()];
  }

  hasFile(path: string): boolean {
    return this.tree.has(path);
  }

  hasFolder(path: string): boolean {
    return path === "" || this.files().some((file) => file !== path && isInside(path, file));
  }

  read(paths: readonly string[]): Promise<Map<string, string>> {
    return this.repository.read(this.revision, paths);
  }

  /** One file's text; undefined when it is missing. @throws {ApiError} when the path leaves the repository. */
  async text(path: string): Promise<string | undefined> {
    if (path.startsWith("..")) throw failedPrecondition(`${path}: path is outside of the repository`);
    return (await this.read([path])).get(path);
  }
}
