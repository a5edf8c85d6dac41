import type { ChangedApplicationSet } from "../../detect/scan/application-sets.js";
import type { Application, LiveApplication } from "../../model/application.js";
import type { ApplicationName } from "../../model/brand.js";
import { allInTurns } from "../../model/in-turns.js";
import type { Preview, PreviewOrigin } from "../../model/plan.js";
import type { DrivingSource } from "../driving-right.js";
import type { PreviewOrder, Previews } from "../previews.js";
import type { Survey } from "../survey.js";
import { twice, type Expansion, policyOf } from "./application-set-notes.js";
import { generatedObstacle, isOwnedBy } from "./generated-applications.js";

/** An application that an ApplicationSet changes and that the plan shows only as a preview. */
export interface ChangeToPreview {
  readonly application: ApplicationName;
  readonly origin: PreviewOrigin;
  readonly set: ChangedApplicationSet;
  /** Undefined for one that is removed. */
  readonly head: Application | undefined;
  readonly base: Application | undefined;
}

/** A survey, and what ApplicationSets do to applications that are no subjects of it. */
export interface WithGenerated {
  readonly found: Survey;
  readonly toPreview: readonly ChangeToPreview[];
  /** Changed applications for which the plan has no room. */
  readonly beyond: readonly Preview[];
}

/**
 * What sets add and delete, and what they change of applications that Argo CD does not list: those that run and change are
 * subjects of the plan. Left out is what a note of the set explains: applications that its policy keeps, that run already or
 * that it generates twice, and everything if it is unknown which set Argo CD runs.
 */
export function changesToPreview(
  expansions: readonly Expansion[],
  live: Pick<ReadonlySet<ApplicationName>, "has">,
): readonly ChangeToPreview[] {
  const generated = new Set(expansions.flatMap(({ head }) => head.map(({ name }) => name)));
  return expansions
    .filter(({ set }) => set.alsoIn.length === 0)
    .flatMap(({ set, comparison, ...sides }) => {
      const [base, head] = [byName(sides.base), byName(sides.head)];
      const policy = set.head === undefined ? undefined : policyOf(set.head);
      const repeated = new Set(twice(sides.head));
      const as = (change: PreviewOrigin["change"], names: readonly ApplicationName[]) =>
        names.map((application) => ({
          application,
          origin: { kind: "generated", of: set.name, change } as const,
          set,
          head: head.get(application),
          base: base.get(application),
        }));
      const absent = (name: ApplicationName) => !live.has(name) && !repeated.has(name);
      const removed = policy === undefined || policy.deletes ? comparison.removed : [];
      return [
        ...as(
          "removed",
          removed.filter((name) => live.has(name) && !generated.has(name)),
        ),
        ...as("changed", policy?.updates === true ? comparison.changed.filter(absent) : []),
        ...as("added", comparison.added.filter(absent)),
      ];
    });
}

function byName(applications: readonly Application[]): ReadonlyMap<ApplicationName, Application> {
  return new Map(applications.map((one) => [one.name, one]));
}

/** Shows what becomes of the objects of the applications that sets make, or no longer do. */
export async function previewGenerated(
  { found, toPreview, beyond }: WithGenerated,
  previews: Previews,
  context: DrivingSource,
): Promise<readonly Preview[]> {
  const shown = await allInTurns(toPreview, async (one): Promise<Preview> => {
    const { content } = await previews.preview(previewOrder(one, found, context));
    return { application: one.application, origin: one.origin, content };
  });
  return [...shown, ...beyond];
}

/** The preview to make of one application of a set. */
export function previewOrder(one: ChangeToPreview, found: Survey, context: DrivingSource): PreviewOrder {
  const { application, set, head, base } = one;
  if (head !== undefined) return { kind: "rendered", application: head, replaced: base };
  return { kind: "unread", name: application, read: () => findRemoved(application, set, found, context) };
}

/** What is deleted is shown only if this repository may drive it, as for any other application. */
async function findRemoved(
  name: ApplicationName,
  set: ChangedApplicationSet,
  found: Survey,
  context: DrivingSource,
): Promise<LiveApplication | string> {
  const live = await context.deployer.findApplication(name, context.signal);
  if (live === undefined) return "Argo CD does not know it any more";
  if (!isOwnedBy(live, set)) return "the ApplicationSet does not own it in Argo CD, and so does not delete it";
  return (await generatedObstacle(live, set, found, context)) ?? live;
}
