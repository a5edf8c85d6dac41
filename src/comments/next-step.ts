import { shortRevision } from "../core/model/brand.js";
import type { HostWords } from "../core/model/host-words.js";
import type { NextStep } from "../core/model/next-step.js";
import { headLink, type Links } from "./links.js";
import { code, sentence } from "./markdown.js";
import { nextStepPieces, type Piece, type Reader } from "./next-step-words.js";

/** What has to happen next, as a clause for the first line of an answer: `comment svc sync`, with the command as code. */
export function nextStepClause(step: NextStep, change: Reader, words: HostWords, links?: Links): string {
  return nextStepPieces(step, change, words)
    .map((piece) => markdownOf(piece, links))
    .join("");
}

/** The same as a sentence of its own. */
export function nextStepSentence(step: NextStep, change: Reader, words: HostWords, links?: Links): string {
  const clause = nextStepClause(step, change, words, links);
  return `${clause.charAt(0).toUpperCase()}${clause.slice(1)}.`;
}

function markdownOf(piece: Piece, links: Links | undefined): string {
  if (typeof piece === "string") return piece;
  if ("commit" in piece) return links === undefined ? code(shortRevision(piece.commit)) : headLink(piece.commit, links);
  return "text" in piece ? sentence(piece.text) : code(piece.code);
}
