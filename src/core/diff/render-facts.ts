import type { ApplicationSpec, Manifest } from "../model/application.js";
import { isJsonObject, type JsonObject } from "../model/json.js";
import type { DiffRequest } from "./manifest-diff.js";
import { byIdentity, type ManifestIdentity } from "./manifest-key.js";
import type { Sides } from "./summarise.js";

/** What the renders of an application say about others. It stays in memory, since it holds whole definitions. */
export interface RenderFacts {
  /** Child Applications of either render, hooks included: a sync applies those as well. */
  readonly children: readonly RenderedChild[];
  /** ApplicationSets that the two renders do not define in the same way. */
  readonly sets: readonly RenderedSet[];
  /** The objects that differ, as `objectKey` writes them, with and without their namespace. */
  readonly touched: readonly string[];
  /** The namespaces of these objects. */
  readonly namespaces: readonly string[];
}

/** One child Application. */
export interface RenderedChild {
  /** Empty for a generated name. */
  readonly name: string;
  readonly namespace: string;
  /** Undefined if only the target branch has it. */
  readonly head: ApplicationSpec | undefined;
  readonly base: ApplicationSpec | undefined;
  /** Anything of the two manifests differs, labels and annotations included. */
  readonly changed: boolean;
  /** The head's manifest carries an operation, which Argo CD runs as soon as it is applied. */
  readonly operates: boolean;
}

/** One changed ApplicationSet. */
export interface RenderedSet {
  readonly name: string;
  readonly namespace: string;
  readonly head: JsonObject | undefined;
  readonly base: JsonObject | undefined;
}

/** One text per object of a cluster. */
function objectKey({ group, kind, namespace, name }: Omit<ManifestIdentity, "generateName">): string {
  return `${group}/${kind}/${namespace}/${name}`;
}

/**
 * Collects the facts.
 * @param pairs both renders, as `pairManifests` pairs them.
 * @param differing those of them that may differ.
 */
export function renderFacts(
  request: DiffRequest,
  pairs: ReadonlyMap<string, Sides>,
  differing: ReadonlyMap<string, Sides>,
): RenderFacts {
  const found = [...pairs].filter(([, { identity }]) => identity.group === "argoproj.io");
  // Taken from the renders: pairs have a placeholder in place of the commit.
  const raw = (found.length === 0 ? [] : [request.base, request.head]).map((manifests, side) =>
    byIdentity(manifests, side === 0 ? request.baseNamespace : request.destinationNamespace),
  );
  const ofKind = (kind: string) =>
    found
      .filter(([, { identity }]) => identity.kind === kind)
      .map(([key, { identity, base, head }]) => ({
        name: identity.name,
        namespace: identity.namespace,
        base: base && raw[0]?.get(key)?.manifest,
        head: head && raw[1]?.get(key)?.manifest,
        changed: differing.has(key),
      }));
  const identities = [...differing.values()].map(({ identity }) => identity);
  return {
    children: ofKind("Application").map(({ base, head, ...child }) => ({
      ...child,
      base: specOf(base),
      head: specOf(head),
      operates: head?.operation !== undefined,
    })),
    sets: ofKind("ApplicationSet").filter(({ changed }) => changed),
    touched: [...new Set(identities.flatMap((one) => [objectKey(one), objectKey({ ...one, namespace: "" })]))],
    namespaces: [...new Set(identities.map(({ namespace }) => namespace))].filter((one) => one !== ""),
  };
}

function specOf(manifest: Manifest | undefined): ApplicationSpec | undefined {
  if (manifest === undefined) return undefined;
  return isJsonObject(manifest.spec) ? manifest.spec : {};
}
