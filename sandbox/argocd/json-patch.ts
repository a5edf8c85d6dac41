import { isObject, same, type Json, type JsonObject } from "./json.js";

/** JSON patch, RFC 6902, with the operations test, add, replace and remove; errors as evanphx/json-patch words them. */
export function applyJsonPatch(document: Json, operations: readonly JsonObject[]): Json {
  return operations.reduce<Json>((at, operation) => {
    const path = typeof operation.path === "string" ? operation.path : "";
    const keys = path
      .split("/")
      .slice(1)
      .map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
    return change(at, keys, operation, path);
  }, document);
}

function change(at: Json, keys: readonly string[], operation: JsonObject, path: string): Json {
  const [key, ...rest] = keys;
  const op = typeof operation.op === "string" ? operation.op : "";
  if (key === undefined) return op === "test" ? tested(at, operation, path) : (operation.value ?? null);
  if (Array.isArray(at)) {
    const index = key === "-" ? at.length : Number(key);
    if (rest.length > 0) return at.map((item, place) => (place === index ? change(item, rest, operation, path) : item));
    if (op === "add") return [...at.slice(0, index), operation.value ?? null, ...at.slice(index)];
    if (op === "remove") return at.filter((_, place) => place !== index);
    if (op === "test") tested(at[index], operation, path);
    return op === "replace" ? at.map((item, place) => (place === index ? (operation.value ?? null) : item)) : at;
  }
  if (!isObject(at)) {
    throw new Error(`${op} operation does not apply: doc is missing path: "${path}": missing value`);
  }
  const member = at[key];
  if (rest.length > 0) {
    if (member === undefined) {
      if (op === "test") throw new Error(`testing value ${path} failed: test failed`);
      throw new Error(`${op} operation does not apply: doc is missing path: "${path}": missing value`);
    }
    return { ...at, [key]: change(member, rest, operation, path) };
  }
  if (op === "test") tested(member, operation, path);
  if (op === "test") return at;
  if (op !== "add" && member === undefined) {
    throw new Error(`${op} operation does not apply: doc is missing key: ${path}: missing value`);
  }
  const next: JsonObject = { ...at, [key]: op === "remove" ? undefined : (operation.value ?? null) };
  return Object.fromEntries(Object.entries(next).filter(([, value]) => value !== undefined));
}

function tested(value: Json | undefined, operation: JsonObject, path: string): Json {
  if (!same(value, operation.value ?? null)) throw new Error(`testing value ${path} failed: test failed`);
  return value ?? null;
}
