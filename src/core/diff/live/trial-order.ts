import type { Manifest } from "../../model/application.js";
import { isJsonObject, type Json, type JsonObject, jsonEqual } from "../../model/json.js";
import { isList, ownMember } from "../../model/members.js";
import type { TrialObject } from "../../ports/deployer.js";
import { isSecret } from "../../secrets/secret-object.js";
import { isHook } from "../hook.js";
import { keyed, listRule, type ValuePath } from "../list-rules.js";
import type { DiffRequest } from "../manifest-diff.js";
import { byIdentity, titleOf, type ManifestIdentity } from "../manifest-key.js";
import { meanTheSame, type Sides } from "../summarise.js";
import { hasSyncOption } from "../sync-options.js";

/** What of a change Kubernetes can be asked about. */
export interface TrialOrder {
  readonly objects: readonly OrderedTrial[];
  readonly untried: readonly { readonly title: string; readonly reason: string }[];
  /** The change has policies or quotas in it, which are not in force while the other objects are tried. */
  readonly changesPolicies: boolean;
}

/** One object to try, and what decides whether a sync does just what is tried. */
export interface OrderedTrial {
  readonly object: TrialObject;
  readonly title: string;
  /** The sync applies it server-side, as the trial does. */
  readonly serverSide: boolean;
  /** The sync does not check whether Kubernetes knows every member. */
  readonly unvalidated: boolean;
  /** The sync skips it while its kind is missing. */
  readonly skippedWithoutKind: boolean;
  /** The head leaves out something that the base has. The trial keeps it. */
  readonly removes: boolean;
}

/** What differs between the renders, apart from what cannot be tried: each with the reason. */
export function trialOrder(request: DiffRequest, differing: ReadonlyMap<string, Sides>): TrialOrder {
  const { head, destinationNamespace, syncOptions } = request;
  const changed = [...differing].filter(([, sides]) => sides.head !== undefined && !meanTheSame(sides));
  if (changed.length === 0) return { objects: [], untried: [], changesPolicies: false };
  // As rendered: in a pair, a placeholder stands for the commit.
  const raw = byIdentity(head, destinationNamespace);
  const created = createdHere([...differing.values()]);
  const objects: OrderedTrial[] = [];
  const untried: { title: string; reason: string }[] = [];
  for (const [key, sides] of changed) {
    const { identity, base } = sides;
    const manifest = raw.get(key)?.manifest;
    if (manifest === undefined) continue;
    const title = titleOf(identity);
    const reason = reasonAgainst(identity, manifest, created, syncOptions);
    if (reason !== undefined) {
      untried.push({ title, reason });
      continue;
    }
    const has = (option: string) => hasSyncOption(manifest, option, syncOptions);
    const { group, kind, namespace, name } = identity;
    objects.push({
      object: { group, kind, namespace, name, manifest: inNamespace(manifest, identity) },
      title,
      serverSide: has("ServerSideApply=true"),
      unvalidated: has("Validate=false"),
      skippedWithoutKind: has("SkipDryRunOnMissingResource=true"),
      removes: base !== undefined && sides.head !== undefined && removesMembers(identity, base, sides.head),
    });
  }
  return { objects, untried, changesPolicies: [...differing.values()].some(({ identity }) => isPolicy(identity)) };
}

/** What this sync creates first, so that it is not there while its objects are tried. */
interface Created {
  readonly namespaces: ReadonlySet<string>;
  /** `<group>/<kind>` of custom resources whose definition changes. */
  readonly kinds: ReadonlySet<string>;
}

function createdHere(differing: readonly Sides[]): Created {
  const present = differing.filter(({ head }) => head !== undefined);
  const namespaces = present.filter(
    ({ identity: { group, kind }, base }) => group === "" && kind === "Namespace" && base === undefined,
  );
  const definitions = present.filter(({ identity }) => identity.kind === "CustomResourceDefinition");
  return {
    namespaces: new Set(namespaces.map(({ identity }) => identity.name)),
    kinds: new Set(definitions.map(({ head }) => kindOf(head?.spec))),
  };
}

function kindOf(spec: Json | undefined): string {
  const { group, names } = isJsonObject(spec) ? spec : {};
  const kind = isJsonObject(names) ? names.kind : undefined;
  return `${typeof group === "string" ? group : ""}/${typeof kind === "string" ? kind : ""}`;
}

function reasonAgainst(
  identity: ManifestIdentity,
  manifest: Manifest,
  created: Created,
  syncOptions: readonly string[],
): string | undefined {
  if (isSecret(identity)) return "its values are hidden";
  if (isHook(manifest)) return "a hook";
  if (identity.name === "") return "its name is generated";
  if (created.namespaces.has(identity.namespace)) return "this sync creates its namespace";
  if (created.kinds.has(`${identity.group}/${identity.kind}`)) {
    return "this sync changes its custom resource definition";
  }
  if (hasSyncOption(manifest, "Force=true", syncOptions)) return "the sync may delete and recreate it (Force=true)";
  return undefined;
}

/** Groups of Kubernetes itself whose kinds have a namespace, unless `identify` knows better. */
const NAMESPACED_GROUPS = new Set([
  ...["", "apps", "autoscaling", "batch", "policy", "coordination.k8s.io", "discovery.k8s.io", "events.k8s.io"],
  ...["networking.k8s.io", "rbac.authorization.k8s.io"],
]);

function inNamespace(manifest: Manifest, { group, namespace }: ManifestIdentity): Manifest {
  if (namespace === "" || !NAMESPACED_GROUPS.has(group)) return manifest;
  const { metadata } = manifest;
  return { ...manifest, metadata: { ...(isJsonObject(metadata) ? metadata : {}), namespace } };
}

function isPolicy({ group, kind }: ManifestIdentity): boolean {
  if (group === "") return kind === "ResourceQuota" || kind === "LimitRange";
  return group === "admissionregistration.k8s.io" || /(?:^|\.)(?:kyverno\.io|gatekeeper\.sh)$/.test(group);
}

/**
 * Whether a sync takes something away, which server-side apply does not do with what was applied client-side. A list of
 * unknown merging counts as soon as an element of it goes or changes.
 */
export function removesMembers(identity: ManifestIdentity, before: JsonObject, after: JsonObject): boolean {
  return removes({ identity, path: [] }, before, after);
}

interface Place {
  readonly identity: ManifestIdentity;
  readonly path: ValuePath;
}

function removes(place: Place, before: Json, after: Json | undefined): boolean {
  if (after === undefined) return true;
  const inside = (step: string): Place => ({ ...place, path: [...place.path, step] });
  if (isJsonObject(before)) {
    if (!isJsonObject(after)) return true;
    return Object.keys(before).some((key) => {
      const [old, young] = [ownMember(before, key), ownMember(after, key)];
      return old !== undefined && removes(inside(key), old, young);
    });
  }
  if (!isList(before)) return false;
  if (!isList(after)) return true;
  const rule = listRule(place.identity, place.path);
  const [olds, youngs] = [rule && keyed(rule, before), rule && keyed(rule, after)];
  if (olds === undefined || youngs === undefined) {
    return before.some((old) => !after.some((young) => jsonEqual(old, young)));
  }
  return [...olds].some(([key, old]) => removes(inside("[]"), old, youngs.get(key)));
}
