import { isObject, same, type Json, type JsonObject } from "../argocd/json.js";
import { groupOf, type Manifest } from "../argocd/manifest.js";

/** Members that name the elements of a list of Kubernetes' own kinds. */
const KEYS: Readonly<Record<string, readonly string[]>> = {
  containers: ["name"],
  initContainers: ["name"],
  volumes: ["name"],
  env: ["name"],
  volumeMounts: ["mountPath"],
  ports: ["containerPort", "port"],
};
const GROUPS_WITH_KEYS = new Set(["", "apps", "batch"]);

/**
 * Applies a target to a live object as `kubectl apply` does: the target's members win, members that were applied before and
 * are gone from the target are removed, everything else stays. Lists are replaced, or merged by the keys of their elements
 * where Kubernetes knows some.
 */
export function threeWayMerge(before: Manifest, target: Manifest, live: Manifest): Manifest {
  const keys = GROUPS_WITH_KEYS.has(groupOf(target)) ? KEYS : {};
  return merged(before, target, live, keys);
}

function merged(before: JsonObject, target: JsonObject, live: JsonObject, keys: typeof KEYS): JsonObject {
  const result: JsonObject = { ...live };
  for (const key of Object.keys(before)) {
    if (target[key] === undefined) result[key] = undefined;
  }
  for (const [key, value] of Object.entries(target)) {
    const [own, was] = [live[key], before[key]];
    if (isObject(value) && isObject(own)) {
      const inside = merged(isObject(was) ? was : {}, value, own, keys);
      result[key] = key === "strategy" && keys === KEYS ? onlyOf(value, inside, own) : inside;
    } else if (Array.isArray(value) && Array.isArray(own)) {
      result[key] = mergedList(Array.isArray(was) ? was : [], value, own, key, keys);
    } else {
      result[key] = value;
    }
  }
  return Object.fromEntries(Object.entries(result).filter(([, value]) => value !== undefined));
}

/** A change of such a map takes away what the target does not have (`patchStrategy: retainKeys`). */
function onlyOf(target: JsonObject, result: JsonObject, live: JsonObject): JsonObject {
  if (same(result, live)) return result;
  return Object.fromEntries(Object.entries(result).filter(([key]) => target[key] !== undefined));
}

function mergedList(before: Json[], target: Json[], live: Json[], name: string, keys: typeof KEYS): Json[] {
  const nameOf = (element: Json): string | undefined => {
    const found = (keys[name] ?? []).map((key) => (isObject(element) ? element[key] : undefined));
    const value = found.find((one) => one !== undefined);
    return value === undefined ? undefined : JSON.stringify(value);
  };
  if ([...target, ...live].some((element) => nameOf(element) === undefined)) return target;
  const find = (list: Json[], element: Json): JsonObject | undefined => {
    const found = list.find((one) => nameOf(one) === nameOf(element));
    return isObject(found) ? found : undefined;
  };
  const kept = live.filter((one) => find(target, one) === undefined && find(before, one) === undefined);
  const written = target.map((element) => {
    const own = find(live, element);
    if (own === undefined || !isObject(element)) return element;
    const inside = merged(find(before, element) ?? {}, element, own, keys);
    return name === "volumes" ? onlyOf(element, inside, own) : inside;
  });
  return [...written, ...kept];
}
