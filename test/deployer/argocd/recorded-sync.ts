import { fixture } from "./fixture.js";
import type { Recorded } from "./fixture.js";

interface Exchange {
  readonly started: Recorded;
  readonly recorded: Recorded;
  readonly done: Recorded;
}
export function recorded(name: string): Exchange {
  const found = (fixture("sync") as Record<string, Exchange>)[name];
  if (found === undefined) throw new Error(name);
  return found;
}
export const waiting = (fixture("sync") as Record<string, Recorded>).waitingForRetry;
export const refreshed = (fixture("sync") as Record<string, Recorded>).refreshedRevision;

/** The recorded Application as if its operation had been started by this run. */
export function ofRun(application: Recorded | undefined, run = "run-1"): Recorded {
  const copy = structuredClone(application);
  if (copy === undefined) throw new Error("not recorded");
  const info = [{ name: "svc-run", value: run }];
  if (copy.operation !== undefined) copy.operation.info = info;
  const state = copy.status.operationState as { operation?: Record<string, unknown> } | undefined;
  if (state?.operation !== undefined) state.operation.info = info;
  return copy;
}
