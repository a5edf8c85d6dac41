import type { Manifest } from "../manifest.js";
import type { Source } from "../resource.js";
import { cleanPath } from "./paths.js";

/**
 * Whose manifests a case brings along: those of an application by its name (all of its sources), outside the control-plane
 * namespace also as `<namespace>_<name>`, or those of every source that reads this path, whatever its application is called.
 */
export type ManifestsOf = string | { readonly path: string; readonly repoURL?: string };

interface Entry {
  readonly of: ManifestsOf;
  readonly revision: string;
  readonly manifests: readonly Manifest[];
}

/** Renders written by hand, used instead of rendering; the entry added last wins, an exact revision before `*`. */
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
