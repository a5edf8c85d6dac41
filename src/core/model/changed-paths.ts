/** The paths that differ between two commits, indexed once for the thousands of applications they are compared with. */
export class ChangedPaths {
  readonly #paths: ReadonlySet<string>;
  /** The changed paths and every directory that holds one. */
  readonly #holding = new Set([""]);

  constructor(readonly paths: readonly string[]) {
    this.#paths = new Set(paths);
    for (const path of paths) for (const one of selfAndParents(path)) this.#holding.add(one);
  }

  /** Whether a changed path is at, above or below this one: a changed link or submodule changes everything below it. */
  touch(path: string): boolean {
    if (this.paths.length === 0) return false;
    return this.#holding.has(path) || selfAndParents(path).some((one) => this.#paths.has(one));
  }
}

function selfAndParents(path: string): readonly string[] {
  const all: string[] = [];
  for (let one = path; one !== ""; one = one.slice(0, Math.max(0, one.lastIndexOf("/")))) all.push(one);
  return all;
}
