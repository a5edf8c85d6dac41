import type { ApplicationName } from "../core/model/brand.js";
import { driftOf, type ResourceChange } from "../core/model/manifest-diff.js";
import type { ApplicationPlan } from "../core/model/plan.js";
import { hasFailedCheck } from "./plan-checks.js";
import type { EvaluatedPlan } from "./plan-summary.js";
import { isDangerous } from "./plan-verdict.js";

/** An application of a plan, or several that stand in one collapsible. */
export type Arranged =
  | ({ readonly kind: "alone" } & Placed)
  | { readonly kind: "folded"; readonly title: string; readonly placed: readonly Placed[] };

export interface Placed {
  readonly plan: ApplicationPlan;
  /** The application before it whose diff is the same. */
  readonly sameAs: EvaluatedPlan | undefined;
}

/**
 * The applications that are dangerous or failed a check first, then the others in their order. What repeats the diff of one before it is folded, and
 * so is what does not change, unless there is something else to tell about it.
 */
export function arrange(applications: readonly ApplicationPlan[]): readonly Arranged[] {
  const comesFirst = (one: ApplicationPlan) => isDangerous(one) || hasFailedCheck(one);
  const dangerous = applications.filter(comesFirst);
  const safe = applications.filter((one) => !comesFirst(one));
  const unchanged = safe.filter(isQuiet);
  const others = unchanged.length < 2 ? safe : safe.filter((one) => !isQuiet(one));
  const firsts = new Map<string, EvaluatedPlan>();
  const repeated = new Map<ApplicationName, Placed[]>();
  const place = (plan: ApplicationPlan): readonly Placed[] => {
    const key = keyOf(plan);
    const sameAs = key === undefined ? undefined : firsts.get(key);
    if (key !== undefined && sameAs === undefined && plan.kind === "evaluated") firsts.set(key, plan);
    if (sameAs === undefined || isDangerous(plan) || tellsMore(plan)) return [{ plan, sameAs }];
    repeated.set(sameAs.application, [...(repeated.get(sameAs.application) ?? []), { plan, sameAs }]);
    return [];
  };
  const [first, rest] = [dangerous.flatMap(place), others.flatMap(place)];
  const alone = (placed: Placed): Arranged => ({ kind: "alone", ...placed });
  const repeating = ({ plan: { application } }: Placed): readonly Arranged[] => {
    const placed = repeated.get(application) ?? [];
    return placed.length === 0 ? [] : [{ kind: "folded", title: `${placed.length} more with the same change`, placed }];
  };
  const quiet = unchanged.map((plan): Placed => ({ plan, sameAs: undefined }));
  return [
    ...first.map(alone),
    ...first.flatMap(repeating),
    ...rest.flatMap((one) => [alone(one), ...repeating(one)]),
    ...(quiet.length < 2 ? [] : [{ kind: "folded", title: `${quiet.length} without changes`, placed: quiet } as const]),
  ];
}

/** Proven unchanged, and there is nothing else to tell about it. */
function isQuiet(plan: ApplicationPlan): boolean {
  if (plan.kind !== "evaluated" || plan.verdict !== "unchanged" || plan.writesDefinition) return false;
  const { resources, onlyCommit } = plan.diff;
  return resources.length === 0 && onlyCommit.length === 0 && plan.lock.kind !== "held" && !tellsMore(plan);
}

/** There is something to read besides the diff. */
function tellsMore(plan: ApplicationPlan): boolean {
  if (plan.warnings.length > 0) return true;
  if (plan.kind !== "evaluated") return false;
  if (hasFailedCheck(plan)) return true;
  return plan.definition !== undefined || plan.diff.secrets.length > 0 || driftOf(plan.diff).length > 0;
}

function keyOf(plan: ApplicationPlan): string | undefined {
  return plan.kind === "evaluated" ? diffKey(plan.diff.resources) : undefined;
}

/** Equal for the same diff, whatever the names of the objects; undefined where nobody can tell. */
export function diffKey(resources: readonly ResourceChange[]): string | undefined {
  // The values of Secrets are in no diff.
  if (resources.length === 0 || resources.some(({ whole, kind }) => !whole || kind === "Secret")) return undefined;
  return JSON.stringify(resources.map(({ action, kind, hook, diff }) => [action, kind, hook, diff]));
}
