import type { ChangeRequestRef } from "../core/model/change-request.js";
import type { CodeHost, Reaction } from "../core/ports/code-host.js";
import type { Log } from "../core/ports/log.js";

/** The reactions to one command. */
export interface CommandMarks {
  /** Adds the final reaction, if any, after the first one. Never throws. */
  end(reaction: "done" | "failed" | undefined): Promise<void>;
}

/** Reacts with "seen" in the background. A failed reaction does not fail the command. */
export function markCommand(host: CodeHost, change: ChangeRequestRef, commentId: string, log: Log): CommandMarks {
  const set = async (reaction: Reaction): Promise<void> => {
    try {
      await host.react(change, commentId, reaction);
    } catch (error) {
      log.warn({ err: error, reaction }, "could not react to a command");
    }
  };
  const seen = set("seen");
  return {
    async end(reaction) {
      await seen;
      if (reaction !== undefined) await set(reaction);
    },
  };
}
