import { type ApplicationSpec, destinationOf, type Manifest, specEqual } from "../model/application.js";
import type { Revision } from "../model/brand.js";
import { changeRequestKey } from "../model/change-request.js";
import { listed } from "../model/host-words.js";
import { isJsonObject, type Json, type JsonObject, jsonText, type JsonText, readJsonText } from "../model/json.js";
import type { ManifestDiff, NameChanges, SecretChange } from "../model/plan/manifest-diff.js";
import { computeIfLarge, type Task, tooMuch } from "../ports/compute.js";
import type { CommandContext } from "../ports/context.js";
import { isSecret } from "../secrets/hide-values.js";
import { isCustom } from "./kubernetes-rules.js";
import {
  byIdentity,
  hasNamespace,
  identify,
  inNamespace,
  isHook,
  isNeverApplied,
  isSurelyHook,
  isTracked,
  syncHookTypes,
} from "./manifest-key.js";
import { meanTheSame, type Sides, summarise } from "./summarise.js";

type Shown = (name: string) => string;

const MAX_LINES = 20;
const MAX_NAMES = 5;
const MAX_FILES = 3;

/** A sentence for each Secret whose values change or may change. */
export function secretSentences({ secrets }: Pick<ManifestDiff, "secrets">, shown: Shown): readonly string[] {
  const more = secrets.length - MAX_LINES;
  const lines = secrets.slice(0, MAX_LINES).map((one) => secretSentence(one, shown));
  const left = more === 1 ? "1 more Secret changes or may change" : `${more} more Secrets change or may change`;
  return more > 0 ? [...lines, left] : lines;
}

function secretSentence({ name, keys, files }: SecretChange, shown: Shown): string {
  const others = files.length > MAX_FILES ? " and others" : "";
  const where = files.length === 0 ? "" : ` (${files.slice(0, MAX_FILES).map(shown).join(", ")}${others})`;
  const what = keys === undefined ? "cannot tell whether its values changed" : keysText(keys, shown);
  return `Secret ${shown(name)}: ${what}${where}; values are hidden`;
}

function keysText({ created, changed, deleted }: NameChanges, shown: Shown): string {
  return [
    ...(changed.length === 0 ? [] : [`changes ${listed(changed.map(shown), MAX_NAMES)}`]),
    ...(created.length === 0 ? [] : [`adds ${listed(created.map(shown), MAX_NAMES)}`]),
    ...(deleted.length === 0 ? [] : [`removes ${listed(deleted.map(shown), MAX_NAMES)}`]),
  ].join("; ");
}

/** Where the commit's id differs; undefined if it does nowhere. Without `shown` it names nothing. */
export function commitSentence({ onlyCommit }: Pick<ManifestDiff, "onlyCommit">, shown?: Shown): string | undefined {
  if (onlyCommit.length === 0) return undefined;
  return `No changes but the commit id${shown === undefined ? "" : `, in ${listed(onlyCommit.map(shown), MAX_NAMES)}`}.`;
}

/** Where the commit's id is all that differs, beside other changes; undefined if that is nowhere. */
export function besidesSentence({ onlyCommit }: Pick<ManifestDiff, "onlyCommit">, shown: Shown): string | undefined {
  return onlyCommit.length === 0 ? undefined : `The commit id only: ${listed(onlyCommit.map(shown), MAX_NAMES)}.`;
}

export interface DiffRequest {
  readonly base: readonly Manifest[];
  readonly head: readonly Manifest[];
  /** `spec.destination.namespace` of the head, which gets objects without a namespace. */
  readonly destinationNamespace: string;
  /** The base's namespace: a definition that moves to another namespace creates everything there. */
  readonly baseNamespace: string;
  readonly syncOptions: readonly string[];
  /** The commits of the two renders: their ids in values of that side do not count as a change. */
  readonly placeholders: { readonly base: Revision; readonly head: Revision };
  /** Patterns for what must not be shown; see `redact`. */
  readonly redact: readonly string[];
  /** The titles of what Argo CD last found in the cluster alone. */
  readonly leftOver?: readonly string[] | undefined;
}

/** What a sync of the head would do, dangerous changes first. Hooks are listed, not counted. Contains no value of a Secret. */
export function diffManifests(request: DiffRequest, pairs = differingPairs(pairManifests(request))): ManifestDiff {
  return summarise([...pairs.values()], { ...request, basis: { kind: "branch" } });
}

/** Diff of two sides with identical inputs. Secrets are safe to include: equal inputs cannot hide a change. */
export const NO_DIFFERENCE: ManifestDiff = summarise([], { syncOptions: [], redact: [], basis: { kind: "branch" } });

