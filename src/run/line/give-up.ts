import type { ChangeRequest } from "../../core/model/change-request.js";
import type { HostEvent } from "../../core/model/event.js";
import { DEPLOYER_TITLE, SERVICE } from "../../names.js";
import { answer } from "../answer/answer.js";
import { ask } from "./ask.js";
import { refused, type Finished, type Outcome } from "./outcome.js";
import { NotRecovered } from "./recover.js";
import type { Run } from "./run.js";

/**
 * Answers an event whose earlier attempts ended the processes that ran them. Does nothing that may have ended them: it
 * reads no repository and follows no deployment. Locks of a closed change request are left to the reconciler.
 */
export async function giveUp(event: HostEvent, run: Run): Promise<Outcome> {
  const asked = await ask(event, run);
  switch (asked.kind) {
    case "silent":
      return asked;
    case "close":
    case "revisit":
    case "remind":
    case "base-moved":
    case "turn":
      return { kind: "stopped" };
    case "command":
    case "autoplan":
    case "invalid": {
      run.attempt.start(asked, event.change);
      const change = await run.host.getChangeRequest(event.change);
      return answer(asked, await whatIsKnown(change, run), change, run);
    }
  }
}

/** The result that an earlier attempt could not post, without its merge; otherwise a refusal. @throws {NotRecovered} */
async function whatIsKnown(change: ChangeRequest, { ticket, attempt }: Run): Promise<Finished> {
  const { started = [], result } = await ticket.journal.read().catch((cause: unknown) => {
    throw new NotRecovered("could not read what an earlier attempt of this run did", { cause });
  });
  attempt.deploying(started, change);
  if (result !== undefined) {
    const kept = result.kind === "synced" ? { ...result, merge: undefined } : result;
    return { kind: "finished", result: kept, settled: [], recorded: true };
  }
  const deployed = started.map(({ application }) => application).join(", ");
  const left =
    deployed === "" ? "" : ` It may have deployed ${deployed}: look at the last operation in ${DEPLOYER_TITLE}.`;
  const message = `${SERVICE} ended unexpectedly each time it ran this. It is not started again.${left} The log of ${SERVICE} says more.`;
  return refused({ reason: "failure", message });
}
