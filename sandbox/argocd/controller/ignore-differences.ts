import { isObject, type Json, type JsonObject } from "../json.js";
import type { Manifest, ObjectKey } from "../manifest.js";
import type { Application } from "../resource.js";

type Path = readonly string[];

/** The fields of an object that `ignoreDifferences` names: by JSON pointers, and by jq paths of names alone (`.spec.replicas`). */
export function ignoredFields({ spec }: Application, { group, kind, namespace, name }: ObjectKey): readonly Path[] {
  return (spec.ignoreDifferences ?? [])
    .filter((rule) => rule.kind === kind && (rule.group ?? "") === group)
    .filter((rule) => (rule.name ?? name) === name && (rule.namespace ?? namespace) === namespace)
    .flatMap((rule) => [
      ...(rule.jsonPointers ?? []).map((pointer) => pointer.split("/").slice(1)),
      ...(rule.jqPathExpressions ?? []).map((expression) => expression.split(".").slice(1)),
    ]);
}

export function withoutFields(manifest: Manifest, paths: readonly Path[]): Manifest {
  return paths.reduce<Manifest>((at, path) => asObject(written(at, path, undefined)), manifest);
}

/** What a sync applies with `RespectIgnoreDifferences=true`: the target with the live values of ignored fields. */
export function withLiveFields(target: Manifest, live: Manifest, paths: readonly Path[]): Manifest {
  return paths.reduce<Manifest>((at, path) => asObject(written(at, path, valueAt(live, path))), target);
}

function asObject(value: Json | undefined): JsonObject {
  return isObject(value) ? value : {};
}

function valueAt(value: Json | undefined, path: Path): Json | undefined {
  return path.reduce<Json | undefined>((at, step) => {
    if (Array.isArray(at)) return at[Number(step)];
    return isObject(at) ? at[step] : undefined;
  }, value);
}

function written(value: Json | undefined, [step, ...rest]: Path, to: Json | undefined): Json | undefined {
  if (step === undefined) return to;
  if (Array.isArray(value)) {
    return value.flatMap((item, at) => {
      const kept = String(at) === step ? written(item, rest, to) : item;
      return kept === undefined ? [] : [kept];
    });
  }
  if (!isObject(value) || (value[step] === undefined && to === undefined)) return value;
  return { ...value, [step]: written(value[step] ?? (rest.length === 0 ? undefined : {}), rest, to) };
}
