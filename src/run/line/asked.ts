import type { Guess } from "../../core/commands/selection.js";
import type { User } from "../../core/model/change-request.js";
import type { Command } from "../../core/model/command.js";
import type { FoundComment, HeadApproved } from "../../core/model/event.js";
import type { Sign } from "../../core/model/host-words.js";
import type { Turn } from "../../core/model/lock.js";
import type { UnknownOption } from "../../core/model/result.js";

/** A command, an automatic plan or a mistyped comment: each is answered with a comment. */
export type Answerable = GivenCommand | Autoplan | InvalidComment;

/** What the host said about the author's write access before the comment was parsed; `unknown` if it was not asked. */
export type EarlyAccess = "write" | "none" | "unknown";

export interface GivenCommand {
  readonly kind: "command";
  readonly command: Command;
  readonly by: User;
  /** Undefined if it was given by an approval, or goes on by itself. */
  readonly commentId: string | undefined;
  /** The plan that was approved. */
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
