import { isList, ownMember } from "../../model/effect.js";
import { isJsonObject, jsonEqual, type Json, type JsonObject } from "../../model/json.js";
import { keyed, listRule, type ValuePath } from "../list-rules.js";
import type { ManifestIdentity } from "../manifest-key.js";

/** An element of a list: by its key as `keyed` writes it, which holds in every version of an object, or else by its place. */
interface Element {
  readonly key: string | undefined;
  readonly at: number;
}

/** Where a value is in the versions of one object: names of members, and elements of lists. */
export interface FieldPath {
  readonly identity: ManifestIdentity;
  readonly steps: readonly (string | Element)[];
}

/** What a JSON pointer (RFC 6901) points at in an object. */
export function pathOf(pointer: string, identity: ManifestIdentity, object: JsonObject): FieldPath {
  const names = pointer
    .split("/")
    .slice(1)
    .map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~"));
  let value: Json | undefined = object;
  const steps: (string | Element)[] = [];
  for (const name of names) {
    const step = isList(value) && /^\d+$/.test(name) ? elementAt(Number(name), value, { identity, steps }) : name;
    value = inside(value, step, { identity, steps });
    steps.push(step);
  }
  return { identity, steps };
}

/** `/spec/template/spec/containers/0/image`. */
export function pathText({ steps }: FieldPath): string {
  return `/${steps.map((step) => (typeof step === "string" ? step : String(step.at))).join("/")}`;
}

/** The paths of what only the first of two versions has. Lists whose elements cannot be paired are left out. */
export function missingPaths(identity: ManifestIdentity, whole: JsonObject, part: JsonObject): readonly FieldPath[] {
  return missing(whole, part, { identity, steps: [] });
}

function missing(whole: Json, part: Json, path: FieldPath): readonly FieldPath[] {
  if (isJsonObject(whole) && isJsonObject(part)) {
    return Object.entries(whole).flatMap(([name, value]) => {
      if (value === undefined) return [];
      const other = ownMember(part, name);
      return other === undefined ? [below(path, name)] : missing(value, other, below(path, name));
    });
  }
  if (!isList(whole) || !isList(part)) return [];
  const [keys, others] = [keysOf(whole, path), keysOf(part, path)];
  if ((keys === undefined || others === undefined) && whole.length !== part.length) return [];
  return whole.flatMap((item, at) => {
    const step = { key: others && keys?.[at], at };
    const other = part[step.key === undefined ? at : (others ?? []).indexOf(step.key)];
    return other === undefined ? [below(path, step)] : missing(item, other, below(path, step));
  });
}

/** Whether the version has a value there. */
export function hasField(object: JsonObject | undefined, path: FieldPath): boolean {
  return valueAt(object, path) !== undefined;
}

/** Whether both versions have equal values there. */
export function equalAt(path: FieldPath, left: JsonObject | undefined, right: JsonObject | undefined): boolean {
  return jsonEqual(valueAt(left, path), valueAt(right, path));
}

/** The version without the value, and without objects that this leaves empty, as in Argo CD. */
export function withoutField(object: JsonObject, path: FieldPath): JsonObject {
  return written(object, path, undefined);
}

/** The version with the value that another one has there, or without any if that has none. */
export function copiedField(from: JsonObject, to: JsonObject, path: FieldPath): JsonObject {
  return written(to, path, valueAt(from, path));
}

function valueAt(object: JsonObject | undefined, { identity, steps }: FieldPath): Json | undefined {
  return steps.reduce<Json | undefined>(
    (value, step, at) => inside(value, step, { identity, steps: steps.slice(0, at) }),
    object,
  );
}

function inside(value: Json | undefined, step: string | Element, path: FieldPath): Json | undefined {
  if (typeof step === "string") return isJsonObject(value) ? ownMember(value, step) : undefined;
  return isList(value) ? value[indexOf(step, value, path)] : undefined;
}

function written(object: JsonObject, { identity, steps }: FieldPath, to: Json | undefined): JsonObject {
  const write = (value: Json | undefined, depth: number): Json | undefined => {
    const step = steps[depth];
    if (step === undefined) return to;
    if (typeof step !== "string") {
      if (!isList(value)) return value;
      const index = indexOf(step, value, { identity, steps: steps.slice(0, depth) });
      return value.flatMap((item, at) => {
        const kept = at === index ? write(item, depth + 1) : item;
        return kept === undefined ? [] : [kept];
      });
    }
    if (value !== undefined && !isJsonObject(value)) return value;
    const before = value && ownMember(value, step);
    if (before === undefined && to === undefined) return value;
    const kept = write(before, depth + 1);
    const others = Object.entries(value ?? {}).filter(([name]) => name !== step);
    const emptied = to === undefined && isJsonObject(kept) && Object.keys(kept).length === 0;
    return Object.fromEntries(kept === undefined || emptied ? others : [...others, [step, kept]]);
  };
  const changed = write(object, 0);
  return isJsonObject(changed) ? changed : {};
}

function below({ identity, steps }: FieldPath, step: string | Element): FieldPath {
  return { identity, steps: [...steps, step] };
}

function elementAt(at: number, list: readonly Json[], path: FieldPath): Element {
  return { key: keysOf(list, path)?.[at], at };
}

function indexOf({ key, at }: Element, list: readonly Json[], path: FieldPath): number {
  return key === undefined ? at : (keysOf(list, path) ?? []).indexOf(key);
}

function keysOf(list: readonly Json[], { identity, steps }: FieldPath): readonly string[] | undefined {
  const place: ValuePath = steps.map((step) => (typeof step === "string" ? step : "[]"));
  const rule = listRule(identity, place);
  const found = rule && keyed(rule, list);
  return found && [...found.keys()];
}
