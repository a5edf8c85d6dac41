import type { Manifest } from "../manifest.js";
import type { Source } from "../resource.js";
import { cleanPath } from "./paths.js";

/**
 * Who gets hand-written manifests: an application by its name (for all its sources; `<namespace>_<name>` outside the
 * control-plane namespace), or every source that reads this path.
 */
export type ManifestsOf = string | { readonly path: string; readonly repoURL?: string };

interface Entry {
  readonly of: ManifestsOf;
  readonly revision: string;
  readonly manifests: readonly Manifest[];
}

/** Hand-written manifests that replace rendering. An exact revision beats `*`; after that, the newest entry wins. */
export class HandWritten {
  readonly #entries: Entry[] = [];

  set(of: ManifestsOf, revision: string, manifests: readonly Manifest[]): void {
    this.#entries.unshift({ of, revision, manifests });
  }

  ofApplication(name: string, revisions: readonly string[]): readonly Manifest[] | undefined {
    return this.#find((of) => of === name, revisions);
  }

  ofSource(source: Source, revision: string): readonly Manifest[] | undefined {
    return this.#find(
      (of) => {
        if (typeof of === "string" || cleanPath(of.path) !== cleanPath(source.path ?? source.chart ?? "")) return false;
        return of.repoURL === undefined || of.repoURL === source.repoURL;
      },
      [revision],
    );
  }

  #find(matches: (of: ManifestsOf) => boolean, revisions: readonly string[]): readonly Manifest[] | undefined {
    const found = this.#entries.filter((entry) => matches(entry.of));
    const exact = found.find((entry) => revisions.includes(entry.revision));
    return (exact ?? found.find((entry) => entry.revision === "*"))?.manifests;
  }
}
