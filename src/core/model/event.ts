import type { ChangeRequestRef } from "./change-request.js";
import type { User } from "./user.js";

/** What a webhook told, as plain JSON: a trigger, never a source of facts. */
export type HostEvent = EventOrigin & (ChangeUpdated | ChangeClosed | CommentCreated | ReviewChanged);

export interface EventOrigin {
  /** The host's delivery id, the same for a repeated delivery: `hosta-<guid>`. */
  readonly delivery: string;
  readonly change: ChangeRequestRef;
  /** W3C trace context of the webhook, so that the run belongs to its trace; only while traces are exported. */
  readonly traceparent?: string;
}

/** The change request is to be planned again. */
export interface ChangeUpdated {
  readonly kind: "updated";
  readonly reason: "opened" | "reopened" | "pushed" | "ready" | "retargeted";
}

/** Closed without a merge, or merged. */
export interface ChangeClosed {
  readonly kind: "closed";
  readonly merged: boolean;
}

/** Somebody wrote a new comment on the change request. */
export interface CommentCreated {
  readonly kind: "commented";
  readonly commentId: string;
  readonly body: string;
  readonly author: User;
}

/** A review or an approval was given or taken back; approvals are always read fresh. */
export interface ReviewChanged {
  readonly kind: "reviewed";
}
