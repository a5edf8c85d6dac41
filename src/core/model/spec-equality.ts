import type { ApplicationSpec } from "./application.js";
import { canonicalJson, isJsonObject, type Json } from "./json.js";

/**
 * Whether two specs mean the same to Argo CD. When it stores a spec it fills in the project and drops empty blocks (v3.5
 * `NormalizeApplicationSpec`), so a file and the live object may differ in those.
 */
export function specEqual(left: ApplicationSpec, right: ApplicationSpec): boolean {
  return left === right || specText(left) === specText(right);
}

/** The same text for all specs that are equal in this sense. */
export function specText(spec: ApplicationSpec): string {
  return canonicalJson(normalised(spec));
}

function normalised(spec: ApplicationSpec): Json | undefined {
  const project = spec.project;
  return withoutEmpty({ ...spec, project: project === undefined || project === "" ? "default" : project }, 0);
}

/** `automated: {}` turns auto-sync on: the only empty block with a meaning. */
const MEANINGFUL_WHEN_EMPTY = new Set(["automated"]);
const MAX_DEPTH = 64;

function withoutEmpty(value: Json | undefined, depth: number): Json | undefined {
  if (!isJsonObject(value) || depth > MAX_DEPTH) return value ?? undefined;
  const entries = Object.entries(value).flatMap(([key, member]) => {
    const kept = withoutEmpty(member, depth + 1);
    const empty = kept === undefined || (isJsonObject(kept) && Object.keys(kept).length === 0);
    return empty && !(MEANINGFUL_WHEN_EMPTY.has(key) && kept !== undefined) ? [] : [[key, kept] as const];
  });
  return Object.fromEntries(entries);
}
