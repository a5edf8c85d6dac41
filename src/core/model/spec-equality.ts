import type { ApplicationSpec } from "./application.js";
import { canonicalJson, isJsonObject, jsonEqual, type Json, type JsonObject } from "./json.js";

/**
 * Whether two specs mean the same to Argo CD. When it stores a spec it fills in the project and drops empty blocks (v3.5
 * `NormalizeApplicationSpec`), so a file and the live object may differ in those.
 */
export function specEqual(left: ApplicationSpec, right: ApplicationSpec): boolean {
  // Without the texts of `specText`: a plan compares the specs of each application many times.
  return left === right || sameBlock(withProject(left), withProject(right), 0);
}

/** The same text for all specs that are equal in this sense. */
export function specText(spec: ApplicationSpec): string {
  return canonicalJson(withoutEmpty(withProject(spec), 0));
}

function withProject(spec: ApplicationSpec): JsonObject {
  const project = spec.project;
  return { ...spec, project: project === undefined || project === "" ? "default" : project };
}

/** `automated: {}` switches auto-sync on and is the one empty block with a meaning. */
const MEANINGFUL_WHEN_EMPTY = new Set(["automated"]);
const MAX_DEPTH = 64;

function sameBlock(left: JsonObject, right: JsonObject, depth: number): boolean {
  if (depth > MAX_DEPTH) return jsonEqual(left, right);
  return [...new Set([...Object.keys(left), ...Object.keys(right)])].every((key) => {
    const [one, other] = [ownMember(left, key), ownMember(right, key)];
    if (one === other) return true;
    const [oneEmpty, otherEmpty] = [isDropped(key, one, depth + 1), isDropped(key, other, depth + 1)];
    if (oneEmpty || otherEmpty) return oneEmpty && otherEmpty;
    return isJsonObject(one) && isJsonObject(other) ? sameBlock(one, other, depth + 1) : jsonEqual(one, other);
  });
}

function ownMember(block: JsonObject, key: string): Json | undefined {
  return Object.hasOwn(block, key) ? block[key] : undefined;
}

/** Whether `withoutEmpty` leaves out this member. */
function isDropped(key: string, value: Json | undefined, depth: number): boolean {
  if (value === undefined || value === null) return true;
  if (!isJsonObject(value) || MEANINGFUL_WHEN_EMPTY.has(key)) return false;
  const members = Object.entries(value);
  return depth > MAX_DEPTH
    ? members.length === 0
    : members.every(([name, member]) => isDropped(name, member, depth + 1));
}

function withoutEmpty(value: Json | undefined, depth: number): Json | undefined {
  if (!isJsonObject(value) || depth > MAX_DEPTH) return value ?? undefined;
  const entries = Object.entries(value).flatMap(([key, member]) => {
    const kept = withoutEmpty(member, depth + 1);
    const empty = kept === undefined || (isJsonObject(kept) && Object.keys(kept).length === 0);
    return empty && !(MEANINGFUL_WHEN_EMPTY.has(key) && kept !== undefined) ? [] : [[key, kept] as const];
  });
  return Object.fromEntries(entries);
}
