import type { z } from "zod";
import { invalid } from "./api-error.js";
import { isObject, type Json, type JsonObject } from "./json.js";
import type { Endpoint, QueryType } from "./schemas/endpoints.js";

/** Query parameters as the gateway reads them. */
export type Query = Readonly<Record<string, string | boolean | readonly string[] | readonly number[] | undefined>>;

/** Takes every mistake that the real server would ignore silently. */
export type Report = (violation: string) => void;

/**
 * Reads the query as grpc-gateway v1.16 does: unknown names are ignored (and reported here), wrong types are code 3.
 * https://github.com/grpc-ecosystem/grpc-gateway/blob/v1.16.0/runtime/query.go
 */
export function readQuery(endpoint: Endpoint, parameters: URLSearchParams, report: Report): Query {
  const query: Record<string, Query[string]> = {};
  for (const name of new Set(parameters.keys())) {
    const type = endpoint.query[name];
    if (type === undefined) report(`unknown query parameter ${name} of ${endpoint.method} ${endpoint.path}`);
    else query[name] = readParameter(name, type, parameters.getAll(name));
  }
  return query;
}

function readParameter(name: string, type: QueryType, values: string[]): Query[string] {
  if (type === "strings") return values;
  if (type === "integers") return values.map((value) => readInteger(name, value));
  const [value = "", ...more] = values;
  if (more.length > 0) throw invalid(`too many values for field "${name}": ${values.join(", ")}`);
  if (type === "boolean") return readBoolean(name, value);
  return type === "integer" ? String(readInteger(name, value)) : value;
}

function readInteger(name: string, value: string): number {
  if (/^[+-]?\d{1,15}$/.test(value)) return Number(value);
  throw invalid(
    `type mismatch, parameter: ${name}, error: strconv.ParseInt: parsing ${JSON.stringify(value)}: invalid syntax`,
  );
}

function readBoolean(name: string, value: string): boolean {
  if (["1", "t", "T", "TRUE", "true", "True"].includes(value)) return true;
  if (["0", "f", "F", "FALSE", "false", "False"].includes(value)) return false;
  throw invalid(
    `type mismatch, parameter: ${name}, error: strconv.ParseBool: parsing ${JSON.stringify(value)}: invalid syntax`,
  );
}

/** Reads a body as Go's JSON reader does: unknown members are dropped (and reported), missing ones are zero values. */
export function readBody(endpoint: Endpoint, raw: Buffer, report: Report): unknown {
  if (endpoint.body === undefined) return undefined;
  const body: unknown = parseJson(raw);
  const value = isObject(body) ? withoutNulls(body) : body;
  return repaired(endpoint.body, value, endpoint.bodyName ?? "Request", report);
}

function parseJson(raw: Buffer): unknown {
  if (raw.length === 0) return {};
  try {
    return JSON.parse(raw.toString()) as unknown;
  } catch (error) {
    throw invalid(error instanceof Error ? error.message : "unexpected EOF");
  }
}

/** Go reads null as an absent member, except inside free-form Helm values. */
function withoutNulls(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isObject(value)) return value;
  const entries = Object.entries(value).filter(([, member]) => member !== null && member !== undefined);
  return Object.fromEntries(
    entries.map(([key, member]) => [key, key === "valuesObject" ? member : withoutNulls(member ?? null)]),
  );
}

/** Parses strictly, after repairing and reporting what Go would accept. */
export function repaired(schema: z.ZodType, value: unknown, name: string, report: Report): unknown {
  for (let round = 0; round < 20; round += 1) {
    const parsed = schema.safeParse(value);
    if (parsed.success) return parsed.data;
    for (const issue of parsed.error.issues) value = repair(value, issue, name, report);
  }
  throw invalid(`json: cannot unmarshal into ${name}`);
}

function repair(root: unknown, issue: z.core.$ZodIssue, name: string, report: Report): unknown {
  if (issue.code === "unrecognized_keys") {
    const holder = valueAt(root, issue.path);
    const path = [name, ...issue.path.map(String)].join(".");
    for (const key of issue.keys) report(`unknown member ${path}.${key}`);
    return replaceAt(root, issue.path, isObject(holder) ? without(holder, issue.keys) : holder);
  }
  const found = valueAt(root, issue.path);
  if (issue.code === "invalid_type" && found === undefined) {
    const zero: Json = issue.expected === "string" ? "" : issue.expected === "array" ? [] : {};
    return replaceAt(root, issue.path, zero);
  }
  const field = [name, ...issue.path.filter((part) => typeof part === "string")].join(".");
  const expected = issue.code === "invalid_type" ? issue.expected : "struct";
  throw invalid(`json: cannot unmarshal ${kindOf(found)} into Go struct field ${field} of type ${goType(expected)}`);
}

function without(holder: JsonObject, keys: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(holder).filter(([key]) => !keys.includes(key)));
}

function valueAt(root: unknown, path: readonly PropertyKey[]): unknown {
  let at = root;
  for (const key of path) {
    if (Array.isArray(at)) at = (at as unknown[])[Number(key)];
    else at = isObject(at) ? at[String(key)] : undefined;
  }
  return at;
}

function replaceAt(root: unknown, path: readonly PropertyKey[], value: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  if (Array.isArray(root)) {
    return (root as unknown[]).map((item, index) => (index === Number(key) ? replaceAt(item, rest, value) : item));
  }
  const holder = isObject(root) ? root : {};
  return { ...holder, [String(key)]: replaceAt(holder[String(key)], rest, value) };
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return "array";
  return typeof value === "boolean" ? "bool" : typeof value;
}

function goType(expected: string): string {
  const types: Readonly<Record<string, string>> = { int: "int64", number: "int64", boolean: "bool", array: "[]string" };
  return types[expected] ?? expected;
}
