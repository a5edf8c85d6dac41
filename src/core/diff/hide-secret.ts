import { canonicalJson, isJsonObject, type Json, type JsonObject } from "../model/json.js";
import type { ManifestIdentity } from "./manifest-key.js";

/** Members of a Secret that are not secret. */
const OPEN_MEMBERS = new Set(["apiVersion", "kind", "metadata", "type", "immutable"]);
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

export function isSecret({ group, kind }: ManifestIdentity): boolean {
  return group === "" && kind === "Secret";
}

/**
 * Replaces the values of a Secret on both sides by marks. Marks differ only where both values are known and differ.
 * Argo CD masks every value with the same plus signs, so equal masks prove nothing.
 */
export function hideValues(
  base: JsonObject | undefined,
  head: JsonObject | undefined,
): {
  readonly base: JsonObject | undefined;
  readonly head: JsonObject | undefined;
} {
  return { base: base && hidden(base, head, "before"), head: head && hidden(head, base, "after") };
}

function hidden(secret: JsonObject, other: JsonObject | undefined, side: "before" | "after"): JsonObject {
  return Object.fromEntries(
    Object.entries(secret).map(([member, value]) => {
      if (member === "metadata") return [member, openMetadata(value)];
      if (OPEN_MEMBERS.has(member) && !isJsonObject(value) && !Array.isArray(value)) return [member, value];
      return [member, hiddenMember(value, other?.[member], side)];
    }),
  );
}

function hiddenMember(value: Json | undefined, other: Json | undefined, side: "before" | "after"): Json {
  if (!isJsonObject(value)) return mark(value, other, side);
  const others = isJsonObject(other) ? other : {};
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, mark(one, others[key], side)]));
}

function mark(value: Json | undefined, other: Json | undefined, side: "before" | "after"): string {
  if (other === undefined) return "(hidden)";
  if (isMasked(value) || isMasked(other)) return "(hidden, cannot tell whether it changes)";
  if (canonicalJson(value) === canonicalJson(other)) return "(hidden, unchanged)";
  return `(hidden, ${side} the change)`;
}

/** Argo CD replaces each value by at least eight plus signs. */
function isMasked(value: Json | undefined): boolean {
  return typeof value === "string" && /^\+{8,}$/.test(value);
}

function openMetadata(metadata: Json | undefined): Json | undefined {
  if (!isJsonObject(metadata) || !isJsonObject(metadata.annotations)) return metadata;
  const annotations = Object.entries(metadata.annotations).filter(([key]) => key !== LAST_APPLIED);
  return { ...metadata, annotations: annotations.length === 0 ? undefined : Object.fromEntries(annotations) };
}
