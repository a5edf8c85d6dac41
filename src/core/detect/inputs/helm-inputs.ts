import type { Source } from "../../model/application-spec.js";
import { hasGlob } from "../tree/path-glob.js";
import { cleanPath } from "../tree/repository-path.js";
import { substitute, type BuildEnvironment } from "./build-environment.js";
import type { InputCollector } from "./input-set.js";
import { fixedPart } from "./input-set.js";

/** The source whose files are read, and which sources of the application are in this repository. */
export interface HelmReader {
  readonly source: Source;
  readonly sources: readonly Source[];
  /** Positions of the sources in this repository. */
  readonly positions: readonly number[];
  readonly environment: BuildEnvironment;
}

/**
 * Adds value files and file parameters. `$ref/…` is relative to the root of the source with that name, `/…` to the root of
 * the own repository, any other path to the source's path. Paths may be globs. Files that do not exist yet count too.
 */
export function addHelmFiles(reader: HelmReader, options: Source["helm"], into: InputCollector): void {
  for (const written of [...(options?.valueFiles ?? []), ...(options?.fileParameters ?? [])]) {
    const place = placeOf(written, reader);
    switch (place.kind) {
      case "unknown":
        into.addWhole(`its value file ${written} cannot be told before rendering`);
        break;
      case "url":
        into.addRemote();
        break;
      case "elsewhere":
        break;
      case "here":
        addFile(place.path, into);
        break;
    }
  }
}

type Place = { readonly kind: "here"; readonly path: string } | { readonly kind: "elsewhere" | "url" | "unknown" };

/** As in Argo CD, a reference is resolved before variables are. */
function placeOf(written: string, { source, sources, positions, environment }: HelmReader): Place {
  const [, ref, rest] = /^\$([^/]+)(?:\/(.*))?$/s.exec(written) ?? [];
  const target = ref === undefined ? undefined : sources.find((other) => other.ref === ref);
  const file = substitute(target === undefined ? written : (rest ?? ""), environment);
  if (file === undefined || file.includes("{{")) return { kind: "unknown" };
  if (target === undefined && /^https?:\/\//i.test(file)) return { kind: "url" };
  if (file.includes("://")) return { kind: "unknown" };
  if (!positions.includes((target ?? source).position)) return { kind: "elsewhere" };
  const fromRoot = target !== undefined || file.startsWith("/");
  return { kind: "here", path: fromRoot ? cleanPath(file) : cleanPath(source.path, file) };
}

function addFile(path: string, into: InputCollector): void {
  into.addPath(path);
  if (path.includes("{")) into.addPath(fixedPart(path));
  else if (hasGlob(path)) into.addPattern(path);
}
