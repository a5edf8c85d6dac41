import { type Branches, movingPositions } from "../detect/inputs/moving-sources.js";
import { type LiveApplication, type Standing, syncsItself } from "../model/application.js";
import type { Revision } from "../model/brand.js";
import { type FollowedApplication, hasFailed, type RolloutState } from "../model/rollout.js";
import { digestOf } from "./members.js";

/** What a look at an application needs to know besides what Argo CD says. */
export interface RolloutLook {
  readonly change: Branches;
  readonly merged: Revision;
  /** Whether a commit is the merged one, or holds it. */
  readonly holds: (commit: string) => Promise<boolean>;
  readonly now: Date;
}

type Verdict = Pick<RolloutState, "kind" | "why" | "message">;

/** How far an application has come. @param live undefined if Argo CD does not have it. */
export async function lookAtRollout(
  one: FollowedApplication,
  live: LiveApplication | undefined,
  look: RolloutLook,
): Promise<RolloutState> {
  const verdict = one.goal === "go" ? goneVerdict(live) : await runVerdict(one, live, look);
  return stateAfter(one, verdict, look.now);
}

function stateAfter({ state: before }: FollowedApplication, verdict: Verdict, now: Date): RolloutState {
  // Argo CD may say it in other words: what has failed has failed already.
  if (verdict.kind === "failing" && before.kind === "failed") return { ...before, ...verdict, kind: "failed" };
  const state = { ...verdict, since: before.kind === verdict.kind ? before.since : now.toISOString() };
  return hasFailed({ state }, now) ? { ...state, kind: "failed" } : state;
}

function goneVerdict(live: LiveApplication | undefined): Verdict {
  if (live === undefined) return { kind: "reached", why: "is gone" };
  if (live.deleting) return { kind: "waiting", why: "is being deleted" };
  return { kind: "waiting", why: "is still there: if nothing deletes it by itself, delete it in Argo CD" };
}

async function runVerdict(
  { existed, healthy, definition }: FollowedApplication,
  live: LiveApplication | undefined,
  { change, merged, holds }: RolloutLook,
): Promise<Verdict> {
  if (live === undefined && existed) {
    return { kind: "failing", why: "is not in Argo CD any more: it was deleted or renamed after the merge" };
  }
  if (live === undefined) {
    const why = "is not in Argo CD yet: if nothing applies its definition by itself, apply it, or sync its parent";
    return { kind: "waiting", why };
  }
  if (live.deleting) return { kind: "failing", why: "is being deleted" };
  // The set's controller takes auto-sync out of what it syncs in steps.
  if (definition !== undefined && live.setStrategy !== "rolling" && digestOf(live.spec) !== definition) {
    return { kind: "waiting", why: "does not have its new definition yet: what applies it has to be synced" };
  }
  const { sync, health, phase, message, errors } = live.standing ?? NOTHING_KNOWN;
  const [error] = errors;
  if (error !== undefined) return { kind: "failing", why: "has an error in Argo CD", message: error };
  const own = movingPositions(live.spec, change).map((position) => live.comparedRevisions[position - 1]);
  const compared = await Promise.all(own.map(async (commit) => commit !== undefined && holds(commit)));
  if (compared.includes(false)) return { kind: "waiting", why: `was not compared with ${short(merged)} yet` };
  const at = own[0] === undefined ? "" : ` at ${short(own[0])}`;
  if (phase === "Running" || phase === "Terminating") return { kind: "waiting", why: `is being synced${at}` };
  if (sync === "Synced") {
    const isGood = health === "Healthy" || health === "Suspended";
    if (isGood || !healthy) return { kind: "reached", why: `runs${at}` };
    return {
      kind: health === "Degraded" ? "failing" : "waiting",
      why: `is synced${at}, and ${health || "not healthy"}`,
    };
  }
  if (phase === "Failed" || phase === "Error") return { kind: "failing", why: `could not be synced${at}`, message };
  if (sync === "OutOfSync" && !syncsItself(live)) {
    return { kind: "manual", why: "is synced by nothing by itself: whoever may sync it in Argo CD has to" };
  }
  return { kind: "waiting", why: `is ${sync === "" ? "not compared" : sync}${at}` };
}

const NOTHING_KNOWN: Standing = { sync: "", health: "", phase: "", message: "", errors: [] };

function short(commit: string): string {
  return commit.slice(0, 8);
}

/** What an application is once time is up, or nothing more is expected. */
export function atEnd(one: FollowedApplication): FollowedApplication {
  const { state } = one;
  return state.kind === "waiting" || state.kind === "failing" ? { ...one, state: { ...state, kind: "failed" } } : one;
}
