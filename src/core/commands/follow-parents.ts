import type { RenderFacts } from "../diff/render-facts.js";
import type { ApplicationName } from "../model/brand.js";
import { allInTurns } from "../model/in-turns.js";
import type { ApplicationPlan } from "../model/plan.js";
import { specEqual } from "../model/spec-equality.js";
import type { AnnouncedSubject, Subject } from "../model/subject.js";
import type { CommandContext } from "../ports/context.js";
import type { Parent } from "../survey/child-previews.js";
import { followedChildren } from "../survey/followed-children.js";
import type { Survey } from "../survey/survey.js";
import type { PlanStart } from "./plan-start.js";

/** The subjects of a plan, and the plan of each in the same order. */
interface Planned {
  readonly subjects: readonly Subject[];
  readonly evaluated: readonly ApplicationPlan[];
}

interface Replanning {
  /** Renders and compares subjects that are locked already. */
  readonly evaluate: (subjects: readonly Subject[]) => Promise<readonly ApplicationPlan[]>;
  readonly context: CommandContext;
}

/** Applications of applications of applications; more levels are a circle. */
const MAX_LEVELS = 8;

/**
 * Plans the children whose definition the head of their parent changes with that definition, level by level: what a child
 * applies may change as well.
 * @param facts what the renders say; those of children that are planned again are replaced.
 */
export async function followParents(
  { subjects, evaluated }: Planned,
  facts: Map<ApplicationName, RenderFacts>,
  { everyApplication }: Survey,
  { evaluate, context }: Replanning,
): Promise<Planned> {
  let planned: Planned = { subjects, evaluated };
  for (let level = 0; ; level += 1) {
    const followed = await followedChildren(planned.subjects, facts, everyApplication, context);
    if (followed.size === 0) break;
    const again = [...followed.values()].map((one) => (level < MAX_LEVELS ? one : inCircle(one)));
    for (const { name } of again) facts.delete(name);
    planned = replaced(planned, again, await evaluate(again));
  }
  const nameOf = await context.deployer.naming();
  const appliesItself = ({ application }: ApplicationPlan) =>
    facts
      .get(application)
      ?.children.some(
        ({ namespace, name, base, head }) =>
          head !== undefined && nameOf(namespace, name) === application && !(base && specEqual(base, head)),
      ) === true;
  return {
    subjects: planned.subjects,
    evaluated: planned.evaluated.map((one) =>
      appliesItself(one) ? { ...one, warnings: [...one.warnings, APPLIES_ITSELF] } : one,
    ),
  };
}

/** The applications whose children are known, those to come included. */
export async function parentsOf(
  subjects: readonly Subject[],
  start: PlanStart,
  facts: ReadonlyMap<ApplicationName, RenderFacts>,
): Promise<readonly Parent[]> {
  const found = await allInTurns(subjects, async (subject): Promise<readonly Parent[]> => {
    const known = facts.get(subject.name) ?? (isAnnounced(subject) && (await start.previewed(subject))?.facts);
    return known ? [[subject.name, known]] : [];
  });
  return found.flat();
}

function isAnnounced(subject: Subject): subject is AnnouncedSubject {
  return subject.kind === "new" || subject.kind === "deleted";
}

function replaced(planned: Planned, subjects: readonly Subject[], plans: readonly ApplicationPlan[]): Planned {
  const subjectOf = new Map(subjects.map((one) => [one.name, one]));
  const planOf = new Map(plans.map((one) => [one.application, one]));
  return {
    subjects: planned.subjects.map((one) => subjectOf.get(one.name) ?? one),
    evaluated: planned.evaluated.map((one) => planOf.get(one.application) ?? one),
  };
}

/** Nothing is rendered of it any more, so that the next level has nothing to follow. */
function inCircle({ name, sourceFile }: Subject): Subject {
  return { kind: "unreadable", name, sourceFile, definition: undefined, problem: CIRCLE };
}

const CIRCLE =
  "its definition comes from applications that define each other, so that each render changes the next: take one of them out of the other's manifests";
const APPLIES_ITSELF =
  "applies a changed definition of itself: this is what its present definition makes of the commit. Plan again after its sync to see what the new one does";
