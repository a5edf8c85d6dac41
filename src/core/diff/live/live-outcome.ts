import { isJsonObject, jsonEqual, sortedKeys, type JsonObject } from "../../model/json.js";
import { isDataKey, isSecret } from "../../secrets/secret-object.js";
import type { ManifestIdentity } from "../manifest-key.js";
import type { Sides } from "../summarise.js";
import { hasSyncOption } from "../sync-options.js";
import {
  copiedField,
  equalAt,
  hasField,
  missingPaths,
  pathOf,
  pathText,
  withoutField,
  type FieldPath,
} from "./field-path.js";
import { ignoredOf, type Ignored, type IgnoreRules } from "./ignore-differences.js";
import { withEqualMasks } from "./live-object.js";
import type { InCluster } from "./live-objects.js";
import { threeWayMerge } from "./three-way-merge.js";

/** How an application is applied. */
export interface Applying {
  readonly ignored: IgnoreRules;
  /** Argo CD has compared the live objects by these rules, so that what it left out of them is what they ignore. */
  readonly compared: boolean;
  readonly syncOptions: readonly string[];
  /** The keys of a Secret that the cluster keeps although the head no longer has them; undefined if nobody knows. */
  readonly keptKeys: (identity: ManifestIdentity) => readonly string[] | undefined;
}

/** What a sync makes of a live object, and what has to be said about it. */
export interface Outcome extends Sides {
  /** Why it may be wrong. */
  readonly doubts: readonly string[];
  /** What of the change request's changes a sync does not apply. */
  readonly kept: readonly string[];
}

/** The live object before and after the head is applied. */
export function outcomeOf(one: InCluster, applying: Applying): Outcome {
  const { identity, hook } = one;
  if (!one.inCluster) return { ...one, doubts: [], kept: [] };
  const rules = ignoredOf(applying.ignored, identity);
  const paths = ignoredPaths(one, rules, applying);
  const respected = applying.syncOptions.includes("RespectIgnoreDifferences=true");
  const left = respected ? paths.map((path) => asPatched(path, one)) : [];
  const hidden = respected ? left : paths.filter((path) => isUntouched(path, one));
  const keys = (isSecret(identity) ? applying.keptKeys(identity) : undefined) ?? [];
  const present = paths.length === 0 ? one.live : one.whole;
  const wanted = respected && present !== undefined ? withoutIgnored(one, rules, paths) : one.head;
  const sides = applied({ ...one, live: present }, wanted, { hidden, left, keys });
  const stay = one.live === undefined || one.head === undefined ? [] : keys;
  return {
    ...sides,
    identity,
    hook,
    doubts: doubtsAbout(one, sides, { ...applying, rules }),
    kept: [
      ...left
        .filter((path) => one.base !== undefined && one.head !== undefined && !isUntouched(path, one))
        .map((path) => `RespectIgnoreDifferences leaves ${pathText(path)} as it is`),
      ...(stay.length === 0
        ? []
        : [
            `keys that were written as stringData stay: ${stay.map((key) => (isDataKey(key) ? key : "(hidden key)")).join(", ")}`,
          ]),
    ],
  };
}

/**
 * What the cluster already differs by from the target branch, or from the head for an object that only that has. The sides
 * are equal if it does not differ.
 */
export function driftOf(one: InCluster, applying: Applying): Sides {
  const { identity, hook } = one;
  const wanted = one.base ?? one.head;
  const hidden = wanted === undefined ? [] : ignoredPaths(one, ignoredOf(applying.ignored, identity), applying);
  const present = hidden.length === 0 ? one.live : one.whole;
  return { ...applied({ ...one, live: present }, wanted, { hidden, left: [], keys: [] }), identity, hook };
}

/** Argo CD takes the fields that its rules select out of the live object that it compares. */
function ignoredPaths(
  { identity, live, whole }: InCluster,
  { pointers, byArgoCd }: Ignored,
  { compared }: Applying,
): readonly FieldPath[] {
  if (live === undefined || whole === undefined) return [];
  const evaluated = compared && byArgoCd.length > 0;
  return [...pathsOf(pointers, identity, whole), ...(evaluated ? missingPaths(identity, whole, live) : [])];
}

/** Argo CD cannot take out a whole object, and ignores a pointer to one. */
function pathsOf(pointers: readonly string[], identity: ManifestIdentity, object: JsonObject): readonly FieldPath[] {
  return pointers.map((pointer) => pathOf(pointer, identity, object)).filter(({ steps }) => steps.length > 0);
}

