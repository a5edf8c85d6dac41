import { type Branches, movingPositions } from "../detect/inputs/moving-sources.js";
import { digestOf, type LiveApplication, type Standing, syncsItself } from "../model/application.js";
import { type Revision, revision } from "../model/brand.js";
import { type FollowedApplication, hasFailed, type RolloutState } from "../model/rollout.js";

/** What a look at an application needs to know besides what Argo CD says. */
interface RolloutLook {
  readonly change: Branches;
  readonly merged: Revision;
  /** Whether a commit is the merged one, or holds it. */
  readonly holds: (commit: Revision) => Promise<boolean>;
  readonly now: Date;
}

type Verdict = Pick<RolloutState, "kind" | "why" | "message">;

/** The state of an application after the merge. @param live undefined if Argo CD does not have it. */
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
  { existed, healthy, definition, wasBroken = false }: FollowedApplication,
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
  if (definition !== undefined && live.outdated === true) {
    return { kind: "waiting", why: "was not compared with its new definition yet" };
  }
  const { sync, health, phase, message: said, errors } = live.standing ?? NOTHING_KNOWN;
  // Argo CD compares a source that follows the branch with commits of that branch alone, whatever is deployed meanwhile.
  const own = movingPositions(live.spec, change).map((position) => commitOf(live.comparedRevisions[position - 1]));
  const compared = await Promise.all(own.map(async (commit) => commit !== undefined && holds(commit)));
  const isCompared = !compared.includes(false);
  const notYet = { kind: "waiting", why: `was not compared with ${short(merged)} yet` } as const;
  // Its errors are of an earlier commit.
  if (!isCompared && !own.includes(undefined)) return notYet;
  const [message] = errors;
  const asBefore = wasBroken ? ", as before the merge" : "";
  if (message !== undefined) {
    // Where Argo CD cannot make the manifests, it may not say of which commit.
    if (wasBroken && !isCompared) return { kind: "waiting", why: `has an error in Argo CD${asBefore}`, message };
    return { kind: "failing", why: "has an error in Argo CD", message };
  }
  if (!isCompared) return notYet;
  const at = own[0] === undefined ? "" : ` at ${short(own[0])}`;
  if (phase === "Running" || phase === "Terminating") return { kind: "waiting", why: `is being synced${at}` };
  if (sync === "Synced") {
    const isGood = health === "Healthy" || health === "Suspended";
    if (isGood || !healthy) return { kind: "reached", why: `runs${at}` };
    if (health === "Degraded") {
      return { kind: wasBroken ? "waiting" : "failing", why: `is synced${at}, and Degraded${asBefore}` };
    }
    return { kind: "waiting", why: `is synced${at}, and ${health || "not healthy"}` };
  }
  // Before its last operation, which may be of an earlier commit.
  if (sync === "OutOfSync" && !syncsItself(live)) {
    return { kind: "manual", why: "has no auto-sync: whoever may sync it in Argo CD has to do so" };
  }
  if (phase === "Failed" || phase === "Error") {
    return { kind: "failing", why: `could not be synced${at}`, message: said };
  }
  return { kind: "waiting", why: `is ${sync === "" ? "not compared" : sync}${at}` };
}

/** Argo CD may have the name of the branch in its place. */
function commitOf(compared = ""): Revision | undefined {
  return /^[0-9a-f]{40}$/.test(compared) ? revision(compared) : undefined;
}

const NOTHING_KNOWN: Standing = { sync: "", health: "", phase: "", message: "", errors: [] };

function short(commit: string): string {
  return commit.slice(0, 8);
}
