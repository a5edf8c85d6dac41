import type { Standing, Destination } from "./application.js";
import type { ApplicationName, Revision } from "./brand.js";
import type { ChangeRequestRef } from "./change-request.js";
import type { Deployment } from "./deployment.js";
import type { Member } from "./effect.js";
import { type ApplicationPlan, changesNothing, type Plan } from "./plan/plan.js";

/** What takes effect at the merge of a change request, followed until it is rolled out or time is up. */
export interface Rollout {
  readonly change: ChangeRequestRef;
  /** The commit of the base branch that holds the merge. */
  readonly merged: Revision;
  /** ISO 8601. */
  readonly since: string;
  /** When it is no longer waited for. ISO 8601. */
  readonly until: string;
  /** Undefined while it is followed. ISO 8601. */
  readonly ended: string | undefined;
  /** Whether the merged head had the approval that the rules require of it. */
  readonly approval: "given" | "missing" | "unknown";
  readonly applications: readonly FollowedApplication[];
  /** What svc had deployed of the head before the merge, which ends its records. */
  readonly deployed: readonly Pick<Deployment, "application" | "outcome" | "user" | "timestamp" | "seconds">[];
}

/** An application that the plan said takes effect at the merge. */
export interface FollowedApplication {
  readonly application: ApplicationName;
  /** `run` the merged commit, or `go`. */
  readonly goal: "run" | "go";
  /** For people: `new`, `auto-synced`, `child of root`. */
  readonly origin: string;
  /** It must get healthy, too. */
  readonly healthy: boolean;
  /** Argo CD has had it, so that its absence means that it was deleted or renamed. */
  readonly existed: boolean;
  /** At the merge Argo CD could not compare it, or called it Degraded. */
  readonly wasBroken?: boolean | undefined;
  /** Digest of the definition that the merge gives it; undefined if that stays, or is all that makes it. */
  readonly definition?: string | undefined;
  /** How Argo CD listed it when it was looked at last (`lineText`); undefined before the first look. */
  readonly seen?: string | undefined;
  readonly destination?: Destination | undefined;
  readonly state: RolloutState;
}

export interface RolloutState {
  /** `failing` becomes `failed` if it stays so for `FAILS_AFTER_MS`; `manual` waits for somebody who syncs it. */
  readonly kind: "waiting" | "reached" | "failing" | "failed" | "manual";
  /** Completes the application's name. */
  readonly why: string;
  /** What Argo CD said; untrusted. */
  readonly message?: string | undefined;
  /** Since when it has this kind. ISO 8601. */
  readonly since: string;
}

/** How Argo CD lists an application. */
export interface RolloutLine extends Pick<Standing, "sync" | "health" | "phase"> {
  /** Empty with several sources, and in old versions. */
  readonly revision: string;
  readonly deleting: boolean;
}

/** Argo CD tries a sync again by itself, and what starts is often Degraded at first. */
export const FAILS_AFTER_MS = 2 * 60_000;

/** Tells lines apart; empty for an application that is not there. */
export function lineText(line: RolloutLine | undefined): string {
  if (line === undefined) return "";
  return [line.sync, line.health, line.phase, line.revision, line.deleting ? "deleting" : ""].join(" ");
}

/** Whether to look at an application although the list shows nothing new: neither several commits nor its definition are in it. */
export function isHidden(
  { definition }: Pick<FollowedApplication, "definition">,
  line: RolloutLine | undefined,
): boolean {
  return line?.sync === "Synced" && (line.revision === "" || definition !== undefined);
}

/** Whether nothing more is expected of it. */
export function isSettled({ state: { kind } }: Pick<FollowedApplication, "state">): boolean {
  return kind === "reached" || kind === "failed" || kind === "manual";
}

/** Whether it has been failing for so long that people have to know. */
export function hasFailed({ state: { kind, since } }: Pick<FollowedApplication, "state">, now: Date): boolean {
  return kind === "failing" && now.getTime() - Date.parse(since) >= FAILS_AFTER_MS;
}

type Expected = Pick<FollowedApplication, "application" | "goal" | "origin" | "existed" | "definition">;

/**
 * What the plan said that the merge does: new, deleted and auto-synced applications with those that they apply, what
 * ApplicationSets generate, and what svc would have deployed and nobody let it. Left out is what a set's policy keeps.
 * @param deployed what runs the head already.
 */
export function expectedIn(plan: Plan, deployed: ReadonlySet<ApplicationName>): readonly Expected[] {
  const planned = plan.applications.flatMap((one) => [...ofPlanned(one, deployed), ...ofMembers(one)]);
  const generated = plan.applicationSets
    .filter(({ appliedBy }) => appliedBy === undefined)
    .flatMap(({ name, added, changed, removed, members, keepsRemoved }) => {
      const known = members.flatMap(ofReached);
      const rest = [...added, ...changed, ...removed].map((application): Expected => {
        const goal = removed.includes(application) ? "go" : "run";
        return { application, goal, origin: `generated by ${name}`, existed: !added.includes(application) };
      });
      return [...known, ...rest].filter(({ goal }) => goal === "run" || keepsRemoved !== true);
    });
  const found = new Map<ApplicationName, Expected>();
  for (const one of [...planned, ...generated]) if (!found.has(one.application)) found.set(one.application, one);
  return [...found.values()];
}

function ofPlanned(one: ApplicationPlan, deployed: ReadonlySet<ApplicationName>): readonly Expected[] {
  const { application, kind, atMerge, effect } = one;
  if (kind === "new") return [{ application, goal: "run", origin: "new", existed: false }];
  if (kind === "deleted") return [{ application, goal: "go", origin: "deleted", existed: true }];
  if (kind === "unplanned" || changesNothing(one)) return [];
  if (atMerge === undefined && deployed.has(application)) return [];
  const barred = atMerge === undefined ? "not deployed before the merge" : "not deployed by svc";
  const origin = one.autoSynced === true ? "auto-synced" : barred;
  const definition = effect.members.find(isDirectChange)?.digest;
  return [{ application, goal: "run", origin, existed: true, definition }];
}

function isDirectChange({ reachedBy, definition }: Member): boolean {
  return reachedBy.kind === "direct" && definition.kind === "changed";
}

/** What is applied by an application that the merge itself deploys. */
function ofMembers({ kind, atMerge, effect }: ApplicationPlan): readonly Expected[] {
  if (kind !== "new" && atMerge === undefined) return [];
  return effect.members.flatMap(ofReached);
}

function ofReached(member: Member): readonly Expected[] {
  const { reachedBy } = member;
  if (reachedBy.kind === "direct") return [];
  return ofMember(member, reachedBy.kind === "child" ? `child of ${reachedBy.of}` : `generated by ${reachedBy.by}`);
}

function ofMember({ application, definition, digest }: Member, origin: string): readonly Expected[] {
  switch (definition.kind) {
    case "new":
      return [{ application, goal: "run", origin, existed: false }];
    case "changed":
      return [{ application, goal: "run", origin, existed: true, definition: digest }];
    case "removed":
      return [{ application, goal: "go", origin, existed: true }];
    case "unchanged":
    case "unknown":
      return [];
  }
}
