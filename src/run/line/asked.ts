import type { Guess } from "../../core/commands/selection.js";
import type { User } from "../../core/model/change-request.js";
import type { Command } from "../../core/model/command.js";
import type { BaseMoved, FoundComment, TurnCame } from "../../core/model/event.js";
import type { Turn } from "../../core/model/result.js";
import type { Silent } from "./outcome.js";

/** What an event asks for. */
export type Asked =
  | Answerable
  | Silent
  | { readonly kind: "close" }
  | { readonly kind: "revisit" }
  | { readonly kind: "remind" }
  | BaseMoved
  | TurnCame;

/** What is answered with a comment, unless there is a reason to stay silent. */
export type Answerable = GivenCommand | Autoplan | InvalidComment;

/** What the host said about the author's write access before the comment was parsed; `unknown` if it was not asked. */
export type EarlyAccess = "write" | "none" | "unknown";

export interface GivenCommand {
  readonly kind: "command";
  readonly command: Command;
  readonly by: User;
  readonly commentId: string;
  /** Only if its webhook was lost. */
  readonly found: FoundComment | undefined;
  readonly access: EarlyAccess;
}

/** The plan that an update of a change request starts, or its turn. */
export interface Autoplan {
  readonly kind: "autoplan";
  readonly command: Extract<Command, { readonly name: "plan" }>;
  /** Locks that it waited for; drafts and repositories without `autoplan` are planned as well, since somebody asked before. */
  readonly turn?: Turn;
  readonly by: undefined;
  readonly access?: undefined;
}

export const AUTOPLAN: Autoplan = { kind: "autoplan", command: { name: "plan", applications: [] }, by: undefined };

/** A comment that begins with our name and is no valid command. */
export interface InvalidComment {
  readonly kind: "invalid";
  readonly command: undefined;
  /** What was most likely meant. */
  readonly guess: Guess | undefined;
  readonly by: User;
  readonly access: EarlyAccess;
}
