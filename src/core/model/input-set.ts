/** The paths that differ between two commits, indexed once for the thousands of applications they are compared with. */
export class ChangedPaths {
  readonly #paths: ReadonlySet<string>;
  /** The changed paths at and below each of them, and each directory that holds one. */
  readonly #below = new Map<string, string[]>();

  constructor(readonly paths: readonly string[]) {
    this.#paths = new Set(paths);
    for (const path of this.#paths) {
      for (const one of [...selfAndParents(path), ""]) {
        const below = this.#below.get(one);
        if (below === undefined) this.#below.set(one, [path]);
        else below.push(path);
      }
    }
  }

  /** Whether a changed path is at, above or below this one: a changed link or submodule changes everything below it. */
  touch(path: string): boolean {
    return this.#below.has(path) || selfAndParents(path).some((one) => this.#paths.has(one));
  }

  /** Those at, above and below this one. */
  touching(path: string): readonly string[] {
    const above = selfAndParents(path).filter((one) => one !== path && this.#paths.has(one));
    return [...above, ...(this.#below.get(path) ?? [])];
  }
}

function selfAndParents(path: string): readonly string[] {
  const all: string[] = [];
  for (let one = path; one !== ""; one = one.slice(0, Math.max(0, one.lastIndexOf("/")))) all.push(one);
  return all;
}

/** The files of the change request's repository that an application is rendered from, source by source. */
export type InputSet = readonly InputPart[];

/** What one source reads, from its own repository and through `$ref/…` from others. */
export interface InputPart {
  /** 1-based position of the source that reads. */
  readonly position: number;
  /** Clean `path` of that source; entries of `manifest-generate-paths` are relative to it. */
  readonly sourcePath: string;
  /** Why the whole repository counts as its input; undefined when its inputs are known. */
  readonly whole: string | undefined;
  /** Files, and directories with everything below them. */
  readonly paths: readonly string[];
  readonly patterns: readonly string[];
  /** It reads something that no commit of this repository decides: a URL, a remote base, a chart without a fixed version. */
  readonly remote: boolean;
  /** Texts in its files that may be addresses of repositories, this one included. */
  readonly addresses?: readonly string[];
  /** It reads charts of fixed versions, which somebody could publish again. */
  readonly versions?: boolean;
}

/** What an application reads at a commit, and which paths of the commit's tree decide that. */
export interface FoundInputs {
  readonly inputs: InputSet;
  /** The inputs are the same at a commit that differs at, above and below none of these paths. Undefined if unknown. */
  readonly decidedBy: readonly string[] | undefined;
}
