import { redactHunks } from "../../config/redaction.js";
import { jsonEqual, type JsonObject } from "../model/json.js";
import type { DiffBasis, ManifestDiff, NameChanges, ResourceChange } from "../model/plan.js";
import { EmbeddedTexts } from "../secrets/embedded.js";
import { withoutCredentials } from "../secrets/hide-in-text.js";
import { carriesParameters, hideParameters } from "../secrets/hide-parameters.js";
import { hideValues } from "../secrets/hide-values.js";
import { isSecret } from "../secrets/secret-object.js";
import { alignLists, withoutIdleOrder } from "./align-lists.js";
import { cautionsOf, isDangerous, type TwoSides } from "./cautions.js";
import { hunksOf, newDiffBudget, type DiffBudget } from "./hunks.js";
import { rollsPods } from "./list-rules.js";
import { titleOf, type ManifestIdentity } from "./manifest-key.js";

/** One object before and after, and whether it is a hook on both sides. */
export interface Sides extends TwoSides {
  readonly hook: boolean;
}
type Changed = Shown & { readonly action: ResourceChange["action"]; readonly dangerous: boolean };
/** Without what must not be shown. */
type Shown = Sides & { readonly hides: boolean };

/** What the two sides are. */
export interface Origin {
  /** The application's own sync options. */
  readonly syncOptions: readonly string[];
  readonly basis: DiffBasis;
  /** Patterns for what must not be shown; see `redact`. */
  readonly redact: readonly string[];
}

/** Whether the two sides are equal as JSON, except for the order of lists whose order has no effect. */
export function meanTheSame({ identity, base, head }: TwoSides): boolean {
  if (base === undefined || head === undefined) return base === head;
  return jsonEqual(withoutIdleOrder(identity, base), withoutIdleOrder(identity, head));
}

/**
 * Counts and shows the differences, dangerous ones first and hooks last. The result contains no values of Secrets, also of
 * those that other objects carry, nothing that looks secret in parameters of Applications, and nothing that is redacted.
 */
export function summarise(changes: readonly Sides[], { syncOptions, basis, redact }: Origin): ManifestDiff {
  const budget = newDiffBudget();
  const texts = new EmbeddedTexts();
  const sorted = changes
    .filter((change) => differs(change, texts))
    .map((change) => shownSides(change, texts))
    .map((one) => ({ ...one, action: actionOf(one), dangerous: isDangerous(one, syncOptions) }))
    .sort(inOrder);
  const resources = sorted.map((one) => toResource(one, { budget, redact }));
  const count = (action: ResourceChange["action"]) =>
    resources.filter((one) => !one.hook && one.action === action).length;
  return {
    created: count("create"),
    updated: count("update"),
    deleted: count("delete"),
    hooksChanged: resources.filter(({ hook }) => hook).length,
    resources,
    hiddenSecrets: changes.some(({ identity }) => isSecret(identity)),
    ...cautionsOf(sorted, syncOptions),
    children: namesOf(sorted, "Application"),
    sets: namesOf(sorted, "ApplicationSet"),
    basis,
  };
}

/** For Secrets, only differences that can be shown count: a mask and a value do not differ. */
function differs(change: Sides, texts: EmbeddedTexts): boolean {
  return !meanTheSame(isSecret(change.identity) ? { ...change, ...hiddenSides(change, texts) } : change);
}

function hiddenSides({ identity, ...sides }: TwoSides, texts: EmbeddedTexts): Pick<TwoSides, "base" | "head"> {
  const { base, head } = hideValues(sides, isSecret(identity), texts);
  return carriesParameters(identity) ? hideParameters(base, head) : { base, head };
}

function shownSides(change: Sides, texts: EmbeddedTexts): Shown {
  const { base, head } = hiddenSides(change, texts);
  return { ...change, base, head, hides: base !== change.base || head !== change.head };
}

function actionOf({ base, head }: TwoSides): ResourceChange["action"] {
  if (base === undefined) return "create";
  return head === undefined ? "delete" : "update";
}

function toResource(
  { identity, base, head, hook, action, hides }: Changed,
  { budget, redact }: { readonly budget: DiffBudget; readonly redact: readonly string[] },
): ResourceChange {
  const hunks = diffText(identity, base, head, budget);
  const diff = redactHunks(withoutCredentials(hunks, "addresses"), redact);
  const whole = !hides && diff === hunks && !NOTE.test(hunks);
  return { action, title: titleOf(identity), kind: identity.kind, diff, hook, whole };
}

/** A line of ours among the hunks: something is left out, or the order alone changes. */
const NOTE = /^#/m;

/** Hunks over aligned lists. A line of its own reports what the alignment hides. */
function diffText(
  identity: ManifestIdentity,
  base: JsonObject | undefined,
  head: JsonObject | undefined,
  budget: DiffBudget,
): string {
  if (base === undefined || head === undefined) return hunksOf(base, head, budget);
  const { base: aligned, moved } = alignLists(identity, base, head);
  const onlyOrder = jsonEqual(aligned, head);
  const hunks = hunksOf(onlyOrder ? base : aligned, head, budget);
  if (hunks === "") return "# Only text that is not shown here changes.";
  if (moved.length === 0) return hunks;
  const lists = moved.map((path) => path.join(".").replaceAll(".[]", "[]")).join(", ");
  const effect = moved.some((path) => rollsPods(identity, path)) ? ": the Pods are rolled for it" : "";
  return `# ${onlyOrder ? "Only the order" : "The order, too,"} of ${lists} changes${effect}.\n${hunks}`;
}

/** The Applications or ApplicationSets (app of apps) that the manifests create, change and delete, by name. */
function namesOf(changes: readonly Changed[], kind: string): NameChanges {
  const named = (action: ResourceChange["action"]) =>
    changes
      .filter(({ identity, hook }) => identity.group === "argoproj.io" && identity.kind === kind && !hook)
      .filter((one) => one.action === action)
      .map(({ identity }) => identity.name);
  return { created: named("create"), changed: named("update"), deleted: named("delete") };
}

/** Kinds that other objects, or data, depend on. */
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

function rank({ identity, action, hook, dangerous }: Changed): readonly number[] {
  const first = dangerous || DANGEROUS_KINDS.has(identity.kind);
  return [hook ? 1 : 0, action === "delete" ? 0 : 1, first ? 0 : 1, ACTION_ORDER[action]];
}
