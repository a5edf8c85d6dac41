import { isJsonObject, isLongInteger, type Json, type JsonObject, jsonEqual, withoutNulls } from "../model/json.js";
import type { Danger } from "../model/plan/manifest-diff.js";
import { IMMUTABLE, compareQuantities, defaultOf } from "./kubernetes-rules.js";
import {
  annotationOf,
  deletePoliciesOf,
  hasSyncOption,
  isHook,
  isSurelyHook,
  isSureOfAnnotations,
  isSyncedWith,
  type ManifestIdentity,
  syncHookTypes,
  titleOf,
} from "./manifest-key.js";
import { CRD, takenAlong, takenByScaling, takenWithLabel, typeOf, UNDO, valueAt } from "./taken-along.js";

/** One object on both sides of a difference, normalised; undefined where it does not exist. */
export interface TwoSides {
  readonly identity: ManifestIdentity;
  readonly base: JsonObject | undefined;
  readonly head: JsonObject | undefined;
}

/** A sentence to read before the diff. The lowest rank is the most dangerous. */
interface Caution {
  readonly rank: number;
  readonly text: string;
  /** Undefined for what deserves a look and endangers nothing. */
  readonly danger: Danger | undefined;
}

/** Both in the same order; not every sentence has a danger. */
interface Cautions {
  readonly cautions: readonly string[];
  readonly dangers: readonly Danger[];
}

/** Tells dangers of these changes, the worst first, with untrusted names and no values. @param options the application's sync options. */
export function cautionsOf(changes: readonly TwoSides[], options: readonly string[]): Cautions {
  const found = changes
    .flatMap((change) => cautionsOfOne(change, options))
    .sort((left, right) => left.rank - right.rank);
  return {
    cautions: found.map(({ text }) => text),
    dangers: found.flatMap(({ danger }) => (danger === undefined ? [] : [danger])),
  };
}

/** Whether `cautionsOf` warns of this change, hooks aside: such changes come first in the diff. */
export function isDangerous(change: TwoSides, options: readonly string[]): boolean {
  return cautionsOfOne(change, options).some(({ rank }) => rank < RANK.hook);
}

/** Whether a sync deletes an object that the head has, even without pruning. It may create it anew. */
export function isRecreated(change: TwoSides, options: readonly string[]): boolean {
  const { dangers } = cautionsOf([change], options);
  return change.head !== undefined && dangers.some(({ effect, pruning }) => effect === "lost" && !pruning);
}

interface FoundRefusal {
  readonly title: string;
  /** Kubernetes refuses the object in a sync as well. */
  readonly sure: boolean;
  readonly text: string;
}

/** Adds what Kubernetes refuses, behind the deletions and in place of our own words; what is not sure comes last, and not beside our own. */
export function withRefusals({ cautions, dangers }: Cautions, found: readonly FoundRefusal[]): Cautions {
  const isOf = (danger: Danger, { title }: FoundRefusal) => danger.what === refuses(title);
  const sure = found.filter((one) => one.sure);
  const unsure = found.filter((one) => !one.sure && !dangers.some((danger) => isOf(danger, one)));
  const deletions = dangers.filter(({ pruning }) => pruning).length;
  const isReplaced = (text: string) => sure.some(({ title }) => text.includes(willFail(title)));
  return {
    cautions: [
      ...cautions.slice(0, deletions),
      ...sure.map(({ text }) => text),
      ...cautions.slice(deletions).filter((text) => !isReplaced(text)),
      ...unsure.map(({ text }) => text),
    ],
    dangers: [
      ...dangers.slice(0, deletions),
      ...sure.map(({ title }): Danger => ({ what: refuses(title), pruning: false, effect: "refused" })),
      ...dangers.slice(deletions).filter((danger) => !sure.some((one) => isOf(danger, one))),
    ],
  };
}

function refuses(title: string): string {
  return `Kubernetes refuses to change ${title}`;
}

/** What our own rules say of each refusal. */
function willFail(title: string): string {
  return ` of ${title}: the sync will fail`;
}

