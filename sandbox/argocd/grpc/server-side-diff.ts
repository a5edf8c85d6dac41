import { refusalOf } from "../../cluster/admission.js";
import type { Account } from "../accounts.js";
import { ApiError, codes, invalid, permissionDenied, unknown } from "../api-error.js";
import { ignoredFields, withoutFields } from "../controller/ignore-differences.js";
import { findApplication } from "../find-application.js";
import { isObject, objectAt, omit, same, sortedText, stringAt, type Json, type JsonObject } from "../json.js";
import { hookPhases, textOfKey, type Manifest, type ObjectKey } from "../manifest.js";
import { isSecret, lastAppliedAnnotation } from "../masking.js";
import type { Backend } from "../routes/call.js";
import type { ResourceDiff, ServerSideDiffQuery, ServerSideDiffResponse } from "./messages.js";

/**
 * What the cluster would make of these manifests, by a server-side apply that stores nothing. As on the real server, members
 * that were applied client-side stay although the manifest has lost them, neither state has the fields of `ignoreDifferences`,
 * and one refused object fails the whole call.
 */
export async function serverSideDiff(
  call: Backend & { readonly account: Account },
  query: ServerSideDiffQuery,
): Promise<ServerSideDiffResponse> {
  const { world, controller, account, report } = call;
  const { appName: name, appNamespace, project, liveResources, targetManifests } = query;
  const application = findApplication(world, account, "get", {
    name,
    namespace: appNamespace === "" ? undefined : appNamespace,
    project: project === "" ? undefined : project,
  });
  if (liveResources.length !== targetManifests.length) {
    throw invalid("live resources and target manifests differ in number");
  }
  await controller.settle(application);
  const items = liveResources.map((one, index): ResourceDiff => {
    const text = targetManifests[index] ?? "";
    const { group, kind, namespace, name } = one;
    const key: ObjectKey = { group, kind, namespace, name };
    if (one.liveState !== "" && !world.hasToldLive(one.liveState)) {
      report(`the live state of ${textOfKey(key)} is none that managed-resources answered`);
    }
    const live = one.liveState === "" ? undefined : (JSON.parse(one.liveState) as Manifest);
    const shown = { ...key, modified: false, liveState: live === undefined ? "null" : one.liveState };
    if (text === "") return { ...shown, targetState: "null" };
    const target = JSON.parse(text) as Manifest;
    if (isSecret(target) || hookPhases(target) !== undefined) report(`${textOfKey(key)} was sent to the cluster`);
    if (stringAt(target, "metadata", "name") !== name || target.kind !== kind) {
      throw invalid(`the target manifest ${index} is not ${kind}/${name}`);
    }
    const present = world.cluster.get(key);
    const predicted = present === undefined ? target : kept(merged(present, target));
    const refusal = world.cluster.lacks(namespace)
      ? `namespaces "${namespace}" not found`
      : refusalOf(present, predicted, key, world.cluster.rules);
    if (refusal !== undefined) throw refused(key, refusal);
    if (live === undefined) return { ...shown, targetState: text, modified: true };
    const ignored = ignoredFields(application, key);
    const state = (one: Manifest) => sortedText(withoutFields(kept(one), ignored));
    const states = { targetState: state(world.cluster.stored(merged(live, target))), liveState: state(live) };
    return { ...shown, ...states, modified: states.targetState !== states.liveState };
  });
  if (MANAGED_ALONE.test(world.options.version)) {
    const known = new Set((controller.managed(application) ?? []).map(({ key }) => textOfKey(key)));
    const other = items.find((one) => !known.has(textOfKey(one)));
    if (other !== undefined) {
      const { kind, group, name } = other;
      throw permissionDenied(`${kind} ${group} ${name} not found as part of application ${application.metadata.name}`);
    }
  }
  return { items, modified: items.some(({ modified }) => modified) };
}

/** Versions known to refuse objects that are not the application's yet. v3.3.0 asks for none, v3.4.13 for the live ones. */
const MANAGED_ALONE = /^v3\.(?:3\.19|4\.0)$/;

function refused({ kind, name }: ObjectKey, message: string): ApiError {
  const text =
    "error performing state diffs: failed to calculate diff: error calculating server side diff: serverSideDiff error: " +
    `error running server side apply in dryrun mode for resource ${kind}/${name}: ${message}`;
  return message.startsWith("namespaces ") ? new ApiError(codes.notFound, text) : unknown(text);
}

/** Without what the API server keeps for itself, and what client-side apply noted. */
function kept(object: Manifest): Manifest {
  const metadata = omit(objectAt(object, "metadata"), "managedFields", "resourceVersion", "creationTimestamp");
  const annotations = omit(objectAt(metadata, "annotations"), lastAppliedAnnotation);
  return { ...omit(object, "status"), metadata: { ...metadata, annotations } };
}

/** Lists whose elements have a name are merged, all others replaced. */
function merged(live: JsonObject, target: JsonObject): JsonObject {
  const result: JsonObject = { ...live };
  for (const [key, value] of Object.entries(target)) {
    if (value !== undefined) result[key] = mergedValue(live[key], value);
  }
  return result;
}

function mergedValue(live: Json | undefined, target: Json): Json {
  if (isObject(live) && isObject(target)) return merged(live, target);
  if (!Array.isArray(live) || !Array.isArray(target)) return sameQuantity(live, target) ? (live ?? target) : target;
  const nameOf = (one: Json): string | undefined => stringAt(one, "name");
  if (![...live, ...target].every((one) => nameOf(one) !== undefined)) return same(live, target) ? live : target;
  const names = [...new Set([...live, ...target].map(nameOf))];
  return names.flatMap((name) => {
    const [old, young] = [live, target].map((list) => list.find((one) => nameOf(one) === name));
    if (young === undefined) return old === undefined ? [] : [old];
    return [mergedValue(old, young)];
  });
}

const UNITS: Readonly<Record<string, number>> = { "": 1, m: 0.001, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30 };

/** The API server stores one spelling of a quantity. */
function sameQuantity(live: Json | undefined, target: Json): boolean {
  const [left, right] = [live, target].map((value) => {
    const [, digits, unit] = /^(\d+(?:\.\d+)?)(m|[KMG]i)?$/.exec(typeof value === "string" ? value : "") ?? [];
    return digits === undefined ? undefined : Number(digits) * (UNITS[unit ?? ""] ?? NaN);
  });
  return left !== undefined && left === right;
}