/** With `RespectIgnoreDifferences`, Argo CD takes the ignored fields out of what it applies as well. */
function withoutIgnored(
  { identity, head }: InCluster,
  { pointers }: Ignored,
  paths: readonly FieldPath[],
): JsonObject | undefined {
  return head && [...pathsOf(pointers, identity, head), ...paths].reduce(withoutField, head);
}

/** A rule does not hide what the change request itself changes, since a sync applies that anyway. */
function isUntouched(path: FieldPath, { base, head }: Pick<Sides, "base" | "head">): boolean {
  return base !== undefined && head !== undefined && equalAt(path, base, head);
}

/**
 * Then it patches the live values of these fields into that. The patch replaces a list whole, unless Kubernetes knows the
 * keys of its elements (`normalizeTargetResources`, v3.5).
 */
function asPatched(path: FieldPath, { whole }: InCluster): FieldPath {
  const { identity, steps } = path;
  if (!hasField(whole, path)) return path;
  const list = steps.findIndex((step) => typeof step !== "string" && step.key === undefined);
  return { identity, steps: list === -1 ? steps : steps.slice(0, list) };
}

interface How {
  /** Fields that are not compared. */
  readonly hidden: readonly FieldPath[];
  /** Fields that keep their live value. */
  readonly left: readonly FieldPath[];
  /** Keys of a Secret that stay. */
  readonly keys: readonly string[];
}

function applied(
  { identity, base, live, lastApplied }: InCluster,
  wanted: JsonObject | undefined,
  { hidden, left, keys }: How,
): Pick<Sides, "base" | "head"> {
  const masked = (object: JsonObject | undefined) => object && withEqualMasks(identity, object);
  const shown = (object: JsonObject) => inOrder(hidden.reduce(withoutField, object));
  const [before, after] = [masked(live), masked(wanted)];
  if (before === undefined || after === undefined) return { base: before, head: after };
  const previous = [base, lastApplied].map((object) => object && withoutKeys(masked(object) ?? {}, keys));
  const merged = threeWayMerge(identity, previous, inPlaceOf(before, after, base), before);
  const patched = left.reduce((object, path) => copiedField(before, object, path), merged);
  return { base: shown(before), head: shown(patched) };
}

function withoutKeys(secret: JsonObject, keys: readonly string[]): JsonObject {
  if (keys.length === 0 || !isJsonObject(secret.data)) return secret;
  const kept = Object.entries(secret.data).filter(([key]) => !keys.includes(key));
  return { ...secret, data: Object.fromEntries(kept) };
}

/** Hunks compare lines, so both sides need the same order of keys. */
function inOrder(object: JsonObject): JsonObject {
  const sorted = sortedKeys(object);
  return isJsonObject(sorted) ? sorted : {};
}

/**
 * The cluster chooses the API version of its answer, and Argo CD adds the namespace to what it applies. Neither is a change
 * unless the change request writes another one.
 */
function inPlaceOf(live: JsonObject, wanted: JsonObject, base: JsonObject | undefined): JsonObject {
  const apiVersion = wanted.apiVersion === base?.apiVersion ? live.apiVersion : wanted.apiVersion;
  const { metadata } = wanted;
  if (!isJsonObject(metadata) || !isJsonObject(live.metadata)) return { ...wanted, apiVersion };
  const namespace = metadata.namespace ?? live.metadata.namespace;
  return { ...wanted, apiVersion, metadata: { ...metadata, namespace } };
}

function doubtsAbout(
  { identity, base, head, live }: InCluster,
  sides: Pick<Sides, "base" | "head">,
  { rules, compared, syncOptions, keptKeys }: Applying & { readonly rules: Ignored },
): readonly string[] {
  if (live === undefined || head === undefined) return [];
  if (hasSyncOption(head, "Replace=true", syncOptions)) return ["Replace=true also removes what others wrote into it"];
  if (jsonEqual(sides.base, sides.head)) return [];
  const how = compared
    ? "honoured only for fields that the cluster has"
    : "not evaluated, since the definition changes them";
  const losesKeys = isSecret(identity) && keysOf(sides.base).some((key) => !keysOf(sides.head).includes(key));
  return [
    ...(rules.byArgoCd.length === 0 ? [] : [`${rules.byArgoCd.join(" and ")} of ignoreDifferences ${how}`]),
    ...(hasSyncOption(head, "ServerSideApply=true", syncOptions)
      ? ["server-side apply removes a field only if nobody else owns it"]
      : []),
    ...(losesKeys && base !== undefined && keptKeys(identity) === undefined
      ? ["a key stays if it was written as stringData"]
      : []),
  ];
}

function keysOf(secret: JsonObject | undefined): readonly string[] {
  return isJsonObject(secret?.data) ? Object.keys(secret.data) : [];
}
