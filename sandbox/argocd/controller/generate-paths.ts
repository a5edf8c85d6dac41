import { posix } from "node:path";
import { globToRegExp } from "../render/paths.js";
import type { SourceAt } from "../render/render-source.js";
import type { Repositories } from "../repository.js";
import type { Application } from "../resource.js";

const annotationName = "argocd.argoproj.io/manifest-generate-paths";

/** The annotation's entries, or undefined if it is empty. */
export function generatePaths({ metadata }: Application): string[] | undefined {
  const entries = (metadata.annotations?.[annotationName] ?? "").split(";").map((entry) => entry.trim());
  const filled = entries.filter((entry) => entry !== "");
  return filled.length === 0 ? undefined : filled;
}

function matchesAnnotation(file: string, sourcePath: string, entries: readonly string[]): boolean {
  return entries.some((entry) => {
    const path = entry.startsWith("/") ? entry.slice(1) : posix.join("/", sourcePath, entry).slice(1);
    const clean = posix.join("/", path).replace(/\/$/, "");
    const absolute = `/${file}`;
    return clean === "" || absolute === clean || absolute.startsWith(`${clean}/`) || globToRegExp(clean).test(absolute);
  });
}

/**
 * Models a side effect of the annotation: if no file that it names differs between the commit compared last and a new
 * one, Argo CD caches the manifests of the old commit under the new commit, and they stay there.
 * https://argo-cd.readthedocs.io/en/release-3.1/operator-manual/high_availability/#manifest-paths-annotation
 */
export class FiledManifests {
  readonly #filed = new Map<string, string>();

  constructor(readonly repositories: Repositories) {}

  /** The commits that are really rendered for these. */
  actual(application: Application, sources: readonly SourceAt[]): SourceAt[] {
    if (generatePaths(application) === undefined) return [...sources];
    return sources.map(({ source, revision }, index) => ({
      source,
      revision: this.#filed.get(key(application, index, revision)) ?? revision,
    }));
  }

  /** Must be called before the controller compares or syncs at new commits. */
  note(application: Application, sources: readonly SourceAt[], compared: readonly string[]): void {
    const entries = generatePaths(application);
    if (entries === undefined || compared.length !== sources.length) return;
    for (const [index, at] of sources.entries()) {
      const before = compared[index] ?? "";
      if (at.source.chart !== undefined || before === at.revision || before === "") continue;
      const filedBefore = this.#filed.get(key(application, index, before)) ?? before;
      if (this.#touches(sources, index, compared, entries)) {
        this.#filed.delete(key(application, index, at.revision));
      } else this.#filed.set(key(application, index, at.revision), filedBefore);
    }
  }

  /** Whether a file that the annotation covers differs, in the source or in a source that it refers to. */
  #touches(
    sources: readonly SourceAt[],
    index: number,
    compared: readonly string[],
    entries: readonly string[],
  ): boolean {
    const at = sources[index];
    const names = new Set((at?.source.helm?.valueFiles ?? []).map((file) => /^\$([\w-]+)\//.exec(file)?.[1]));
    for (const [other, { source, revision }] of sources.entries()) {
      const before = compared[other] ?? "";
      if (other !== index && (source.ref === undefined || !names.has(source.ref))) continue;
      if (before === revision || source.chart !== undefined) continue;
      const changed = this.repositories.at(source.repoURL).changedPaths(before, revision);
      if (changed === undefined || changed.some((file) => matchesAnnotation(file, source.path ?? "", entries))) {
        return true;
      }
    }
    return false;
  }
}

function key({ metadata }: Application, index: number, revision: string): string {
  return `${metadata.namespace}/${metadata.name} ${index} ${revision}`;
}
