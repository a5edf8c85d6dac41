import {
  type Application,
  type ApplicationSet,
  type ApplicationSpec,
  isFilled,
  isMultiSource,
} from "../model/application.js";
import { ownMember } from "../model/effect.js";
import { isJsonObject, isList, type Json, jsonEqual, type JsonObject, objectsIn, stringsIn } from "../model/json.js";

type Path = readonly string[];

/** Fields of running applications that a set does not touch (`spec.ignoreApplicationDifferences`). */
interface IgnoredFields {
  /** The application; undefined for all of the set. */
  readonly name: string | undefined;
  readonly paths: readonly Path[];
  /** jq expressions, which are not evaluated: what they ignore is taken as changed. */
  readonly jq: boolean;
}

function ignoredFields({ resource: { spec } }: ApplicationSet): readonly IgnoredFields[] {
  const rules = isJsonObject(spec) ? spec.ignoreApplicationDifferences : undefined;
  return objectsIn(rules).map(({ name, jsonPointers, jqPathExpressions }) => ({
    name: typeof name === "string" && name !== "" ? name : undefined,
    paths: stringsIn(jsonPointers).flatMap(belowSpec),
    jq: isList(jqPathExpressions) && jqPathExpressions.length > 0,
  }));
}

/** The steps of a JSON pointer (RFC 6901). One to anything else ignores nothing of it, and neither does a malformed one. */
function belowSpec(pointer: string): readonly Path[] {
  const [root, member, ...steps] = pointer.split("/");
  if (root !== "" || member !== "spec") return [];
  return [[member, ...steps.map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"))]];
}

/**
 * The definition that a running application gets from its set: the controller compares both without the ignored fields, and
 * writes what differs then (v3.5 `applicationset/utils/createOrUpdate.go`). Lists are replaced as a whole.
 */
export function regenerated(
  { resourceName, spec }: Application,
  live: ApplicationSpec,
  set: ApplicationSet,
): ApplicationSpec {
  const paths = ignoredFields(set)
    .filter(({ name }) => name === undefined || name === resourceName)
    .flatMap((one) => one.paths);
  if (paths.length === 0) return spec;
  const compared = (one: ApplicationSpec): JsonObject => {
    const left: { readonly spec?: ApplicationSpec } = structuredClone({ spec: one });
    for (const path of paths) takeOut(left, path);
    return left.spec ?? {};
  };
  return rewritten(live, compared(live), compared(withoutEmptyBlocks(spec)));
}

/** The controller drops these of a template before it takes out the ignored fields (v3.5 `NormalizeApplicationSpec`). */
function withoutEmptyBlocks(spec: ApplicationSpec): ApplicationSpec {
  const filled = (block: JsonObject): JsonObject =>
    Object.fromEntries(Object.entries(block).filter(([name, member]) => !DROPPED.has(name) || isFilled(member)));
  const { source } = spec;
  return filled(isJsonObject(source) && !isMultiSource(spec) ? { ...spec, source: filled(source) } : spec);
}

const DROPPED: ReadonlySet<string> = new Set(["syncPolicy", "helm", "kustomize", "directory"]);

/**
 * Removes a field in place: copies would take too long where there are thousands. A block that loses its last member stays, since
 * the controller then keeps its live members.
 */
function takeOut(value: Json | undefined, [step = "", ...rest]: Path): void {
  if (isList(value)) {
    const at = /^(?:0|[1-9]\d*)$/.test(step) ? Number(step) : value.length;
    if (rest.length === 0) (value as Json[]).splice(at, 1);
    else takeOut(value[at], rest);
  } else if (isJsonObject(value)) {
    if (rest.length === 0) Reflect.deleteProperty(value, step);
    else takeOut(ownMember(value, step), rest);
  }
}

/** The live definition with the differences between `from` and `to` applied. */
function rewritten(live: JsonObject, from: JsonObject, to: JsonObject): JsonObject {
  const keys = [...new Set([...Object.keys(from), ...Object.keys(to)])];
  const changed = keys.flatMap((key): readonly (readonly [string, Json | undefined])[] => {
    const [before, after] = [ownMember(from, key), ownMember(to, key)];
    if (jsonEqual(before, after)) return [];
    const known = ownMember(live, key);
    if (!isJsonObject(before) || !isJsonObject(after)) return [[key, after]];
    return [[key, rewritten(isJsonObject(known) ? known : {}, before, after)]];
  });
  const members = Object.entries({ ...live, ...Object.fromEntries(changed) });
  return Object.fromEntries(members.filter(([, value]) => value !== undefined));
}

/** Sentences on what the head's set leaves as it is. @param changes it changes the definitions of applications. */
export function ignoredFieldsNotes(
  base: ApplicationSet | undefined,
  head: ApplicationSet | undefined,
  changes: boolean,
): readonly string[] {
  if (head === undefined) return [];
  const rules = ignoredFields(head);
  const before = base === undefined ? rules : ignoredFields(base);
  const [jq, fields] = [rules.some((one) => one.jq), rules.some((one) => one.paths.length > 0)];
  return [
    ...(JSON.stringify(before) === JSON.stringify(rules)
      ? []
      : [
          "its ignoreApplicationDifferences change, which is not previewed: fields that somebody set in running applications may be overwritten",
        ]),
    ...(changes && fields
      ? [
          "it leaves fields of running applications as they are (ignoreApplicationDifferences): a change of those has no effect",
        ]
      : []),
    ...(changes && jq
      ? [
          "svc does not evaluate the jq expressions of its ignoreApplicationDifferences: what they ignore is shown as changed",
        ]
      : []),
  ];
}
