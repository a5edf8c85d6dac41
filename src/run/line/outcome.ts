import type { Settled } from "../../core/deploy/settle-records.js";
import type { ChangeRequest, User } from "../../core/model/change-request.js";
import type { CommandResult, Refusal } from "../../core/model/result.js";
import type { Settings } from "../../core/model/settings.js";
import type { OwnComment } from "../../core/ports/code-host.js";

/** The end of an event's handling. */
export type Outcome =
  | { readonly kind: "answered"; readonly result: CommandResult }
  | Silent
  /** It heeded its signal, broke after an earlier attempt had answered, or was given up with nothing to answer. */
  | { readonly kind: "stopped" }
  /** No answer could be given; `result` is what was deployed before. */
  | { readonly kind: "failed"; readonly error: unknown; readonly result?: CommandResult };

/** The event is not answered, for this reason. */
export interface Silent {
  readonly kind: "silent";
  readonly reason: SilentReason;
}

type SilentReason =
  /** The comment is not for us, or a bot wrote it. */
  | "not-addressed"
  /** The repository was renamed or moved to a name that `allowed_repos` does not have. */
  | "not-served"
  /** The head was approved, and by the time that its sync would start it may not. */
  | "approved-in-vain"
  /** Drafts, forks and repositories without autoplan are planned on command only. */
  | "not-planned"
  /** Somebody without access was answered on this change request before. */
  | "refused-before"
  /** The host's limit of comments is used up. */
  | "left-out"
  /** The change request was closed while its automatic plan ran. */
  | "closed-meanwhile"
  /** An earlier attempt of the run answered. */
  | "already-answered"
  /** The close event is out of date. */
  | "still-open"
  | "settled"
  | "status-updated"
  /** Somebody else has the lock by now, or the change request does not wait for it any more. */
  | "turn-over"
  | "turn-told"
  | "loss-told"
  | "rollout-looked-at"
  /** Another command, a plan, a push, a close or an unlock has ended the sync that was to go on. */
  | "stage-over"
  | "nothing-to-update";

/** A result, with what its answer needs. */
export interface Finished {
  readonly kind: "finished";
  readonly result: CommandResult;
  /** Undefined if the command ended before the settings were read. */
  readonly settings?: Settings | undefined;
  /** Mistakes in the repository's file: while there are any, nothing is planned or deployed. */
  readonly problems?: readonly string[] | undefined;
  /** Earlier syncs whose outcome was looked up first. */
  readonly settled: readonly Settled[];
  /** Our comments before a plan; undefined if they are not known yet. */
  readonly earlier?: readonly OwnComment[] | undefined;
  /** An earlier attempt of the run wrote it to the journal and the audit trail. */
  readonly recorded?: boolean;
  /** The person without write access whom it answers. */
  readonly outsider?: User | undefined;
}

export type CarriedOut = readonly [change: ChangeRequest, ended: Finished | Silent];

/** A command refused before the settings were read. */
export function refused(refusal: Refusal): Finished {
  return { kind: "finished", result: { kind: "refused", refusal }, settled: [] };
}

export function silent(reason: SilentReason): Silent {
  return { kind: "silent", reason };
}

/** For the log; undefined where an event needs no line. */
export function outcomeText(outcome: Outcome): string | undefined {
  switch (outcome.kind) {
    case "answered":
      return resultText(outcome.result);
    case "silent":
      return SILENT_TEXTS[outcome.reason];
    case "stopped":
    case "failed":
      return outcome.kind;
  }
}

function resultText(result: CommandResult): string {
  if (result.kind === "refused") return result.refusal.reason;
  return result.kind === "closed" ? `released ${result.released.length}` : result.kind;
}

const SILENT_TEXTS: Readonly<Record<SilentReason, string | undefined>> = {
  "not-addressed": undefined,
  "not-served": "ignored: the repository was renamed or moved out of allowed_repos",
  "approved-in-vain": "not started by an approval: something else has changed since",
  "not-planned": undefined,
  "refused-before": "refused before",
  "left-out": "left out",
  "closed-meanwhile": undefined,
  "already-answered": "already answered",
  "still-open": "still open",
  settled: "settled",
  "status-updated": "status updated",
  "turn-over": undefined,
  "turn-told": "told that a lock was released",
  "loss-told": "told that an administrator released a lock",
  "rollout-looked-at": "looked at the rollout after the merge",
  "stage-over": "a sync does not go on with its next stage",
  "nothing-to-update": undefined,
};
