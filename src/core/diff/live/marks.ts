import type { ObjectAnswer } from "../../ports/deployer.js";
import { hasSyncOption } from "../hook.js";
import { type Mark, meanTheSame, type Sides } from "../summarise.js";
import type { FieldPath } from "./field-path.js";
import { ignoredOf, writesIgnored } from "./ignore-rules.js";
import { type InCluster, type ObjectAnswers, withAnswer } from "./live-objects.js";
import { type Applying, outcomeOf, pointedAt, takesAway } from "./live-outcome.js";

/** The changes against the target branch, those marked that a sync does not make, or may not make. */
export function withMarks(
  differing: ReadonlyMap<string, Sides>,
  answers: ObjectAnswers,
  applying: Applying,
): ReadonlyMap<string, Sides> {
  return new Map(
    [...differing].map(([key, sides]) => [key, { ...sides, mark: markOf(sides, answers[key], applying) }]),
  );
}

function markOf(sides: Sides, answer: ObjectAnswer | undefined, applying: Applying): Mark | undefined {
  const { identity, base, head, hook } = sides;
  const { ignored, syncOptions } = applying;
  if (base === undefined || head === undefined || hook || identity.name === "") return undefined;
  const respected = ignored.respected === "yes";
  const rules = ignored.respected === "no" ? NOTHING : ignoredOf(ignored, identity);
  // Without an answer the object may be missing in the cluster: a sync creates it with all of its fields.
  const one = answer && !writesIgnored(ignored, identity) ? withAnswer(sides, answer, respected) : undefined;
  const outcome = one && outcomeOf(one, applying);
  const left = outcome?.left ?? [];
  if (one !== undefined && outcome !== undefined && meanTheSame(outcome) && isExact(one, left, syncOptions)) {
    const why = left.length > 0 ? "Ignored by ignoreDifferences" : "The cluster already has what this says";
    return { left: true, text: `${why}: a sync leaves it.` };
  }
  if (left.length > 0) {
    return {
      left: false,
      text: `Ignored by ignoreDifferences: a sync leaves ${listed(left.map(({ text }) => text))}.`,
    };
  }
  const perhaps = [...pointedAt(rules, sides), ...rules.byArgoCd.map((member) => `what its ${member} select`)];
  if (perhaps.length === 0) return undefined;
  return { left: false, text: `Perhaps ignored by ignoreDifferences: a sync may leave ${listed(perhaps)}.` };
}

/**
 * Whether the outcome is what a sync does. Kubernetes' answer keeps what is taken away, a replaced object loses what others
 * wrote, and the commit's id changes although that counts as no change.
 */
function isExact(one: InCluster, left: readonly FieldPath[], syncOptions: readonly string[]): boolean {
  const { head } = one;
  return (
    !hasSyncOption(head, "Replace=true", syncOptions) &&
    !JSON.stringify(head).includes("<commit") &&
    !takesAway(one, left)
  );
}

const NOTHING = { pointers: [], byArgoCd: [] };

const MOST_PATHS = 5;
const LONGEST_PATH = 200;

/** In one line, since definitions write these paths. */
function listed(paths: readonly string[]): string {
  const shown = paths.slice(0, MOST_PATHS).map((path) => path.replace(/\s+/g, " ").slice(0, LONGEST_PATH));
  return [...shown, ...(paths.length > MOST_PATHS ? ["others"] : [])].join(" and ");
}
