import type { ApplicationName } from "../model/brand.js";
import { listed } from "../model/host-words.js";
import { isPlanOf, type Plan, type RenderDigest, type Unpinned } from "../model/plan/plan.js";
import type { LiveSubject } from "../model/subject.js";
import type { Facts } from "../policy/facts.js";
import { differingObjects, digestOfRender, type DigestSource } from "../render/digest-render.js";
import { type RenderSource, renderHead, renderInputs } from "../render/render.js";

const MOST_NAMED = 5;

/**
 * Renders again what inputs that no content pins would make of the head now, and compares it with the plan: why the plan is
 * stale, by application. Renders nothing of applications whose inputs are pinned.
 */
export async function renderedOtherwise(
  subjects: readonly LiveSubject[],
  plan: Plan | undefined,
  context: RenderSource & DigestSource,
): Promise<ReadonlyMap<ApplicationName, string>> {
  const found = await Promise.all(
    subjects.map(async (subject) => [subject.name, await differenceOf(subject, plan, context)] as const),
  );
  return new Map(found.flatMap(([name, sentence]) => (sentence === undefined ? [] : [[name, sentence] as const])));
}

/** The facts with what makes plans stale. */
export function withMoved(facts: Facts, moved: ReadonlyMap<ApplicationName, string> | undefined): Facts {
  if (moved === undefined || moved.size === 0) return facts;
  return {
    ...facts,
    applications: facts.applications.map((one) => {
      const { application, now } = one;
      return now === undefined ? one : { ...one, now: { ...now, moved: now.moved ?? moved.get(application) } };
    }),
  };
}

async function differenceOf(
  subject: LiveSubject,
  plan: Plan | undefined,
  context: RenderSource & DigestSource,
): Promise<string | undefined> {
  const inputs = await renderInputs("head", subject, context);
  if (inputs.unpinned.length === 0) return undefined;
  const reads = `it reads ${listed(inputs.unpinned, MOST_NAMED)}`;
  const planned = plannedOf(subject, plan, context);
  if (planned === undefined) return `${reads}, and the plan does not say what that made of this commit`;
  const digest = async (): Promise<RenderDigest | string> => {
    const outcome = await renderHead(subject, inputs, context);
    return outcome.kind === "failed" ? outcome.reason : digestOfRender(subject, outcome.rendered, context);
  };
  const now = await digest();
  if (typeof now === "string") return `${reads}, and could not be rendered again: ${now}`;
  if (now.whole === planned.rendered.whole) return undefined;
  const again = await digest();
  if (typeof again !== "string" && again.whole !== now.whole) {
    const which = objects(differingObjects(now, again));
    return `${reads}, and ${which} differs each time that it is rendered, so svc cannot tell whether it is what was planned. Take what differs (random values, times) out of the manifests, or pin what it reads by a commit or a digest`;
  }
  return `${reads}, and that changed since the plan: ${objects(differingObjects(planned.rendered, now))} would be another one than planned`;
}

function objects(titles: readonly string[]): string {
  return titles.length === 0 ? "one of its objects" : listed(titles, MOST_NAMED);
}

function plannedOf(
  { name }: LiveSubject,
  plan: Plan | undefined,
  { change }: Pick<RenderSource, "change">,
): Unpinned | undefined {
  if (!isPlanOf(plan, change)) return undefined;
  const one = plan.applications.find(({ application }) => application === name);
  return one?.kind === "evaluated" ? one.unpinned : undefined;
}
