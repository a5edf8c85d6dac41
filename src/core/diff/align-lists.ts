import { isList, mapMembers, ownMember } from "../model/effect.js";
import { canonicalJson, isJsonObject, type Json, type JsonObject } from "../model/json.js";
import { hasListRules, keyed, listRule, type ListRule, type ValuePath } from "./list-rules.js";
import type { ManifestIdentity } from "./manifest-key.js";

/** Sorts each list whose order has no effect, so that objects can be compared. */
export function withoutIdleOrder(identity: ManifestIdentity, object: JsonObject): JsonObject {
  if (!hasListRules(identity)) return object;
  const walk = (value: Json, path: ValuePath): Json => {
    if (isList(value)) {
      const rule = listRule(identity, path);
      const items = value.map((item) => walk(item, [...path, "[]"]));
      return rule?.ordered === false ? sorted(rule, items) : items;
    }
    return isJsonObject(value) ? mapMembers(value, (member, key) => walk(member, [...path, key])) : value;
  };
  return mapMembers(object, (member, key) => walk(member, [key]));
}

function sorted(rule: ListRule, list: readonly Json[]): readonly Json[] {
  const byKey = keyed(rule, list);
  const entries = byKey ? [...byKey] : list.map((item) => [canonicalJson(item), item] as const);
  return entries.sort(([left], [right]) => (left < right ? -1 : left > right ? 1 : 0)).map(([, item]) => item);
}

/** A base with its elements in the head's order. */
export interface Aligned {
  readonly base: JsonObject;
  /** Lists with moved elements, where the order counts. */
  readonly moved: readonly ValuePath[];
}

/**
 * Sorts the base's keyed lists in the head's order, so that hunks show the changed element and not a shifted list.
 * Elements that only the base has keep their places.
 */
export function alignLists(identity: ManifestIdentity, base: JsonObject, head: JsonObject): Aligned {
  if (!hasListRules(identity)) return { base, moved: [] };
  const moved: ValuePath[] = [];
  const walk = (old: Json, young: Json | undefined, path: ValuePath): Json => {
    if (isJsonObject(old) && isJsonObject(young)) {
      return mapMembers(old, (member, key) => walk(member, ownMember(young, key), [...path, key]));
    }
    const rule = listRule(identity, path);
    if (rule === undefined || !isList(old) || !isList(young)) return old;
    const pairs = { old: keyed(rule, old), young: keyed(rule, young) };
    if (pairs.old === undefined || pairs.young === undefined) return old;
    const [olds, youngs] = [pairs.old, pairs.young];
    const inside = [...path, "[]"];
    const common = [...youngs.keys()].filter((key) => olds.has(key));
    const before = [...olds.keys()].filter((key) => youngs.has(key));
    if (rule.ordered && common.join() !== before.join()) moved.push(path);
    const places = common.values();
    return [...olds.keys()].map((key) => {
      const now = youngs.has(key) ? (places.next().value ?? key) : key;
      return walk(olds.get(now) ?? null, youngs.get(now), inside);
    });
  };
  const aligned = mapMembers(base, (member, key) => walk(member, ownMember(head, key), [key]));
  return { base: aligned, moved };
}