const RANK = { delete: 0, refused: 1, versions: 2, replaced: 3, kept: 4, updated: 5, created: 6, hook: 7 } as const;

function cautionsOfOne({ identity, base, head }: TwoSides, options: readonly string[]): readonly Caution[] {
  const title = titleOf(identity);
  const wrong = head === undefined ? [] : misformed(head);
  if (wrong.length > 0) {
    const text = `Kubernetes cannot take ${title}, whose ${wrong.join(" and ")} must be text: the sync will fail. Check for words without quotes that are booleans or numbers`;
    return [dangerous(RANK.refused, text, `Kubernetes refuses ${title}`, "refused")];
  }
  if (head !== undefined && isHook(head)) {
    return [...hookDeletion(identity, base, head), ...hookCaution(title, base, head)];
  }
  if (head === undefined) return base === undefined || isSurelyHook(base) ? [] : deletion(identity, base, options);
  // `kubectl apply` refuses it, and Argo CD makes up names for hooks alone (`getSyncTasks`).
  if (identity.name === "" && !hasSyncOption(head, "Replace=true", options)) {
    const what = `Argo CD cannot apply ${title}`;
    const text = `${what}, whose name is generated, since it is no hook: the sync will fail. Give it a name`;
    return [dangerous(RANK.refused, text, what, "refused")];
  }
  if (base !== undefined) return update(identity, base, head, options);
  const created = CLUSTER_WIDE.has(typeOf(identity)) ? [harmless(RANK.created, `creates ${title}`)] : [];
  return [...forcedFirst(identity, head, options), ...created];
}

/** What every object needs, whatever its kind. Argo CD renders it without, and the sync fails. */
function misformed({ apiVersion, kind, metadata }: JsonObject): readonly string[] {
  const { name, generateName, namespace, labels, annotations } = isJsonObject(metadata) ? metadata : {};
  const isNamed = isFilled(name) || (name === undefined && isFilled(generateName));
  return [
    ...(isFilled(apiVersion) ? [] : ["apiVersion"]),
    ...(isFilled(kind) ? [] : ["kind"]),
    ...(isNamed ? [] : ["metadata.name"]),
    ...(namespace === undefined || isText(namespace) ? [] : ["metadata.namespace"]),
    ...(areTexts(labels) ? [] : ["metadata.labels"]),
    ...(areTexts(annotations) ? [] : ["metadata.annotations"]),
  ];
}

function isText(value: Json | undefined): boolean {
  return typeof value === "string" && !isLongInteger(value);
}

function isFilled(value: Json | undefined): boolean {
  return isText(value) && value !== "";
}

function areTexts(map: Json | undefined): boolean {
  if (map === undefined || map === null) return true;
  return isJsonObject(map) && Object.values(map).every((text) => text === null || isText(text));
}

function harmless(rank: number, text: string): Caution {
  return { rank, text, danger: undefined };
}

/** A caution about what every sync does; `what` names the danger in a few words. */
function dangerous(rank: number, text: string, what: string, effect?: Danger["effect"]): Caution {
  return { rank, text, danger: { what, pruning: false, ...(effect === undefined ? {} : { effect }) } };
}

const CLUSTER_WIDE = new Set([CRD, "Namespace"]);

/** Whether an object stays in the cluster when it leaves git, whatever the sync. */
export function isNeverPruned(object: JsonObject | undefined, options: readonly string[]): boolean {
  return hasSyncOption(object, "Prune=false", options) && isSureOfAnnotations(object ?? {});
}

