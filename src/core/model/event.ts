import type { ApplicationName, Revision } from "./brand.js";
import {
  type ChangeRequest,
  changeRequestRef,
  type ChangeRequestRef,
  type HeadRef,
  identityKey,
  type User,
} from "./change-request.js";
import type { NextStage } from "./stage.js";

/** What a webhook reported, as plain JSON: a trigger, never a source of facts. */
export type HostEvent = EventOrigin &
  (
    | ChangeUpdated
    | PlanWanted
    | ChangeClosed
    | CommentCreated
    | ReviewChanged
    | HeadApproved
    | TurnCame
    | LockLost
    | Marked
    | GroupFormed
    | RolloutMoved
    | StageDue
  );

/** The compiler names a kind that is missing. */
const KINDS: Readonly<Record<HostEvent["kind"], true>> = {
  updated: true,
  "plan-wanted": true,
  closed: true,
  commented: true,
  reviewed: true,
  approved: true,
  turn: true,
  "lock-lost": true,
  marked: true,
  "merge-group": true,
  rollout: true,
  "stage-due": true,
};

/** Every kind of event. */
export const EVENT_KINDS = Object.keys(KINDS) as readonly HostEvent["kind"][];

interface EventOrigin {
  /** The host's delivery id, `<host>-<guid>`; a repeated delivery has the same. */
  readonly delivery: string;
  readonly change: ChangeRequestRef;
  /** W3C trace context of the webhook, which the run continues; absent while traces are not exported. */
  readonly traceparent?: string;
}

/** The change request is to be planned again. */
interface ChangeUpdated {
  readonly kind: "updated";
  readonly reason: "opened" | "reopened" | "pushed" | "ready" | "retargeted";
  /** The pushed head, if the event names it. svc fetches it early, and waits up to seven seconds for the host's API to report it. */
  readonly pushed?: Revision | undefined;
}

/** Somebody asked for a head that the event of its push does not plan. No newer update takes its place. */
interface PlanWanted {
  readonly kind: "plan-wanted";
}

/** Closed without a merge, or merged. */
interface ChangeClosed {
  readonly kind: "closed";
}

/** A new comment on the change request. */
interface CommentCreated {
  readonly kind: "commented";
  readonly commentId: string;
  readonly body: string;
  readonly author: User;
  /** Only of a comment that was found on the host, since its webhook was lost, or whose run is begun again long after it failed. */
  readonly found?: FoundComment;
}

export interface FoundComment {
  /** When the comment was written: ISO 8601. */
  readonly writtenAt: string;
  /** Another command followed it on the same change request. */
  readonly overtaken: boolean;
}

/** Locks that the change request waits for were released, and it is first in line. */
export interface TurnCame {
  readonly kind: "turn";
  readonly applications: readonly ApplicationName[];
  /** The change request that had the locks; absent if that is not known. */
  readonly after?: ChangeRequestRef;
}

/** An administrator released locks of the change request. */
export interface LockLost {
  readonly kind: "lock-lost";
  readonly applications: readonly ApplicationName[];
  /** Their name on svc's pages. */
  readonly by: string;
  /** The applications among these that others waited for: the change request is the first in the queue after one of them. */
  readonly waits: readonly ApplicationName[];
}

/** What the change request shows may be out of date. */
export interface Marked {
  readonly kind: "marked";
  /** That of the mark. */
  readonly turn: number;
  /** The mark was set because of what somebody else did, so nobody waits for it. */
  readonly patient?: boolean;
}

/** A merge queue wants to know whether it may merge a group. The change request is the last one of it. */
export interface GroupFormed extends Pick<ChangeRequest, "headRevision" | "baseRevision" | "baseBranch"> {
  readonly kind: "merge-group";
}

/** Argo CD lists applications of a rollout otherwise than at the last look, or time is up. */
export interface RolloutMoved {
  readonly kind: "rollout";
  /** `line` as `lineText`. */
  readonly moved: readonly { readonly application: ApplicationName; readonly line: string }[];
}

/** A sync that goes on by itself may begin its next stage. */
interface StageDue {
  readonly kind: "stage-due";
  readonly next: NextStage;
}

/** A branch of a repository got commits, whichever change requests it concerns. */
export interface BranchPushed extends Omit<ChangeRequestRef, "number"> {
  readonly kind: "branch-pushed";
  readonly branch: string;
  /** It is the repository's default branch. */
  readonly isDefault: boolean;
}

/** A review or an approval was given or withdrawn. */
interface ReviewChanged {
  readonly kind: "reviewed";
}

/** The approval that was waited for came, and it starts a sync of this head. No event of a host. */
export interface HeadApproved {
  readonly kind: "approved";
  readonly headRevision: Revision;
  /** That of the plan that was approved. */
  readonly plannedAt: string;
  readonly by: User;
}

/** The event of a head that no webhook told of; however often the head is found, the queue takes it once. */
export function foundHead(head: HeadRef): HostEvent {
  const delivery = `found-head-${identityKey(head)}-${head.headRevision}`;
  const pushed = head.headRevision;
  return { kind: "updated", reason: "pushed", pushed, delivery, change: changeRequestRef(head) };
}