/** Both renders object by object, normalised, by the key of `keyOf`. */
export function pairManifests(request: DiffRequest): ReadonlyMap<string, Sides> {
  const { destinationNamespace, baseNamespace, placeholders } = request;
  const before = byIdentity(request.base, baseNamespace);
  const after = byIdentity(request.head, destinationNamespace);
  const keys = [...new Set([...before.keys(), ...after.keys()])];
  return new Map(
    keys.flatMap((key) => {
      const [written, found] = [before.get(key), after.get(key)];
      // Argo CD deletes what was applied and becomes a hook that no sync runs, as if it were not there any more.
      const goes = written !== undefined && !isHook(written.manifest) && found && isIdleHook(found.manifest);
      const young = goes === true ? undefined : found;
      // What no sync applied may be in the cluster all the same: deleted if it leaves git, and new if a sync applies it now.
      const old = young !== undefined && written && isLeftOut(written.manifest, young.manifest) ? undefined : written;
      const identity = (young ?? old)?.identity;
      if (identity === undefined || (young !== undefined && isNeverApplied(young.manifest))) return [];
      // Both sides are in the same namespace, so naming it on one side only makes no difference.
      const named = [old, young].every((side) => side === undefined || hasNamespace(side.manifest));
      const shown = (manifest: Manifest) => (named ? manifest : inNamespace(manifest, undefined));
      const base = old && normalise(shown(old.manifest), placeholders.base);
      const head = young && normalise(shown(young.manifest), placeholders.head);
      const hook =
        young === undefined
          ? old !== undefined && isSurelyHook(old.manifest)
          : [old ?? young, young].every(({ manifest }) => isHook(manifest));
      return [[key, { identity, base, head, hook }] as const];
    }),
  );
}

/** Whether a sync of the head applies or runs an object that no sync of the base applies. */
function isLeftOut(base: Manifest, head: Manifest): boolean {
  return isNeverApplied(base) || (isSurelyHook(base) && isIdleHook(base) && !isIdleHook(head));
}

/** Whether it is a hook that no sync runs, as Helm's `test`: Argo CD does not apply it (gitops-engine `ignore.Ignore`). */
function isIdleHook(manifest: Manifest): boolean {
  return isHook(manifest) && syncHookTypes(manifest).length === 0;
}

/** The pairs that differ, and those that may: Argo CD hides the values of Secrets. */
export function differingPairs(pairs: ReadonlyMap<string, Sides>): ReadonlyMap<string, Sides> {
  return new Map([...pairs].filter(([, sides]) => isSecret(sides.identity) || !meanTheSame(sides)));
}

interface DefinitionDiffInput extends Pick<CommandContext, "redact"> {
  readonly name: string;
  readonly from: JsonText<ApplicationSpec>;
  readonly to: JsonText<ApplicationSpec>;
  /** Commit of the change request: in neither definition its id is a change. */
  readonly commit: CommandContext["change"]["headRevision"];
}

/** Compares two definitions as manifests, so that everything is hidden in them that is hidden in manifests. */
export const definitionDiffTask: Task<DefinitionDiffInput, string | undefined> = {
  name: "definition-diff",
  run({ name, from, to, commit, redact }) {
    const [base, head] = [readJsonText(from), readJsonText(to)];
    const manifest = (spec: Manifest): Manifest => ({
      apiVersion: "argoproj.io/v1alpha1",
      kind: "Application",
      metadata: { name },
      spec,
    });
    const { namespace } = destinationOf(head);
    const { resources } = diffManifests({
      base: [manifest(base)],
      head: [manifest(head)],
      destinationNamespace: namespace,
      baseNamespace: namespace,
      syncOptions: [],
      placeholders: { base: commit, head: commit },
      redact,
    });
    return resources[0]?.diff;
  },
};

const DEADLINE_MS = 30_000;

/** How an Application's definition changes, as hunks of YAML; undefined if both mean the same. */
export async function definitionDiff(
  name: string,
  { from, to }: { readonly from: ApplicationSpec; readonly to: ApplicationSpec },
  { change, redact, compute, signal }: Pick<CommandContext, "change" | "redact" | "compute" | "signal">,
): Promise<string | undefined> {
  if (specEqual(from, to)) return undefined;
  const texts = { from: jsonText(from), to: jsonText(to) };
  const limits = { owner: changeRequestKey(change), deadlineMs: DEADLINE_MS, signal };
  const input = { ...texts, name, commit: change.headRevision, redact };
  const size = texts.from.length + texts.to.length;
  const computed = await computeIfLarge(compute, definitionDiffTask, input, size, limits);
  return computed.kind === "done" ? computed.output : `# It is not shown: comparing it ${tooMuch(computed.limit)}.`;
}