function deletion(identity: ManifestIdentity, base: JsonObject, options: readonly string[]): readonly Caution[] {
  const title = titleOf(identity);
  if (isNeverPruned(base, options)) {
    const kept = `keeps ${title} in the cluster even with --prune, because of Prune=false: delete it by hand if it is to go`;
    return [harmless(RANK.kept, kept)];
  }
  const taken = takenAlong(identity, base);
  const confirmed = hasSyncOption(base, "Prune=confirm", options)
    ? ["; from Argo CD 2.14 on, the sync waits until somebody confirms it there (Prune=confirm)"]
    : [];
  const unprotected = hasSyncOption(base, "Delete=false", options)
    ? ["; Delete=false does not prevent it, since it only holds when the whole application is deleted"]
    : [];
  const notes = [...confirmed, ...unprotected].join("");
  if (taken !== undefined) {
    const danger: Danger = { what: `deletes ${title}`, pruning: true, effect: "lost" };
    return [{ rank: RANK.delete, text: `pruning ${title}: ${taken}${notes}`, danger }];
  }
  return notes === "" ? [] : [harmless(RANK.kept, `pruning ${title}${notes}`)];
}

const VOLUMES = new Set(["PersistentVolume", "PersistentVolumeClaim"]);

function update(
  identity: ManifestIdentity,
  base: JsonObject,
  head: JsonObject,
  options: readonly string[],
): readonly Caution[] {
  const title = titleOf(identity);
  const type = typeOf(identity);
  const refused = refusedChanges(identity, base, head);
  const versions = type === CRD ? removedVersions(base, head) : [];
  const cautions = [
    ...replacement(identity, refused, { base, head }, options),
    ...losing(identity, base, head),
    ...versions.map((name) => {
      const what = `takes the version ${name} away from ${title}`;
      const why = "Kubernetes refuses that while objects are stored in it, and whoever uses it breaks";
      return dangerous(RANK.versions, `${what}: ${why}`, what);
    }),
  ];
  if (cautions.length > 0) return cautions;
  if (CLUSTER_WIDE.has(type) || VOLUMES.has(type)) {
    return [dangerous(RANK.updated, `changes ${title}`, `changes ${title}`)];
  }
  return [];
}

function losing(identity: ManifestIdentity, base: JsonObject, head: JsonObject): readonly Caution[] {
  const unlabelled = takenWithLabel(identity, base, head);
  if (unlabelled !== undefined) {
    const { what, why } = unlabelled;
    return [dangerous(RANK.replaced, `${what}: ${why}`, what, "lost")];
  }
  const taken = takenByScaling(identity, base, head);
  if (taken === undefined) return [];
  const title = titleOf(identity);
  return [dangerous(RANK.replaced, `scales ${title} ${taken}`, `deletes claims of ${title}`, "lost")];
}

/**
 * `Force=true` deletes and recreates what Kubernetes refuses to change, and with `Replace=true` does so at every sync, save for
 * Namespaces and definitions, which Argo CD then updates (`applyObject`). `Replace=true` alone overwrites the whole object, and is
 * refused like any update. https://argo-cd.readthedocs.io/en/stable/user-guide/sync-options/
 */
function replacement(
  identity: ManifestIdentity,
  refused: readonly string[],
  sides: { readonly base: JsonObject; readonly head: JsonObject },
  options: readonly string[],
): readonly Caution[] {
  const title = titleOf(identity);
  const [replace, force] = (["Replace=true", "Force=true"] as const).map((one) => isSyncedWith(one, sides, options));
  const fields = refused.join(", ");
  const isUpdated = CLUSTER_WIDE.has(typeOf(identity)) && hasSyncOption(sides.head, "Replace=true", options);
  const taken = takenAlong(identity, sides.base);
  if (force === true && !isUpdated && (replace === true || refused.length > 0)) {
    const why = refused.length > 0 ? ` since Kubernetes refuses to change ${fields}` : "";
    const text = `deletes ${title} and creates it anew (Force=true)${why}${taken === undefined ? "" : `: ${taken}`}`;
    return [dangerous(RANK.replaced, text, `deletes and recreates ${title}`, "lost")];
  }
  if (refused.length > 0) {
    const cure =
      taken === undefined
        ? " unless it is replaced (argocd.argoproj.io/sync-options: Replace=true,Force=true)"
        : `. ${UNDO}`;
    const text = `Kubernetes refuses to change ${fields}${willFail(title)}${cure}`;
    return [dangerous(RANK.refused, text, refuses(title), "refused")];
  }
  if (replace !== true) return [];
  const text = `overwrites ${title} whole (Replace=true): what others wrote into it is lost`;
  return [dangerous(RANK.replaced, text, `overwrites ${title}`)];
}

