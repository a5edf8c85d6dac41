import { redact } from "../../../config/redaction.js";
import type { ApplicationSpec } from "../../model/application.js";
import type { ClusterCheck, RefusedObject } from "../../model/cluster-check.js";
import { isJsonObject } from "../../model/json.js";
import type { ManifestDiff } from "../../model/manifest-diff.js";
import type { RefusalCause, Trial } from "../../ports/deployer.js";
import { withRefusals, type FoundRefusal } from "../cautions.js";
import { normalise } from "../normalise.js";
import { applicationSyncOptions } from "../sync-options.js";
import { normaliseLive } from "./live-object.js";
import { removesMembers, type OrderedTrial, type TrialOrder } from "./trial-order.js";

/** The answers to an order, in its order. */
export interface Tried {
  readonly order: TrialOrder;
  readonly trials: readonly Trial[];
  /** The head's definition, which says how it is synced. */
  readonly spec: ApplicationSpec;
  /** Patterns for what must not be shown; see `redact`. */
  readonly redact: readonly string[];
}

type Refused = Extract<Trial, { readonly kind: "refused" }>;
interface Answered {
  readonly asked: OrderedTrial;
  readonly trial: Trial;
}

/** The diff with what Kubernetes refuses among its cautions, and the answers. The diff itself stays as it is. */
export function withTrials(
  diff: ManifestDiff,
  { order, trials, spec, redact: patterns }: Tried,
): { readonly diff: ManifestDiff; readonly cluster: ClusterCheck } {
  const options = applicationSyncOptions(spec);
  const answered = order.objects.map((asked, index): Answered => {
    const trial = trials[index] ?? { kind: "untried", reason: "no answer" };
    return { asked, trial: afterSync(trial, asked, options) };
  });
  const found = answered.flatMap(({ asked, trial }) => {
    if (trial.kind !== "refused") return [];
    const sure = isSure(trial, asked, order, { spec, options });
    return [{ ...refusedObject(asked, trial, patterns, sure), cause: trial.cause, kind: asked.object.kind }];
  });
  const untried = answered.flatMap(({ asked: { title }, trial }) =>
    trial.kind === "untried" ? [{ title, reason: redact(trial.reason, patterns) }] : [],
  );
  const reasons = new Map<string, string[]>();
  for (const { title, reason } of [...order.untried, ...untried]) {
    reasons.set(reason, [...(reasons.get(reason) ?? []), title]);
  }
  return {
    diff: { ...diff, ...withRefusals(diff, found.map(foundRefusal)) },
    cluster: {
      accepted: answered.filter(({ trial }) => trial.kind === "accepted").length,
      refused: found.map(({ title, message, sure }) => ({ title, message, sure })),
      untried: [...reasons].map(([reason, titles]) => ({ reason, titles })),
    },
  };
}

const LONGEST_MESSAGE = 160;

function refusedObject(
  { title }: OrderedTrial,
  { message }: Refused,
  patterns: readonly string[],
  sure: boolean,
): RefusedObject {
  const text = redact(message, patterns).replace(/\s+/g, " ").trim();
  const shown =
    text.length > LONGEST_MESSAGE ? `${text.slice(0, LONGEST_MESSAGE).replace(/[\ud800-\udbff]$/, "")}…` : text;
  return { title, message: shown, sure };
}

/** What the sync itself takes care of is no refusal. */
function afterSync(trial: Trial, asked: OrderedTrial, options: readonly string[]): Trial {
  if (trial.kind !== "refused") return trial;
  if (trial.cause === "no-namespace" && options.includes("CreateNamespace=true")) {
    return { kind: "untried", reason: "this sync creates its namespace" };
  }
  if (trial.cause === "no-kind" && asked.skippedWithoutKind) {
    return { kind: "untried", reason: "its custom resource definition is missing" };
  }
  return trial;
}

/** Whether the sync meets the refusal as well. */
function isSure(
  { cause, created, lastApplied }: Refused,
  { object, serverSide, unvalidated, removes }: OrderedTrial,
  { changesPolicies }: TrialOrder,
  { spec, options }: { readonly spec: ApplicationSpec; readonly options: readonly string[] },
): boolean {
  // A sync then keeps the live values of ignored members.
  if (options.includes("RespectIgnoreDifferences=true") && Array.isArray(spec.ignoreDifferences)) return false;
  const exact = () => {
    if (created || serverSide) return true;
    if (removes) return false;
    if (lastApplied === undefined) return true;
    const before = withoutNamespace(normaliseLive(lastApplied));
    return !removesMembers({ ...object, generateName: "" }, before, normalise(object.manifest, undefined));
  };
  switch (cause) {
    case "immutable":
    case "no-namespace":
    case "no-kind":
      return true;
    case "unknown-field":
      return serverSide || !unvalidated;
    case "conflict":
      return created || serverSide;
    case "invalid":
      return exact();
    case "denied":
      return !changesPolicies && exact();
  }
}

/** Argo CD writes it into what it applies, whether or not the manifest does. */
function withoutNamespace(object: ReturnType<typeof normaliseLive>): ReturnType<typeof normaliseLive> {
  const { metadata } = object;
  return isJsonObject(metadata) ? { ...object, metadata: { ...metadata, namespace: undefined } } : object;
}

function foundRefusal({
  title,
  message,
  sure,
  cause,
  kind,
}: RefusedObject & { readonly cause: RefusalCause; readonly kind: string }): FoundRefusal {
  const will = sure ? "will" : "may";
  const end = sure ? cureOf(cause, kind) : "This cannot be tried just as a sync does it, so the sync may still work";
  return { title, sure, text: `Kubernetes ${will} refuse ${title}: ${message}. ${end}` };
}

/** Kinds whose deletion takes other objects, or data, along. */
const HOLDING = new Set(["CustomResourceDefinition", "Namespace", "PersistentVolume", "PersistentVolumeClaim"]);

function cureOf(cause: RefusalCause, kind: string): string {
  switch (cause) {
    case "immutable":
      return HOLDING.has(kind)
        ? "Undo the change, or give it another name: replacing it would delete what it holds"
        : "Let the sync replace it (argocd.argoproj.io/sync-options: Replace=true,Force=true), delete it first, or give it another name";
    case "invalid":
    case "conflict":
    case "unknown-field":
      return "Correct the manifest";
    case "denied":
      return "Change it so that it is allowed, or ask those who run the cluster";
    case "no-namespace":
      return "Create the namespace first, or set the sync option CreateNamespace=true";
    case "no-kind":
      return "Install its custom resource definition first";
  }
}
