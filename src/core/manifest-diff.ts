import type { Manifest } from "./application.js";
import type { Revision } from "./brand.js";
import { hideValues, isSecret } from "./diff/hide-secret.js";
import { isHook } from "./diff/hook.js";
import { hunksOf, newDiffBudget, type DiffBudget } from "./diff/hunks.js";
import { byIdentity, titleOf, type ManifestIdentity } from "./diff/manifest-key.js";
import { normalise } from "./diff/normalise.js";
import { isJsonObject, jsonEqual, type JsonObject } from "./json.js";
import type { ManifestDiff, ResourceChange } from "./plan.js";

export interface DiffRequest {
  readonly base: readonly Manifest[];
  readonly head: readonly Manifest[];
  /** `spec.destination.namespace`; where objects without a namespace go. */
  readonly destinationNamespace: string;
  /** The commits that the two sides were rendered at: their ids in the values of that side are no change. */
  readonly placeholders: { readonly base: Revision; readonly head: Revision };
}

/**
 * What a sync of the head would do to the objects of the base: created, updated and deleted, the dangerous ones first.
 * Hooks are listed and not counted. No value of a Secret is in the result.
 */
export function diffManifests(request: DiffRequest): ManifestDiff {
  const { destinationNamespace, placeholders } = request;
  const before = byIdentity(request.base, destinationNamespace);
  const after = byIdentity(request.head, destinationNamespace);
  const budget = newDiffBudget();
  const changes = [...new Set([...before.keys(), ...after.keys()])].flatMap((key) => {
    const [old, young] = [before.get(key), after.get(key)];
    const identity = (young ?? old)?.identity;
    if (identity === undefined) return [];
    const base = old && normalise(old.manifest, placeholders.base);
    const head = young && normalise(young.manifest, placeholders.head);
    const hook = [old, young].every((side) => side === undefined || isHook(side.manifest));
    return [{ identity, base, head, hook }];
  });
  const resources = changes
    .map((change) => ({ change, ...hiddenSides(change) }))
    .filter(({ base, head }) => !jsonEqual(base, head))
    .map(({ change, base, head }) => ({ ...change, base, head, action: actionOf(base, head) }))
    .sort(inOrder)
    .map((one) => toResource(one, budget));
  const count = (action: ResourceChange["action"]) =>
    resources.filter((one) => !one.hook && one.action === action).length;
  return {
    created: count("create"),
    updated: count("update"),
    deleted: count("delete"),
    hooksChanged: resources.filter(({ hook }) => hook).length,
    resources,
    hiddenSecrets: changes.some(({ identity }) => isSecret(identity)),
  };
}

interface Sides {
  readonly identity: ManifestIdentity;
  readonly base: JsonObject | undefined;
  readonly head: JsonObject | undefined;
  readonly hook: boolean;
}
type Changed = Sides & { readonly action: ResourceChange["action"] };

function hiddenSides({ identity, base, head }: Sides): Pick<Sides, "base" | "head"> {
  return isSecret(identity) ? hideValues(base, head) : { base, head };
}

function actionOf(base: JsonObject | undefined, head: JsonObject | undefined): ResourceChange["action"] {
  if (base === undefined) return "create";
  return head === undefined ? "delete" : "update";
}

function toResource({ identity, base, head, hook, action }: Changed, budget: DiffBudget): ResourceChange {
  return { action, title: titleOf(identity), kind: identity.kind, diff: hunksOf(base, head, budget), hook };
}

/** Deleting or changing one of these takes other objects or data with it. */
const DANGEROUS_KINDS = new Set(["CustomResourceDefinition", "Namespace", "PersistentVolume", "PersistentVolumeClaim"]);
const ACTION_ORDER = { delete: 0, update: 1, create: 2 } as const;

function inOrder(left: Changed, right: Changed): number {
  const [one, other] = [rank(left), rank(right)];
  const differing = one.findIndex((part, index) => part !== other[index]);
  if (differing === -1) return compareTexts(titleOf(left.identity), titleOf(right.identity));
  return (one[differing] ?? 0) - (other[differing] ?? 0);
}

function compareTexts(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

function rank({ identity, action, hook, head }: Changed): readonly number[] {
  const dangerous = DANGEROUS_KINDS.has(identity.kind) || isReplaced(head);
  return [hook ? 1 : 0, action === "delete" ? 0 : 1, dangerous ? 0 : 1, ACTION_ORDER[action]];
}

/** `Replace=true` and `Force=true` delete the object and create it again, or overwrite it whole. */
function isReplaced(manifest: JsonObject | undefined): boolean {
  const metadata = manifest?.metadata;
  const annotations = isJsonObject(metadata) ? metadata.annotations : undefined;
  const options = isJsonObject(annotations) ? annotations["argocd.argoproj.io/sync-options"] : undefined;
  return typeof options === "string" && /(?:^|,)\s*(?:Replace|Force)=true\s*(?:,|$)/.test(options);
}