function removedVersions(base: JsonObject, head: JsonObject): readonly string[] {
  const left = new Set(versionNames(head));
  return versionNames(base).filter((name) => !left.has(name));
}

function versionNames({ spec }: JsonObject): readonly string[] {
  const versions = isJsonObject(spec) && Array.isArray(spec.versions) ? (spec.versions as readonly Json[]) : [];
  return versions.flatMap((version) =>
    isJsonObject(version) && typeof version.name === "string" ? [version.name] : [],
  );
}

function hookCaution(title: string, base: JsonObject | undefined, head: JsonObject): readonly Caution[] {
  const types = syncHookTypes(head);
  if (types.length === 0) return [];
  const deletePolicy = annotationOf(head, "argocd.argoproj.io/hook-delete-policy");
  const after = deletePolicy === undefined ? "" : `, delete policy ${deletePolicy}`;
  const text = `runs the ${base === undefined ? "new" : "changed"} hook ${title} (${types.join(", ")}${after})`;
  return [harmless(RANK.hook, text)];
}

const DELETED_WHEN: ReadonlyMap<string, string> = new Map([
  ["BeforeHookCreation", " and creates it anew"],
  ["HookSucceeded", " once it has succeeded"],
  ["HookFailed", " if it fails"],
]);

/**
 * Argo CD deletes a hook that is in the cluster already when its policy says so, and by default before it creates it anew
 * (gitops-engine `deleteBeforeCreation`, v3.5). An object that becomes a hook is in the cluster. Jobs that were hooks before are
 * meant to go, so that only what takes something along is named then. A generated name is a new one in each sync.
 */
function hookDeletion(identity: ManifestIdentity, base: JsonObject | undefined, head: JsonObject): readonly Caution[] {
  if (identity.name === "") return [];
  const types = syncHookTypes(head);
  if (types.length === 0) {
    // What the cluster has under its name counts as an object that left git (`Reconcile` of gitops-engine).
    const why = "since it is a hook that no sync runs";
    return base === undefined ? lostIfThere(identity, head, " in a sync that prunes", why) : [];
  }
  // No sync that succeeds creates it anew.
  const isLate = types.join() === "SyncFail";
  const policies = deletePoliciesOf(head).filter((policy) => !(isLate && policy === "BeforeHookCreation"));
  const when = [...DELETED_WHEN].find(([policy]) => policies.includes(policy))?.[1] ?? " if the sync fails";
  const isFirst = policies.includes("BeforeHookCreation");
  if (base === undefined) return lostIfThere(identity, head, isFirst ? FIRST : when, "since it is a hook");
  const [becomes, taken] = [!isHook(base), takenAlong(identity, base)];
  if (!becomes && taken === undefined) return [];
  const title = titleOf(identity);
  const what = `deletes ${isFirst ? "and recreates " : ""}${title}`;
  // Until its phase comes, it counts in the cluster as an object that left git.
  const isPruned = becomes && !isFirst && !types.includes("PreSync");
  const also = isPruned ? ", and in any case in a sync that prunes" : "";
  const why = `since it ${becomes ? "becomes" : "is"} a hook${taken === undefined ? "" : `: ${taken}`}`;
  return [dangerous(RANK.replaced, `deletes ${title}${when}${also}, ${why}`, what, "lost")];
}

const FIRST = " first";

/** What is new in the files may be in the cluster, where a controller made it, such as the claim of a StatefulSet. */
function lostIfThere(identity: ManifestIdentity, head: JsonObject, when: string, why: string): readonly Caution[] {
  const taken = takenAlong(identity, head);
  const text = `if the cluster already has ${titleOf(identity)}, deletes it${when}, ${why}: ${taken ?? ""}`;
  return taken === undefined ? [] : [harmless(RANK.replaced, text)];
}

