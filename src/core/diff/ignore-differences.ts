import { z } from "zod";
import { matchesName, patternProblem } from "../../config/pattern.js";
import type { ApplicationSpec } from "../model/application.js";
import { isJsonObject, jsonEqual, type Json, type JsonObject } from "../model/json.js";
import type { ManifestIdentity } from "./manifest-key.js";

const text = z
  .string()
  .nullish()
  .transform((value) => value ?? "");
const texts = z
  .array(z.string())
  .nullish()
  .transform((value) => value ?? []);

const rule = z.object({
  group: text,
  kind: text,
  name: text,
  namespace: text,
  jsonPointers: texts,
  jqPathExpressions: texts,
  managedFieldsManagers: texts,
});
type Rule = z.infer<typeof rule>;

/** The part of `spec.ignoreDifferences` that can be evaluated outside Argo CD. */
export interface IgnoreRules {
  readonly rules: readonly Rule[];
  /** Why the diff may show differences that Argo CD ignores; undefined if every rule is evaluated. */
  readonly beyond: string | undefined;
}

/** Only JSON pointers can be evaluated; jq expressions and field managers cannot. */
export function readIgnoreRules({ ignoreDifferences }: ApplicationSpec): IgnoreRules {
  const items = Array.isArray(ignoreDifferences) ? (ignoreDifferences as readonly Json[]) : [];
  const parsed = items.map((item) => rule.safeParse(item));
  const rules = parsed.flatMap(({ data }) => (data === undefined ? [] : [data]));
  const members = (["jqPathExpressions", "managedFieldsManagers"] as const).filter((member) =>
    rules.some((one) => one[member].length > 0),
  );
  const unread =
    parsed.some(({ success }) => !success) ||
    rules.some((one) => [one.group, one.kind].some((glob) => glob !== "" && patternProblem(glob) !== undefined));
  const parts = [...members, ...(unread ? ["some rules"] : [])];
  return {
    rules,
    beyond: parts.length === 0 ? undefined : `${parts.join(" and ")} of ignoreDifferences not evaluated`,
  };
}

/**
 * The pointers that apply to an object. Group and kind are globs; a missing group means the core group only (Argo CD
 * v3, `util/argo/normalizers`).
 */
export function ignoredPointers({ rules }: IgnoreRules, identity: ManifestIdentity): readonly string[] {
  const { group, kind, name, namespace } = identity;
  return rules
    .filter((one) => matchesName(one.group, group) && matchesName(one.kind, kind))
    .filter((one) => (one.name === "" || one.name === name) && (one.namespace === "" || one.namespace === namespace))
    .flatMap((one) => one.jsonPointers);
}

/** Whether both sides have equal values at a JSON pointer (RFC 6901). */
export function equalAt(pointer: string, left: JsonObject | undefined, right: JsonObject | undefined): boolean {
  return jsonEqual(valueAt(left, stepsOf(pointer)), valueAt(right, stepsOf(pointer)));
}

/** The object without the value at the pointer and without objects that this leaves empty, as in Argo CD. */
export function withoutPointer(object: JsonObject, pointer: string): JsonObject {
  const left = without(object, stepsOf(pointer));
  return isJsonObject(left) ? left : {};
}

function stepsOf(pointer: string): readonly string[] {
  return pointer
    .split("/")
    .slice(1)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function valueAt(value: Json | undefined, steps: readonly string[]): Json | undefined {
  return steps.reduce<Json | undefined>((at, step) => {
    if (Array.isArray(at)) return /^\d+$/.test(step) ? (at as readonly Json[])[Number(step)] : undefined;
    return isJsonObject(at) ? at[step] : undefined;
  }, value);
}

function without(value: Json, [step, ...rest]: readonly string[]): Json | undefined {
  if (step === undefined) return undefined;
  if (Array.isArray(value)) {
    return (value as readonly Json[]).flatMap((item, at) => {
      const kept = String(at) === step ? without(item, rest) : item;
      return kept === undefined ? [] : [kept];
    });
  }
  if (!isJsonObject(value) || value[step] === undefined) return value;
  const kept = without(value[step], rest);
  const others = Object.entries(value).filter(([key]) => key !== step);
  const empty = isJsonObject(kept) && Object.keys(kept).length === 0;
  return Object.fromEntries(kept === undefined || empty ? others : [...others, [step, kept]]);
}
