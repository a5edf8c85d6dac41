import { isObject, type Json } from "../../../sandbox/argocd/json.js";

/** What differs from run to run; that it is there still counts. */
const fleeting = new Set(["uid", "resourceVersion", "generation", "iat"]);

/** Texts that hold JSON. */
const nested = new Set(["manifests", "targetState", "liveState", "normalizedLiveState", "predictedLiveState"]);

/**
 * An answer with everything taken out that has no part in the comparison of two servers: ids, times, the order of
 * resources within one kind, all of the history but its end, and remarks about objects that several applications share.
 */
export function comparable(value: Json, key = ""): Json {
  if (nested.has(key) && typeof value === "string") return comparable(JSON.parse(value) as Json);
  if (Array.isArray(value)) {
    const items = value
      .filter((item) => !(isObject(item) && item.type === "SharedResourceWarning"))
      .map((item) => comparable(item, key));
    if (key === "history") return items.slice(-1);
    return key === "resources" || key === "manifests"
      ? items.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
      : items;
  }
  if (isObject(value)) {
    const members = Object.keys(value)
      .sort()
      .map((name) => [name, fleeting.has(name) ? "*" : comparable(value[name] ?? null, name)] as const)
      .filter(([name, member]) => !(name === "conditions" && Array.isArray(member) && member.length === 0));
    return Object.fromEntries(members);
  }
  if (typeof value !== "string") return value;
  return value
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, "<time>")
    .replace(/\d{1,2}:\d\d[AP]M/g, "<time>")
    .replace(/(\n)time="[\s\S]*$/, "$1<log>");
}

/**
 * The part of an Application's status that a client's decisions hang on. What the controller found when it looked last
 * is a matter of when it looked; a status that nobody wrote yet stays whole.
 */
export function essentials(answer: Json): Json {
  if (!isObject(answer) || !isObject(answer.status) || answer.status.reconciledAt === undefined) return answer;
  const kept = Object.entries(answer.status).filter(([name]) => ["history", "operationState", "sync"].includes(name));
  return { ...answer, status: Object.fromEntries(kept) };
}
