import { isJsonObject, type JsonObject } from "../../model/json.js";
import type { LiveResource, LiveState } from "../../ports/deployer.js";
import { isHook } from "../hook.js";
import { keyOf, type ManifestIdentity } from "../manifest-key.js";
import type { Sides } from "../summarise.js";
import { normaliseLive } from "./live-object.js";

/** One object in the two renders and in the cluster. */
export interface InCluster extends Sides {
  /** As Argo CD compares it. */
  readonly live: JsonObject | undefined;
  /** With the fields that Argo CD ignores. */
  readonly whole: JsonObject | undefined;
  readonly lastApplied: JsonObject | undefined;
  /** False for hooks and generated names, which Argo CD does not report: for these the renders are compared. */
  readonly inCluster: boolean;
}

/** Both renders and the cluster, by object. */
export function withLive(pairs: ReadonlyMap<string, Sides>, live: LiveState): readonly InCluster[] {
  const left = new Map(live.resources.map((resource) => [keyOf(identityOf(resource)), resource]));
  const rendered = [...pairs.values()].map((pair): InCluster => {
    const inCluster = !pair.hook && pair.identity.name !== "";
    if (!inCluster) return { ...pair, live: undefined, whole: undefined, lastApplied: undefined, inCluster };
    const key = liveKey(pair, left);
    const found = left.get(key);
    left.delete(key);
    return { ...pair, ...liveSides(found), inCluster };
  });
  const extra = [...left.values()]
    .filter((one) => one.live !== undefined && !one.hook && !isHook(one.live))
    .map((resource): InCluster => {
      const sides = { base: undefined, head: undefined, hook: false, inCluster: true };
      return { identity: identityOf(resource), ...sides, ...liveSides(resource) };
    });
  return [...rendered, ...extra];
}

function identityOf({ group, kind, namespace, name }: LiveResource): ManifestIdentity {
  return { group, kind, namespace, name, generateName: "" };
}

/** Only the live object shows that a custom kind is cluster-scoped: it has no namespace. */
function liveKey({ identity, base, head }: Sides, live: ReadonlyMap<string, LiveResource>): string {
  const key = keyOf(identity);
  const metadata = (head ?? base)?.metadata;
  const written = isJsonObject(metadata) && metadata.namespace !== undefined;
  return live.has(key) || written ? key : keyOf({ ...identity, namespace: "" });
}

function liveSides(resource: LiveResource | undefined): Pick<InCluster, "live" | "whole" | "lastApplied"> {
  const { live, whole, lastApplied } = resource ?? {};
  return {
    live: live && normaliseLive(live),
    whole: (whole ?? live) && normaliseLive(whole ?? live ?? {}),
    lastApplied: lastApplied && normaliseLive(lastApplied),
  };
}
