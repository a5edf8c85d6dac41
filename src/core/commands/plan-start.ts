import type { ApplicationName } from "../model/brand.js";
import type { LockAttempt } from "../model/lock.js";
import type { LiveSubject, Subject } from "../model/subject.js";
import type { CommandContext } from "../ports/context.js";
import { createRenderLine, type RenderedSides } from "../render/render.js";
import { acquireOne } from "./plan-locks.js";

/** The beginning of a plan: its locks and the renders of its heads, each application once. */
export interface PlanStart {
  /** Locks the application and then, whoever holds the lock, sends the render of its head on its way. */
  begin(subject: Subject): void;
  /** Both sides of all that were begun, once all are locked and their heads on their way. @throws what hindered one. */
  rendered(): Promise<ReadonlyMap<LiveSubject, Promise<RenderedSides>>>;
  /** Begins nothing more, whoever still asks for it; resolves when no lock is being taken any more. */
  end(): Promise<void>;
}

/** `locks` receives every attempt. */
export function createPlanStart(locks: Map<ApplicationName, LockAttempt>, context: CommandContext): PlanStart {
  const renders = createRenderLine(context);
  const begun = new Map<Subject, Promise<void>>();
  let over = false;

  async function lockAndRender(subject: Subject): Promise<void> {
    await acquireOne(subject, locks, context);
    if (subject.kind !== "live") return;
    await renders.begin({ subject, locked: locks.get(subject.name)?.kind === "acquired" });
  }

  return {
    begin(subject) {
      if (over || begun.has(subject)) return;
      const beginning = lockAndRender(subject);
      // Heard by `rendered`; until then a failure must not end the process.
      beginning.catch(() => undefined);
      begun.set(subject, beginning);
    },
    async rendered() {
      await Promise.all(begun.values());
      return renders.finish();
    },
    async end() {
      over = true;
      await Promise.allSettled(begun.values());
    },
  };
}
