import { withholdingOf, type WhyWithheld } from "../facts/approval.js";
import type { ApplicationName } from "../model/brand.js";
import type { LockAttempt } from "../model/lock.js";
import type { AnnouncedSubject, LiveSubject, Subject } from "../model/subject.js";
import type { CommandContext } from "../ports/context.js";
import { uncheckedPreview } from "../render/check-manifests.js";
import type { Previewed } from "../render/preview.js";
import { createRenderLine, type RenderedSides, type RenderSource } from "../render/render.js";
import type { Previews } from "../survey/previews.js";
import { acquireOne, type Locking } from "./plan-locks.js";

/** What became of a render. `withheld`: it waits for an approval of the head. */
export type Started = RenderedSides | { readonly kind: "withheld"; readonly reason: string };

/** Starts the locks and head renders of a plan, once per application. */
export interface PlanStart {
  /** Locks the application, then starts the render of its head, even if another change request holds the lock. */
  start(subject: Subject): void;
  /** What becomes of the objects of an application that is created or deleted; undefined if nothing does. */
  previewed(subject: AnnouncedSubject): Promise<Previewed> | undefined;
  /** Both sides of all started applications, once all are locked. @throws the first failure. */
  rendered(): Promise<ReadonlyMap<LiveSubject, Promise<Started>>>;
  /** Ignores later starts; resolves once no lock is being taken any more. */
  end(): Promise<void>;
}

/** What locks and renders the applications of a plan. */
type PlanStartSource = Locking & RenderSource;

/** @param locks receives every attempt; what it has already is not locked again. @param why decides about withheld renders. */
export function createPlanStart(
  locks: Map<ApplicationName, LockAttempt>,
  why: WhyWithheld,
  previews: Previews,
  context: PlanStartSource,
): PlanStart {
  const renders = createRenderLine(context);
  const started = new Map<Subject, Promise<void>>();
  const withheld = new Map<LiveSubject, Promise<Started>>();
  const previewed = new Map<AnnouncedSubject, Promise<Previewed>>();
  let over = false;

  async function lockAndRender(subject: Subject): Promise<void> {
    if (!locks.has(subject.name)) await acquireOne(subject, locks, context);
    if (subject.kind === "unreadable") return;
    if (subject.kind !== "live") {
      const shown = previewOf(subject, previews, context);
      // As above: the plan may end before it asks for it.
      shown?.catch(() => undefined);
      if (shown !== undefined) previewed.set(subject, shown);
      return;
    }
    const reason = await withholdingOf(subject, why, context);
    if (reason !== undefined) {
      withheld.set(subject, Promise.resolve({ kind: "withheld", reason }));
      return;
    }
    await renders.begin({ subject, locked: locks.get(subject.name)?.kind === "acquired" });
  }

  return {
    start(subject) {
      if (over || started.has(subject)) return;
      const starting = lockAndRender(subject);
      // `rendered` reports a failure; until then it must not end the process as an unhandled rejection.
      starting.catch(() => undefined);
      started.set(subject, starting);
    },
    previewed: (subject) => previewed.get(subject),
    async rendered() {
      await Promise.all(started.values());
      return new Map<LiveSubject, Promise<Started>>([...renders.finish(), ...withheld]);
    },
    async end() {
      over = true;
      await Promise.allSettled(started.values());
    },
  };
}

function previewOf(
  subject: AnnouncedSubject,
  previews: Previews,
  context: Pick<CommandContext, "checks">,
): Promise<Previewed> | undefined {
  switch (subject.kind) {
    case "new": {
      if (subject.definition !== undefined) {
        return previews.preview({ kind: "rendered", application: subject.definition, replaced: undefined });
      }
      const reason = subject.problem ?? "its definition could not be read";
      const content = uncheckedPreview(subject.name, { kind: "failed", reason }, context);
      return Promise.resolve({ content, facts: undefined });
    }
    case "deleted":
      return subject.live && previews.preview({ kind: "removed", live: subject.live });
  }
}
