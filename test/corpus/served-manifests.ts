import type { ArgoCd } from "../../sandbox/argocd/argocd.js";
import type { WrittenManifests } from "./load-case.js";
import { yamlObjects } from "./yaml-objects.js";

const COMMITS = new Set(["base", "head", "later"]);

/**
 * Serves a case's hand-written manifests. Commit ids become known one after the other, and so do the names of temporary
 * Applications, under which an application is rendered as well: what is known is registered, what comes later is added.
 */
export class ServedManifests {
  readonly #revisions = new Map<string, string>();
  readonly #names: (readonly [served: string, application: string])[];

  constructor(
    private readonly argocd: ArgoCd,
    private readonly written: readonly WrittenManifests[],
  ) {
    this.#names = [...new Set(written.map(({ application }) => application))].map((name) => [name, name]);
    // A chart's version and the like means itself.
    for (const { revision } of written) if (!COMMITS.has(revision)) this.know(revision, revision);
  }

  /** From now on what was written for `symbol` is answered for this revision. */
  know(symbol: string, revision: string): void {
    this.#revisions.set(symbol, revision);
    for (const name of this.#names) this.#serve(name);
  }

  /** The application `<name>` or `<namespace>/<name>` is from now on also rendered under the name of a temporary one. */
  alsoAs(temporary: string, real: string): void {
    const name = [temporary, real.replace("/", "_")] as const;
    this.#names.push(name);
    this.#serve(name);
  }

  #serve([served, application]: readonly [string, string]): void {
    for (const one of this.written) {
      const revision = this.#revisions.get(one.revision);
      if (one.application !== application || revision === undefined) continue;
      this.argocd.setManifests(served, revision, yamlObjects(one.text));
    }
  }
}
