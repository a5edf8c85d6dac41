import { isObject, objectAt, type Json, type JsonObject } from "./json.js";

/**
 * The fields that `fields` supports; any other is ignored.
 * https://github.com/argoproj/argo-cd/blob/v3.5.1/pkg/apiclient/application/forwarder_overwrite.go
 */
const known = new Set([
  "metadata.name",
  "metadata.namespace",
  "metadata.annotations",
  "metadata.labels",
  "metadata.creationTimestamp",
  "metadata.deletionTimestamp",
  "spec",
  "spec.destination",
  "spec.project",
  "spec.source",
  "spec.sources",
  "spec.sourceHydrator",
  "spec.syncPolicy",
  "status.sourceHydrator",
  "status.summary",
  "status.sync.status",
  "status.sync.revision",
  "status.health",
  "status.resources",
  "status.operationState.startedAt",
  "status.operationState.finishedAt",
  "status.operationState.phase",
  "status.operationState.operation.sync",
  "operation.sync",
]);

/** The selected parts of a list's items. A selected member that is absent becomes null. */
export function selectFields(items: readonly JsonObject[], fields: string): JsonObject[] {
  const named = fields.split(",").map((field) => field.replace(/^items\./, ""));
  const chosen = named.filter((field) => known.has(field));
  return items.map((item) =>
    chosen.reduce<JsonObject>((selected, field) => place(selected, field.split("."), valueOf(item, field)), {}),
  );
}

/** The field `operationState.operation.sync` returns the sync's result. */
function valueOf(item: JsonObject, field: string): Json {
  const path =
    field === "status.operationState.operation.sync" ? ["status", "operationState", "syncResult"] : field.split(".");
  let at: Json | undefined = item;
  for (const key of path) at = isObject(at) ? at[key] : undefined;
  return at ?? null;
}

function place(holder: JsonObject, [key, ...rest]: string[], value: Json): JsonObject {
  if (key === undefined) return holder;
  return { ...holder, [key]: rest.length === 0 ? value : place(objectAt(holder, key), rest, value) };
}
