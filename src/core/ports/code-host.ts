import type { HostId } from "../../names.js";
import type { Approval } from "../model/approval.js";
import type { ChangeRequest, ChangeRequestRef, Mergeability } from "../model/change-request.js";
import type { MergeIntent } from "../model/result.js";
import type { User } from "../model/user.js";

/** GitHub or GitLab. Methods throw `HostFailure` when the host is broken or says no. */
export interface CodeHost {
  readonly id: HostId;
  /** Our own account, asked once and kept; also proves that the credentials work. */
  self(): Promise<User>;
  /** One small call with our credentials, never answered from memory: proves that the host is there now. */
  reach(): Promise<void>;
  /** Fresh facts from the API, never cached. */
  getChangeRequest(change: ChangeRequestRef, signal?: AbortSignal): Promise<ChangeRequest>;
  /** Fresh as well, in one call. */
  state(change: ChangeRequestRef): Promise<ChangeRequest["state"]>;
  /** Polls for at most 20 seconds while the host still computes it, then `unknown`. */
  mergeability(change: ChangeRequestRef, signal?: AbortSignal): Promise<Mergeability>;
  /** Read fresh: who approved the head commit given here. */
  approval(change: ChangeRequest): Promise<Approval>;
  /** Whether this person has write access to the repository now (GitHub write, GitLab Developer). */
  mayCommand(change: ChangeRequestRef, user: User): Promise<boolean>;
  /** Where git reads the repository, with credentials that live for this call's purpose only. */
  cloneSource(change: ChangeRequestRef): Promise<CloneSource>;
  /** Comments of our own account on the change request, oldest first. */
  listOwnComments(change: ChangeRequestRef): Promise<readonly OwnComment[]>;
  /** Posts one comment and returns its id. Sent once: never repeated after an unknown outcome. */
  postComment(change: ChangeRequestRef, body: string): Promise<string>;
  editComment(change: ChangeRequestRef, commentId: string, body: string): Promise<void>;
  /** Where a person reads one of our comments. */
  commentUrl(change: ChangeRequest, commentId: string): string;
  /** One of three marks on a person's comment. Setting the same twice is no error. */
  react(change: ChangeRequestRef, commentId: string, reaction: Reaction): Promise<void>;
  /** Hides an outdated comment of our own where the host can (GitHub minimises; GitLab cannot: does nothing). */
  minimise(change: ChangeRequestRef, commentId: string): Promise<void>;
  /** Sets the commit status `svc/sync` of the change request's head; GitLab without a pipeline for it: does nothing. */
  setStatus(change: ChangeRequest, status: CommitStatus): Promise<void>;
  /** Whether the person belongs to one of these: `<org>/<team-slug>` on GitHub, a group's full path on GitLab. */
  belongsToAny(change: ChangeRequestRef, user: User, teams: readonly string[]): Promise<boolean>;
  /** Merges if the head is still `change.headRevision`, then deletes the source branch if asked and allowed. */
  merge(change: ChangeRequest, intent: MergeIntent): Promise<MergeOutcome>;
}

export interface CloneSource {
  /** HTTPS URL without credentials. */
  readonly url: string;
  /** Value of the `Authorization` header for git; undefined for a public server. */
  readonly authorization: string | undefined;
  /** The host's ref of the change request's head in the target repository, forks included. */
  readonly headRef: string;
}

export interface OwnComment {
  readonly id: string;
  readonly body: string;
}

/** Marks on a person's command: it was read, it did what was asked, or it did not. */
export type Reaction = "seen" | "done" | "failed";

/** What the commit status `svc/sync` says. */
export interface CommitStatus {
  readonly state: "pending" | "success" | "failure";
  /** One line; cut to what the host takes (140 characters on GitHub, 255 on GitLab). */
  readonly description: string;
  /** Where a person who clicks on the status is led; undefined leads nowhere. */
  readonly url: string | undefined;
}

/** `note` tells what went wrong after the merge (the branch could not be deleted). */
export type MergeOutcome =
  | { readonly kind: "merged"; readonly note: string | undefined }
  | { readonly kind: "refused"; readonly reason: string };
