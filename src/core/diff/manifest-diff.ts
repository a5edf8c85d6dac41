import type { Manifest } from "../model/application.js";
import type { Revision } from "../model/brand.js";
import { isJsonObject } from "../model/json.js";
import type { ManifestDiff } from "../model/plan.js";
import { isHook, isNeverApplied } from "./hook.js";
import { byIdentity } from "./manifest-key.js";
import { normalise } from "./normalise.js";
import { summarise, type Sides } from "./summarise.js";

export interface DiffRequest {
  readonly base: readonly Manifest[];
  readonly head: readonly Manifest[];
  /** `spec.destination.namespace` of the head; where objects without a namespace go. */
  readonly destinationNamespace: string;
  /** That of the base: a definition that moves to another namespace creates everything there. */
  readonly baseNamespace: string;
  /** `spec.syncPolicy.syncOptions` of the head. */
  readonly syncOptions: readonly string[];
  /** The commits that the two sides were rendered at: their ids in the values of that side are no change. */
  readonly placeholders: { readonly base: Revision; readonly head: Revision };
}

/**
 * What a sync of the head would do to the objects of the base: created, updated and deleted, the dangerous ones first.
 * Hooks are listed and not counted. No value of a Secret is in the result.
 */
export function diffManifests(request: DiffRequest): ManifestDiff {
  const changes = [...pairManifests(request).values()];
  return summarise(changes, { syncOptions: request.syncOptions, basis: { kind: "branch" } });
}

/** Of sides that nothing differs for; Secrets too, since nothing can hide a difference there. */
export const NO_DIFFERENCE: ManifestDiff = summarise([], { syncOptions: [], basis: { kind: "branch" } });

/** Both renders object by object, normalised, by the key of `keyOf`. */
export function pairManifests(request: DiffRequest): ReadonlyMap<string, Sides> {
  const { destinationNamespace, baseNamespace, placeholders } = request;
  const before = byIdentity(
    request.base.filter((manifest) => !isNeverApplied(manifest)),
    baseNamespace,
  );
  const after = byIdentity(request.head, destinationNamespace);
  const keys = [...new Set([...before.keys(), ...after.keys()])];
  return new Map(
    keys.flatMap((key) => {
      const [old, young] = [before.get(key), after.get(key)];
      const identity = (young ?? old)?.identity;
      if (identity === undefined || (young !== undefined && isNeverApplied(young.manifest))) return [];
      const named = [old, young].every((side) => side === undefined || hasNamespace(side.manifest));
      const shown = (manifest: Manifest) => (named ? manifest : withoutNamespace(manifest));
      const base = old && normalise(shown(old.manifest), placeholders.base);
      const head = young && normalise(shown(young.manifest), placeholders.head);
      const hook = [old, young].every((side) => side === undefined || isHook(side.manifest));
      return [[key, { identity, base, head, hook }] as const];
    }),
  );
}

function hasNamespace({ metadata }: Manifest): boolean {
  return isJsonObject(metadata) && metadata.namespace !== undefined && metadata.namespace !== "";
}

/** Both sides are in the same namespace: where one of them does not say so, it is no difference that the other does. */
function withoutNamespace(manifest: Manifest): Manifest {
  const { metadata } = manifest;
  return isJsonObject(metadata) ? { ...manifest, metadata: { ...metadata, namespace: undefined } } : manifest;
}
