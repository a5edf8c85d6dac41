import type { Source } from "../../model/application-spec.js";
import { isJsonObject, type JsonObject } from "../../model/json.js";
import type { RepositoryTree } from "../../ports/snapshot.js";
import { hasKustomization } from "../inputs/kustomize-inputs.js";
import { cleanPath, parentOf } from "../tree/repository-path.js";
import { kustomizePieces } from "./kustomize-secrets.js";
import { NO_NAMING, type SecretPieces } from "./secret-piece.js";

/** A source of an Application, as it is read and as it is written. */
export interface OwnSource {
  readonly source: Source;
  readonly written: JsonObject;
  /** What Argo CD found it to be when it compared last; empty if it has not. */
  readonly type: string;
}

/**
 * Everything that a source renders Secrets from at a commit, if git alone tells: for a directory of manifests, and for a
 * kustomization that neither transforms Secrets nor reads anything else. Undefined for any other source.
 */
export async function secretPieces(
  { source, written, type }: OwnSource,
  tree: RepositoryTree,
): Promise<SecretPieces | undefined> {
  const path = cleanPath(source.path);
  if (source.helm !== undefined || source.plugin || source.chart !== undefined) return undefined;
  const linked = tree.follow(path).links.length > 0 || tree.linksIn(path).length > 0;
  if (linked || tree.touchesSubmodule(path) || tree.entriesIn(path).some(isOverride)) return undefined;
  const explicit = source.directory || source.kustomize !== undefined;
  if (!explicit && tree.hasFile(cleanPath(path, "Chart.yaml"))) return undefined;
  const kustomized = source.kustomize !== undefined || (!source.directory && hasKustomization(path, tree));
  switch (type) {
    case "Directory":
      return kustomized ? undefined : directoryPieces(path, written, tree);
    case "Kustomize":
      return kustomized && leavesSecrets(written) ? kustomizePieces(path, tree) : undefined;
    default:
      return undefined;
  }

  /** Parameters that Argo CD applies to the source. */
  function isOverride(entry: { readonly path: string }): boolean {
    return parentOf(entry.path) === path && /(?:^|\/)\.argocd-source[^/]*\.yaml$/.test(entry.path);
  }
}

/** Options that change no Secret but in its labels and annotations, which are shown. */
const HARMLESS = /^(?:images|replicas|version|(?:force)?common(?:labels|annotations)(?:envsubst)?|label\w+)$/i;

function leavesSecrets({ kustomize }: JsonObject): boolean {
  return !isJsonObject(kustomize) || Object.keys(kustomize).every((name) => HARMLESS.test(name));
}

function directoryPieces(path: string, { directory }: JsonObject, tree: RepositoryTree): SecretPieces | undefined {
  const recurses = isJsonObject(directory) && directory.recurse === true;
  const files = tree
    .entriesIn(path)
    .filter((entry) => /\.(?:ya?ml|json|jsonnet)$/i.test(entry.path) && (recurses || parentOf(entry.path) === path));
  // Jsonnet computes what it renders.
  if (files.some((entry) => /\.jsonnet$/i.test(entry.path))) return undefined;
  return new Map(
    files.map(({ blob, path: file }) => [`${blob} ${file}`, { kind: "manifests", path: file, naming: NO_NAMING }]),
  );
}
