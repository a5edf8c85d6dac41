import type { ObjectAnswer } from "../../ports/deployer.js";
import { hasSyncOption } from "../hook.js";
import { type Mark, meanTheSame, type Sides } from "../summarise.js";
import { ignoredOf } from "./ignore-rules.js";
import { withAnswer } from "./live-objects.js";
import { type Applying, outcomeOf, pointedAt } from "./live-outcome.js";

/** What Kubernetes answered about objects of the cluster, by `keyOf`. */
export type ObjectAnswers = Readonly<Record<string, ObjectAnswer>>;

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
  if (ignored.respected === "no") return undefined;
  const rules = ignoredOf(ignored, identity);
  // Without an answer the object may be missing in the cluster: a sync creates it with all of its fields.
  const outcome = answer && outcomeOf(withAnswer(sides, answer), applying);
  const left = outcome?.left ?? [];
  if (outcome !== undefined && left.length > 0) {
    const replaced = hasSyncOption(head, "Replace=true", syncOptions);
    const all = meanTheSame(outcome) && !replaced;
    return { left: all, text: `Ignored by ignoreDifferences: a sync leaves ${all ? "it" : listed(left)}.` };
  }
  const perhaps = [...pointedAt(rules, sides), ...rules.byArgoCd.map((member) => `what its ${member} select`)];
  if (perhaps.length === 0) return undefined;
  return { left: false, text: `Perhaps ignored by ignoreDifferences: a sync may leave ${listed(perhaps)}.` };
}

const MOST_PATHS = 5;
const LONGEST_PATH = 200;

/** In one line, since definitions write these paths. */
function listed(paths: readonly string[]): string {
  const shown = paths.slice(0, MOST_PATHS).map((path) => path.replace(/\s+/g, " ").slice(0, LONGEST_PATH));
  return [...shown, ...(paths.length > MOST_PATHS ? ["others"] : [])].join(" and ");
}
