import type { Manifest } from "../manifest.js";
import type { Repositories } from "../repository.js";
import type { Source } from "../resource.js";
import type { Rendered } from "./build-environment.js";
import type { HandWritten } from "./hand-written.js";
import { renderSource, type RenderedSource, type SourceAt } from "./render-source.js";

/** A source failed to render; `cause` is the repo-server's error. */
export class SourceFailure extends Error {
  constructor(
    readonly position: number,
    readonly count: number,
    cause: unknown,
  ) {
    super(`failed to generate manifest for source ${position} of ${count}`, { cause });
    this.name = "SourceFailure";
  }
}

export interface RenderResult {
  readonly manifests: readonly Manifest[];
  /** One per source. */
  readonly types: readonly string[];
}

/** Renders applications, and caches the output by everything it depends on. */
export class Renderer {
  readonly #cache = new Map<string, RenderedSource>();

  constructor(
    readonly repositories: Repositories,
    readonly handWritten: HandWritten,
  ) {}

  /** Resolves Git sources to commit ids; the version of a chart or OCI image stays as it is. */
  async resolve(sources: readonly Source[], revisions: readonly (string | undefined)[] = []): Promise<SourceAt[]> {
    return Promise.all(
      sources.map(async (source, index) => {
        const wanted = revisions[index] ?? source.targetRevision;
        const versioned = source.chart !== undefined || source.repoURL.startsWith("oci://");
        if (versioned) return { source, revision: wanted ?? "" };
        try {
          return { source, revision: await this.repositories.at(source.repoURL).resolve(wanted) };
        } catch (error) {
          throw new SourceFailure(index + 1, sources.length, error);
        }
      }),
    );
  }

  /** @throws {SourceFailure} for the first source that cannot be rendered. */
  async render(rendered: Rendered, sources: readonly SourceAt[]): Promise<RenderResult> {
    const revisions = sources.map(({ revision }) => revision);
    const { instance, name } = rendered;
    const ofInstance = this.handWritten.ofApplication(instance, revisions);
    const written = ofInstance ?? this.handWritten.ofApplication(name, revisions);
    if (written !== undefined) return { manifests: written, types: sources.map(() => "Directory") };
    const results: RenderedSource[] = [];
    for (const [index, at] of sources.entries()) {
      const key = JSON.stringify([rendered, at, sources]);
      try {
        const result =
          this.#cache.get(key) ?? (await renderSource(at, sources, rendered, this.repositories, this.handWritten));
        this.#cache.set(key, result);
        results.push(result);
      } catch (error) {
        throw new SourceFailure(index + 1, sources.length, error);
      }
    }
    return { manifests: results.flatMap(({ manifests }) => manifests), types: results.map(({ type }) => type) };
  }

  /** Clears the cache. Needed after hand-written manifests changed. */
  forget(): void {
    this.#cache.clear();
  }
}
