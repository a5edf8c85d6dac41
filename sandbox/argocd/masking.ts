import { isObject, objectAt, stringAt, textOf, type Json, type JsonObject } from "./json.js";
import { groupOf, type Manifest } from "./manifest.js";

export const lastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration";

export function isSecret(manifest: Manifest): boolean {
  return manifest.kind === "Secret" && groupOf(manifest) === "";
}

/** Moves `stringData` into `data`, as the API server does. */
export function withEncodedData(manifest: Manifest): Manifest {
  if (!isSecret(manifest) || manifest.stringData === undefined) return manifest;
  const { stringData, ...rest } = manifest;
  const encoded = Object.entries(objectAt(stringData)).map(([key, value]) => [
    key,
    Buffer.from(textOf(value)).toString("base64"),
  ]);
  return { ...rest, data: { ...objectAt(rest, "data"), ...(Object.fromEntries(encoded) as JsonObject) } };
}

/**
 * Masks the values of a Secret in one or more views of it. Within one call, equal values of a key get equal masks and
 * different values get longer ones, in order of appearance. The objects' data comes before their last-applied
 * annotations.
 * https://github.com/argoproj/argo-cd/blob/v3.5.1/gitops-engine/pkg/diff/diff.go
 */
export function masked(views: readonly (Manifest | undefined)[]): (Manifest | undefined)[] {
  const masks = new Map<string, Map<string, string>>();
  const maskOf = (key: string, value: Json | undefined): string => {
    const known = masks.get(key) ?? new Map<string, string>();
    masks.set(key, known);
    const text = textOf(value);
    const mask = known.get(text) ?? "+".repeat(8 + 4 * known.size);
    known.set(text, mask);
    return mask;
  };
  const hide = (manifest: Manifest): Manifest => {
    const encoded = withEncodedData(manifest);
    if (!isObject(encoded.data)) return encoded;
    const data = Object.keys(encoded.data)
      .sort()
      .map((key) => [key, maskOf(key, objectAt(encoded, "data")[key])]);
    return { ...encoded, data: Object.fromEntries(data) as JsonObject };
  };
  const hidden = views.map((view) => (view === undefined || !isSecret(view) ? view : hide(view)));
  return hidden.map((view) => {
    const applied = view === undefined ? undefined : stringAt(view, "metadata", "annotations", lastAppliedAnnotation);
    if (view === undefined || applied === undefined || !isSecret(view)) return view;
    const metadata = objectAt(view, "metadata");
    const text = JSON.stringify(hide(JSON.parse(applied) as Manifest));
    return {
      ...view,
      metadata: { ...metadata, annotations: { ...objectAt(metadata, "annotations"), [lastAppliedAnnotation]: text } },
    };
  });
}
