import { renderPlanTask } from "../../comments/plan.js";
import { renderResult } from "../../comments/render.js";
import { settledText } from "../../comments/settled.js";
import { changeRequestKey, type ChangeRequest } from "../../core/model/change-request.js";
import { sizeOfPlan } from "../../core/model/plan.js";
import type { CommandResult } from "../../core/model/result.js";
import type { Advice } from "../../core/policy/advice.js";
import { tooMuch } from "../../core/ports/compute.js";
import type { Finished } from "../line/outcome.js";
import type { Run } from "../line/run.js";
import { linksOf } from "./links.js";

/** Milliseconds. */
const RENDER_DEADLINE_MS = 60_000;
/** Characters of a plan whose comments take some tens of milliseconds. */
const SMALL_PLAN = 512 * 1024;

/** The comments that answer a command, the last one with a note of the earlier syncs whose outcome was looked up first. */
export async function renderAnswer(
  { result, settled }: Pick<Finished, "result" | "settled">,
  change: ChangeRequest,
  advice: Advice | undefined,
  run: Run,
): Promise<readonly string[]> {
  const parts = await rendering(result, change, advice, run);
  return settled.length === 0 ? parts : withNote(parts, settledText(settled, run.hostWords[change.host]));
}

/** The comments of a large plan are written in a worker thread. */
async function rendering(
  result: CommandResult,
  change: ChangeRequest,
  advice: Advice | undefined,
  run: Run,
): Promise<readonly string[]> {
  const [words, links] = [run.hostWords[change.host], linksOf(change, run)];
  const wanted = run.config.comments.plan;
  const comments = wanted === "auto" ? (links.page === undefined ? "all" : "one") : wanted;
  if (result.kind !== "planned" || sizeOfPlan(result.plan) < SMALL_PLAN) {
    return renderResult(result, change, words, links, comments, advice);
  }
  const { plan, pruning, turn } = result;
  const input = { plan, options: { words, pruning, links, turn, comments, next: advice?.next } };
  const limits = { owner: changeRequestKey(change), deadlineMs: RENDER_DEADLINE_MS, signal: run.signal };
  const computed = await run.compute.run(renderPlanTask, input, limits);
  if (computed.kind === "exceeded") throw new Error(`writing the comments of a plan ${tooMuch(computed.limit)}`);
  return computed.output;
}

/** The size limit of a comment leaves room for the note. */
function withNote(parts: readonly string[], note: string): readonly string[] {
  return parts.map((part, index) => (index === parts.length - 1 ? `${part}\n\n${note}` : part));
}
