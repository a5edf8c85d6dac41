import type { Present } from "../../comments/present.js";
import type { Guess } from "../../core/commands/selection.js";
import type { Settled } from "../../core/deploy/settle-records.js";
import type { Reviewed } from "../../core/facts/read-facts.js";
import type { Revision } from "../../core/model/brand.js";
import type { ChangeRequest, User } from "../../core/model/change-request.js";
import type { Command } from "../../core/model/command.js";
import type { FoundComment, HeadApproved } from "../../core/model/event.js";
import type { Sign } from "../../core/model/host-words.js";
import type { Turn } from "../../core/model/lock.js";
import type { CommandResult, Refusal, UnknownOption } from "../../core/model/result.js";
import type { Settings } from "../../core/model/settings.js";
import type { Advice } from "../../core/policy/next-step.js";
import type { OwnComment } from "../../core/ports/code-host.js";
import type { Reloaded } from "../../core/ports/context.js";

/** A command, an automatic plan or a mistyped comment: each is answered with a comment. */
export type Answerable = GivenCommand | Autoplan | InvalidComment;

/** What the host said about the author's write access before the comment was parsed; `unknown` if it was not asked. */
type EarlyAccess = "write" | "none" | "unknown";

export interface GivenCommand {
  readonly kind: "command";
  readonly command: Command;
  readonly by: User;
  /** Undefined if it was given by an approval, or goes on by itself. */
  readonly commentId: string | undefined;
  readonly approved?: Pick<HeadApproved, "headRevision" | "plannedAt">;
  /** The id of the `NextStage` with which it goes on. */
  readonly stage?: string;
  /** Only if its webhook was lost. */
  readonly found: FoundComment | undefined;
  readonly access: EarlyAccess;
  /** The host did not say whether a person or a program gave it. */
  readonly unclear?: boolean;
}

/** A plan that starts by itself: after an update of the change request, or when a lock that it waited for is free. */
export interface Autoplan {
  readonly kind: "autoplan";
  readonly command: Extract<Command, { readonly name: "plan" }>;
  /** The locks that are free. Drafts and repositories without `autoplan` are planned too, since somebody asked before. */
  readonly turn?: Turn;
  /** A command led to it: the same holds. */
  readonly wanted?: true;
  /** The head that the event of a push names. */
  readonly pushed?: Revision | undefined;
  /** An approval lifts what the plan before withheld, which repositories without `autoplan` have on command. */
  readonly lifted?: true;
  readonly by: undefined;
  readonly access?: undefined;
}

export const AUTOPLAN: Autoplan = { kind: "autoplan", command: { name: "plan", applications: [] }, by: undefined };

/** A comment that begins with our name and is no valid command. */
export interface InvalidComment {
  readonly kind: "invalid";
  readonly command: undefined;
  /** The command that was most likely meant. */
  readonly guess: Guess | undefined;
  readonly unknownOption: UnknownOption | undefined;
  /** What stood before our name. */
  readonly sign?: Sign;
  readonly by: User;
  readonly access: EarlyAccess;
}

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
  /** The approval was to start a sync, but something has changed by now that does not let it start. */
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

/** The advice, and the host's answers behind it, from which the status and the plan's comment are written too. */
export interface Advised {
  readonly advice?: Advice | undefined;
  /** Where the plan of the head is shown, if that is stored. */
  readonly planUrl?: string | undefined;
  readonly reviewed?: Reviewed | undefined;
  readonly present?: Present | undefined;
  /** Whether the rules let an approval start the sync of this plan. */
  readonly startsOnApproval?: boolean;
}

/** A command that may run, with the settings that hold for it. */
export interface Permitted extends Reloaded {
  readonly kind: "permitted";
  readonly asked: GivenCommand | Autoplan;
  /** Earlier syncs whose outcome was looked up first. */
  readonly settled: readonly Settled[];
}

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
  /** Undefined if it is not worked out yet. */
  readonly advised?: Advised | undefined;
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

/** An outcome for the log; undefined where an event needs no line. */
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
  "approved-in-vain": "not started by an approval: it is too old, or something else has changed since",
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
