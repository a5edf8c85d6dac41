import { jsonEqual, type Json } from "../model/json.js";
import type { ValuePath } from "./list-rules.js";
import type { ManifestIdentity } from "./manifest-key.js";
import { hasCommit, matchesCommit } from "./normalise.js";
import { compareQuantities } from "./quantity.js";

const AMOUNTS = /(?:^|\.)(?:resources\.(?:limits|requests)\.[^.]+|emptyDir\.sizeLimit)$/;
const KINDS_OF_AMOUNTS = new Set(["", "apps", "batch"]);

/**
 * Whether a rendered value and a live one are the same to Kubernetes: equal, equal as quantities where its own kinds have
 * quantities, or different only in the commit that each was rendered at.
 */
export function meansTheSame(identity: ManifestIdentity, path: ValuePath, rendered: Json, live: Json): boolean {
  if (jsonEqual(rendered, live)) return true;
  if (typeof rendered === "string" && typeof live === "string" && hasCommit(rendered)) {
    return matchesCommit(rendered, live);
  }
  return isAmount(identity, path) && compareQuantities(rendered, live) === 0;
}

function isAmount({ group, kind }: ManifestIdentity, path: ValuePath): boolean {
  const text = path.join(".");
  if (group === "" && kind === "ResourceQuota") return /^spec\.hard\.[^.]/.test(text);
  if (group === "" && kind === "PersistentVolume") return /^spec\.capacity\.[^.]/.test(text);
  return KINDS_OF_AMOUNTS.has(group) && AMOUNTS.test(text);
}
