import { nextStepPieces, type Piece } from "../../comments/next-step-words.js";
import type { Approval, ChangeRequest } from "../../core/model/change-request.js";
import type { HostWords } from "../../core/model/host-words.js";
import type { LookedUp } from "../../run/answer/standing.js";

/** What the page of a change request begins with. */
export interface ChangeHead {
  readonly title: string;
  readonly author: string | undefined;
  readonly branches: { readonly head: string; readonly base: string };
  readonly state: { readonly tone: "good" | "attention" | "bad" | ""; readonly text: string };
  /** Undefined once nothing can be approved any more. */
  readonly approval: ApprovalView | undefined;
  readonly next: readonly ShownPiece[];
}

export interface ApprovalView {
  readonly tone: "good" | "attention" | "";
  readonly badge: string;
  /** What is missing; untrusted. */
  readonly sentence: string | undefined;
}

/** A piece of a clause; untrusted. */
export interface ShownPiece {
  readonly text: string;
  readonly code: boolean;
}

export function changeHead(summary: LookedUp, words: HostWords): ChangeHead {
  const { change, next } = summary;
  return {
    title: change.title,
    author: change.author?.login,
    branches: { head: change.headBranch, base: change.baseBranch },
    state: stateOf(change),
    approval: change.state === "open" ? approvalOf(summary) : undefined,
    next: nextStepPieces(next, change, words).map(shownPiece),
  };
}

function stateOf({ state, draft }: ChangeRequest): ChangeHead["state"] {
  switch (state) {
    case "open":
      return draft ? { tone: "attention", text: "draft" } : { tone: "good", text: "open" };
    case "merged":
      return { tone: "", text: "merged" };
    case "closed":
      return { tone: "bad", text: "closed" };
  }
}

function approvalOf({ approval, missingForRules, planned }: LookedUp): ApprovalView | undefined {
  if (missingForRules !== undefined) return { tone: "attention", badge: "needed", sentence: missingForRules };
  if (approval !== undefined) return givenOrNot(approval);
  return planned ? { tone: "", badge: "not required", sentence: undefined } : undefined;
}

function givenOrNot({ approved, approvers, missing }: Approval): ApprovalView {
  if (approved) return { tone: "good", badge: `by ${approvers.join(", ")}`, sentence: undefined };
  return { tone: "attention", badge: "needed", sentence: missing };
}

function shownPiece(piece: Piece): ShownPiece {
  if (typeof piece === "string") return { text: piece, code: false };
  if ("commit" in piece) return { text: piece.commit.slice(0, 8), code: true };
  return "text" in piece ? { text: piece.text, code: false } : { text: piece.code, code: true };
}