/** Argo CD adds these to what it renders. They depend on the application's name, not on the change. */
const TRACKING_ANNOTATIONS = new Set(["argocd.argoproj.io/tracking-id", "argocd.argoproj.io/installation-id"]);

/**
 * Gives equal manifests one form: no status that Kubernetes would not write, tracking or empty metadata, keys in order, and a
 * placeholder for the commit of the render, which `ARGOCD_APP_REVISION` puts into values. That of a live object is unknown.
 *
 * A null in a manifest takes away what others wrote in its place, as the replicas of an autoscaler, so that it is not the same as a
 * missing member (https://kubernetes.io/docs/tasks/manage-kubernetes-objects/declarative-config/, "clear server-defaulted fields
 * or fields set by other writers"). In a live object the two are the same.
 */
export function normalise(
  manifest: Manifest,
  renderedAt: Revision | undefined,
  from: "manifest" | "cluster" = "manifest",
): JsonObject {
  const { metadata } = manifest;
  const kept = {
    ...manifest,
    status: writesStatus(manifest) ? manifest.status : undefined,
    metadata: isJsonObject(metadata) ? normaliseMetadata(metadata, isTracked(manifest)) : metadata,
  };
  return membersCleaned(kept, { commit: renderedAt, from });
}

/**
 * Whether a sync may write the object's status. In Kubernetes' own kinds the status is a subresource, which a sync does not write; in
 * a custom kind it is one only if the kind's definition says so. Argo CD's do not: its Application has there what it can be rolled back to
 * (argo-cd issue 22967), and its AppProject which tokens of roles are valid (`GetJWTToken`).
 */
function writesStatus(manifest: Manifest): boolean {
  return isCustom(identify(manifest, "").group) && !isEmpty(manifest.status);
}

function normaliseMetadata(metadata: JsonObject, tracked: boolean): JsonObject {
  const { labels, annotations, namespace, name, generateName, ...rest } = metadata;
  const kept =
    tracked && isJsonObject(annotations)
      ? Object.fromEntries(Object.entries(annotations).filter(([key]) => !TRACKING_ANNOTATIONS.has(key)))
      : annotations;
  return {
    ...rest,
    // A null as one of these takes nothing away: kubectl always sends annotations of its own.
    name: name === "" ? undefined : (name ?? undefined),
    generateName: generateName ?? undefined,
    namespace: namespace === "" ? undefined : (namespace ?? undefined),
    annotations: isEmpty(kept) ? undefined : (kept ?? undefined),
    ...(isEmpty(labels) ? {} : { labels }),
  };
}

function isEmpty(value: Json | undefined): boolean {
  return isJsonObject(value) && Object.values(value).every((member) => member === undefined);
}

interface Origin {
  readonly commit: Revision | undefined;
  readonly from: "manifest" | "cluster";
}

/** In a list a null keeps its place. */
function cleaned(value: Json, origin: Origin): Json {
  if (typeof value === "string") return withoutCommit(value, origin.commit);
  if (Array.isArray(value)) return (value as readonly Json[]).map((item) => cleaned(item, origin));
  return isJsonObject(value) ? membersCleaned(value, origin) : value;
}

/** Programs that write manifests put it as null into every metadata. Kubernetes sets it by itself. */
const SCAFFOLDED = "creationTimestamp";

function membersCleaned(value: JsonObject, origin: Origin): JsonObject {
  const members: (readonly [string, Json])[] = [];
  for (const key of Object.keys(value).sort()) {
    const member = value[key];
    if (member === undefined || (member === null && (origin.from === "cluster" || key === SCAFFOLDED))) continue;
    members.push([key, cleaned(member, origin)]);
  }
  return Object.fromEntries(members);
}

function wholeToken(digits: string): RegExp {
  return new RegExp(`(?<![0-9A-Za-z])${digits}(?![0-9A-Za-z])`, "g");
}

/** Text that looks like a placeholder; it gets one more exclamation mark. */
const LIKE_PLACEHOLDER = /<commit(?=!*(?::[78])?>)/g;

/**
 * Puts a placeholder in place of the commit's id, another one for each length: switching from the short to the long form is a
 * change. A placeholder that somebody writes is none. Few texts contain an id, and searching for its beginning is quick.
 */
function withoutCommit(written: string, commit: Revision | undefined): string {
  const text = written.includes("<commit") ? written.replace(LIKE_PLACEHOLDER, "$&!") : written;
  if (commit === undefined || !text.includes(commit.slice(0, 7))) return text;
  return text
    .replace(wholeToken(commit), "<commit>")
    .replace(wholeToken(commit.slice(0, 8)), "<commit:8>")
    .replace(wholeToken(commit.slice(0, 7)), "<commit:7>");
}
