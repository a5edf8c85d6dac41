import { type ApplicationSpec, destinationOf, type Manifest } from "../model/application.js";
import { isJsonObject, jsonEqual, type JsonText, jsonText, readJsonText } from "../model/json.js";
import { applicationSyncOptions } from "./manifest-key.js";

interface Renders {
  readonly base: JsonText<readonly Manifest[]>;
  readonly head: JsonText<readonly Manifest[]>;
}

/**
 * The renders, and before them the Namespace to which the head's definition gives other labels or annotations than the base's: a sync
 * writes it, unless it is rendered (`syncNamespace` in Argo CD's `controller/sync_namespace.go`).
 */
export function withManagedNamespace(
  { base, head }: Renders,
  { from, to }: { readonly from: ApplicationSpec | undefined; readonly to: ApplicationSpec },
): Renders {
  const managed = managedNamespace(to);
  const stays = from !== undefined && destinationOf(from).namespace === destinationOf(to).namespace;
  const before = stays ? managedNamespace(from) : undefined;
  if (managed === undefined || !isJsonObject(metadataOf(to)) || jsonEqual(before, managed)) return { base, head };
  const behind = (first: Manifest, rest: Renders["base"]) => jsonText([first, ...readJsonText(rest)]);
  return { base: before === undefined ? base : behind(before, base), head: behind(managed, head) };
}

function managedNamespace(spec: ApplicationSpec): Manifest | undefined {
  const { namespace: name } = destinationOf(spec);
  if (name === "" || !applicationSyncOptions(spec).includes("CreateNamespace=true")) return undefined;
  const metadata = metadataOf(spec);
  const { labels, annotations } = isJsonObject(metadata) ? metadata : {};
  return { apiVersion: "v1", kind: "Namespace", metadata: { name, labels, annotations } };
}

function metadataOf({ syncPolicy }: ApplicationSpec) {
  return isJsonObject(syncPolicy) ? syncPolicy.managedNamespaceMetadata : undefined;
}
