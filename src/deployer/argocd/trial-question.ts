import type { Manifest } from "../../core/model/application.js";
import { isJsonObject } from "../../core/model/json.js";
import type { TrialObject } from "../../core/ports/deployer.js";
import { liveKey, type LiveTexts } from "./live-texts.js";
import type { AskedObject } from "./server-side-diff.js";

/** An object as Argo CD is asked about it. */
export interface Question {
  readonly asked: AskedObject;
  readonly lastApplied: Manifest | undefined;
  /** Why it is not asked about. */
  readonly reason: string | undefined;
}

/** Larger objects fit into no cluster (etcd's limit is 1.5 MiB). */
const LARGEST = 2 * 1024 * 1024;

/**
 * Argo CD tries objects with its own rights in the cluster. So that nobody can sound out with a change request what others
 * have there, new objects are tried only in namespaces that the application deploys to already.
 */
export function questionOf(object: TrialObject, { objects, namespaces }: LiveTexts, destination: string): Question {
  const { group, kind, name, manifest } = object;
  // Only the live object shows that a custom kind is cluster-scoped.
  const places = hasNamespace(manifest) ? [object.namespace] : [object.namespace, ""];
  const namespace = places.find((one) => objects[liveKey({ ...object, namespace: one })] !== undefined);
  const found = namespace === undefined ? undefined : objects[liveKey({ ...object, namespace })];
  const place = namespace ?? object.namespace;
  const target = JSON.stringify(place === "" ? manifest : inNamespace(manifest, place));
  const asked = { group, kind, namespace: place, name, live: found?.text ?? "", target };
  const own = place === destination || namespaces.includes(place);
  return { asked, lastApplied: found?.lastApplied, reason: reasonAgainst(object, asked, own) };
}

function reasonAgainst(
  { manifest, namespace }: TrialObject,
  { live, target }: AskedObject,
  own: boolean,
): string | undefined {
  if (live.length + target.length > LARGEST) return "too large";
  if (live !== "") return undefined;
  if (namespace === "") return "new and cluster-wide";
  if (!hasNamespace(manifest)) return "new, and whether it belongs into a namespace is not known";
  return own ? undefined : "new in a namespace that the application has nothing in";
}

function hasNamespace({ metadata }: Manifest): boolean {
  return isJsonObject(metadata) && metadata.namespace !== undefined && metadata.namespace !== "";
}

function inNamespace(manifest: Manifest, namespace: string): Manifest {
  const { metadata } = manifest;
  return { ...manifest, metadata: { ...(isJsonObject(metadata) ? metadata : {}), namespace } };
}
