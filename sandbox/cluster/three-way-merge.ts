import { isObject, type JsonObject } from "../argocd/json.js";

/**
 * Applies a target to a live object: the target's members win, members that were applied before and are gone from the
 * target are removed, everything else stays. Lists are replaced.
 */
export function threeWayMerge(before: JsonObject, target: JsonObject, live: JsonObject): JsonObject {
  const result: JsonObject = { ...live };
  for (const key of Object.keys(before)) {
    if (target[key] === undefined) result[key] = undefined;
  }
  for (const [key, value] of Object.entries(target)) {
    const [own, was] = [live[key], before[key]];
    result[key] = isObject(value) && isObject(own) ? threeWayMerge(isObject(was) ? was : {}, value, own) : value;
  }
  return Object.fromEntries(Object.entries(result).filter(([, value]) => value !== undefined));
}
