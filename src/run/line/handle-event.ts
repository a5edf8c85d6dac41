import type { ChangeRequestRef } from "../../core/model/change-request.js";
import type { HostEvent } from "../../core/model/event.js";
import { answer } from "../answer/answer.js";
import { announcePlan } from "../answer/status.js";
import { judgeGroup } from "../around/merge-group.js";
import { bringUpToDate, revisit } from "../around/revisit.js";
import { takeTurn, tellOfLoss } from "../around/turns.js";
import { ask, heedingStops, withPresentAccess } from "./ask.js";
import { closeChangeRequest, execute, fetchPushed, readFirst, recover, withFreshFacts } from "./execute.js";
import { type Answerable, AUTOPLAN, type CarriedOut, type Outcome } from "./outcome.js";
import { permit } from "./permit.js";
import type { Run } from "./run.js";

/** The whole way of an event. Throws what broke; `supervise` answers that. */
export async function handleEvent(event: HostEvent, run: Run): Promise<Outcome> {
  const asked = await ask(event, run);
  if (asked.kind === "silent") return asked;
  switch (asked.kind) {
    case "close":
      return closeChangeRequest(event.change, run, { ifOpen: () => obey(AUTOPLAN, event.change, run) });
    case "revisit":
      return revisit(event.change, run, (lifted) => obey(lifted, event.change, run));
    case "turn":
      return takeTurn(event.change, asked, run, (turn) => obey(turn, event.change, run));
    case "lock-lost":
      return tellOfLoss(event.change, asked, run);
    case "marked":
    case "rollout":
      return bringUpToDate(event.change, asked, run);
    case "merge-group":
      return judgeGroup({ ...asked, ...event.change }, run);
    case "command":
    case "autoplan":
    case "invalid":
      if (event.kind === "updated" && event.reason === "pushed") void fetchPushed(event.change, event.pushed, run);
      return obey(asked, event.change, run);
  }
}

/** Gets the facts, resumes or permits, runs and answers; with fresh facts if the head moved before the fetch. */
async function obey(asked: Answerable, ref: ChangeRequestRef, given: Run): Promise<Outcome> {
  const run = heedingStops(asked, given);
  run.attempt.start(asked, ref);
  const [change, ended] = await withFreshFacts(() => carryOut(asked, ref, run));
  return answer(asked, ended, change, run);
}

async function carryOut(asked: Answerable, ref: ChangeRequestRef, run: Run): Promise<CarriedOut> {
  const change = await readFirst(asked, ref, run);
  announcePlan(asked, change, run);
  run.attempt.found(change);
  const given = withPresentAccess(asked, ref, change);
  try {
    const decided = (await recover(given, change, run)) ?? (await permit(given, change, run));
    return decided.kind === "permitted" ? await execute(decided, change, run) : [change, decided];
  } finally {
    run.rendersAhead.stop(change);
  }
}
