import { readSource, sourcesOf, type Source } from "../../model/application-spec.js";
import type { ApplicationSpec } from "../../model/application.js";
import { isJsonObject, type Json } from "../../model/json.js";

/** Repositories, and files that are fetched from elsewhere. Of several kinds of sources, all count. */
export function addressesIn(spec: ApplicationSpec): readonly string[] {
  const single = isJsonObject(spec.source) ? [readSource(spec.source, 1, "plain")] : [];
  return [...sourcesOf(spec), ...single].flatMap(({ repoURL, helm, kustomize }) => {
    const files = [...(helm?.valueFiles ?? []), ...(helm?.fileParameters ?? [])];
    const named = [...files, ...(kustomize?.components ?? []), ...(kustomize?.patchPaths ?? [])];
    return [repoURL, ...named.filter((file) => /:|\$\{?ARGOCD_APP_SOURCE_REPO_URL/.test(file))];
  });
}

/** The `plugin` blocks as text. A plugin is a program: nobody but its author knows what its settings make it read. */
export function pluginsIn({ source, sources }: ApplicationSpec): readonly string[] {
  return [source, ...(Array.isArray(sources) ? (sources as readonly Json[]) : [])].flatMap((one) =>
    isJsonObject(one) && one.plugin !== undefined ? [JSON.stringify(one.plugin)] : [],
  );
}

/** The other sources whose files it names, as `$values`. */
export function referencesIn({ helm }: Pick<Source, "helm">): readonly string[] {
  const files = [...(helm?.valueFiles ?? []), ...(helm?.fileParameters ?? [])];
  return files.flatMap((file) => /^\$[\w-]+(?=\/)/.exec(file) ?? []);
}