/** Argo CD replaces neither a Namespace nor a definition by a new one (`applyObject`). */
function forcedFirst(identity: ManifestIdentity, head: JsonObject, options: readonly string[]): readonly Caution[] {
  const has = (option: "Replace=true" | "Force=true") => isSyncedWith(option, { base: undefined, head }, options);
  const isForced = has("Replace=true") && has("Force=true") && !CLUSTER_WIDE.has(typeOf(identity));
  return isForced ? lostIfThere(identity, head, FIRST, "because of Force=true") : [];
}

/** The changed members that Kubernetes refuses to change. Empty if it accepts the update. */
function refusedChanges(identity: ManifestIdentity, base: JsonObject, head: JsonObject): readonly string[] {
  const type = `${identity.group}/${identity.kind}`;
  const differs = (path: string) => {
    // Writing out a default changes nothing.
    const missing = defaultOf(identity, path.split("."), {});
    // Nobody else could have written there what a null would take away.
    const given = (side: JsonObject) => withoutNulls(valueAt(side, path) ?? missing ?? null);
    return !jsonEqual(given(base), given(head));
  };
  const fixed = (IMMUTABLE[type] ?? []).filter(differs);
  switch (type) {
    case "/Service":
      return serviceChanges(base, head);
    case "/PersistentVolume":
    case "/PersistentVolumeClaim":
      return volumeChanges(type, base, head, differs);
    case "/ConfigMap":
    case "/Secret":
      return [
        ...fixed,
        ...(base.immutable === true ? ["data", "binaryData", "stringData", "immutable"].filter(differs) : []),
      ];
    case "batch/Job":
      // An indexed Job can be resized together with its parallelism.
      return fixed.filter((path) => path !== "spec.completions" || valueAt(head, "spec.completionMode") !== "Indexed");
    default:
      return fixed;
  }
}

/** Members of a Service that Kubernetes refuses to change: its address, unless the head leaves it out, and a load balancer's class. */
function serviceChanges(base: JsonObject, head: JsonObject): readonly string[] {
  const wanted = valueAt(head, "spec.clusterIP") ?? "";
  const types = [valueAt(base, "spec.type"), valueAt(head, "spec.type")];
  const differs = (path: string) => !jsonEqual(valueAt(base, path) ?? null, valueAt(head, path) ?? null);
  return [
    ...(wanted === "" || types.includes("ExternalName") ? [] : ["spec.clusterIP"]),
    ...(types.every((type) => type === "LoadBalancer") ? ["spec.loadBalancerClass"] : []),
  ].filter(differs);
}

const GROWING = "spec.resources.requests.storage";
const CHANGEABLE: Readonly<Record<string, RegExp>> = {
  "/PersistentVolumeClaim": /^(?:resources|volumeAttributesClassName)$/,
  "/PersistentVolume":
    /^(?:accessModes|capacity|claimRef|mountOptions|persistentVolumeReclaim\w+|storageClassName|volumeAttributes\w+)$/,
};

type Differs = (path: string) => boolean;
/** Members of a volume or claim that Kubernetes refuses to change. It accepts a first affinity to nodes, and a first Secret for enlarging. */
function volumeChanges(type: string, base: JsonObject, head: JsonObject, differs: Differs): readonly string[] {
  const members = [base, head].flatMap(({ spec }) => (isJsonObject(spec) ? Object.keys(spec) : []));
  const isAdded = (member: string) => {
    const [before, after] = [base, head].map((side) => valueAt(side, `spec.${member}`));
    if (!isJsonObject(before) || !isJsonObject(after)) return member === "nodeAffinity" && before === undefined;
    return jsonEqual({ controllerExpandSecretRef: after.controllerExpandSecretRef ?? null, ...before }, after);
  };
  const fixed = [...new Set(members)].filter((member) => CHANGEABLE[type]?.test(member) !== true && !isAdded(member));
  const changed = fixed.map((member) => `spec.${member}`).filter(differs);
  const isSmaller = (compareQuantities(valueAt(head, GROWING), valueAt(base, GROWING)) ?? 0) < 0;
  return isSmaller ? [...changed, `${GROWING} to a smaller size`] : changed;
}
