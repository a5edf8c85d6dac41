import type { Manifest } from "../model/application.js";
import type { Revision } from "../model/brand.js";
import { isJsonObject, jsonEqual } from "../model/json.js";
import type { ManifestDiff } from "../model/manifest-diff.js";
import { isSecret } from "../secrets/secret-object.js";
import { isHook, isNeverApplied } from "./hook.js";
import { byIdentity, titleOf } from "./manifest-key.js";
import { normalise } from "./normalise.js";
import { meanTheSame, summarise, type Sides } from "./summarise.js";

export interface DiffRequest {
  readonly base: readonly Manifest[];
  readonly head: readonly Manifest[];
  /** `spec.destination.namespace` of the head, which gets objects without a namespace. */
  readonly destinationNamespace: string;
  /** The base's namespace: a definition that moves to another namespace creates everything there. */
  readonly baseNamespace: string;
  /** `spec.syncPolicy.syncOptions` of the head. */
  readonly syncOptions: readonly string[];
  /** The commits of the two renders: their ids in values of that side are no change. */
  readonly placeholders: { readonly base: Revision; readonly head: Revision };
  /** Patterns for what must not be shown; see `redact`. */
  readonly redact: readonly string[];
}

/**
 * What a sync of the head would create, update and delete, dangerous changes first. Hooks are listed and not counted. The
 * result contains no value of a Secret.
 */
export function diffManifests(request: DiffRequest, pairs = differingPairs(pairManifests(request))): ManifestDiff {
  return summarise([...pairs.values()], { ...request, basis: { kind: "branch" } });
}

/** Diff of two sides with identical inputs. Secrets are safe to include: equal inputs cannot hide a change. */
export const NO_DIFFERENCE: ManifestDiff = summarise([], { syncOptions: [], redact: [], basis: { kind: "branch" } });

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

/** The pairs that differ, and those that may: Argo CD hides the values of Secrets. */
export function differingPairs(pairs: ReadonlyMap<string, Sides>): ReadonlyMap<string, Sides> {
  return new Map([...pairs].filter(([, sides]) => isSecret(sides.identity) || !meanTheSame(sides)));
}

/**
 * Objects that both sides have and that differ only in the commit's id: `ConfigMap web-cfg`, with the namespace if it is
 * not the application's.
 */
export function differingByCommit(
  request: DiffRequest,
  pairs: ReadonlyMap<string, Sides>,
  differing: ReadonlyMap<string, Sides>,
): readonly string[] {
  const { head, destinationNamespace, placeholders } = request;
  if (placeholders.base === placeholders.head) return [];
  const shortest = placeholders.head.slice(0, 7);
  return [...byIdentity(head, destinationNamespace)].flatMap(([key, { identity, manifest }]) => {
    if (pairs.get(key)?.base === undefined || differing.has(key)) return [];
    if (!JSON.stringify(manifest).includes(shortest)) return [];
    if (jsonEqual(normalise(manifest, placeholders.head), normalise(manifest, undefined))) return [];
    const own = identity.namespace === destinationNamespace;
    return [titleOf(own ? { ...identity, namespace: "" } : identity)];
  });
}

function hasNamespace({ metadata }: Manifest): boolean {
  return isJsonObject(metadata) && metadata.namespace !== undefined && metadata.namespace !== "";
}

/** Both sides are in the same namespace, so naming it on one side only is no difference. */
function withoutNamespace(manifest: Manifest): Manifest {
  const { metadata } = manifest;
  return isJsonObject(metadata) ? { ...manifest, metadata: { ...metadata, namespace: undefined } } : manifest;
}
