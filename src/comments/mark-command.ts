import type { ChangeRequestRef } from "../core/model/change-request.js";
import type { CodeHost, Reaction } from "../core/ports/code-host.js";
import type { Log } from "../core/ports/log.js";

/** The marks on one person's command. */
export interface CommandMarks {
  /** Sets the last mark, if there is to be one, after the first one was set; never throws. */
  end(reaction: "done" | "failed" | undefined): Promise<void>;
}

/** Marks a command as seen at once, without making it wait for that. A mark that cannot be set hinders nothing. */
export function markCommand(host: CodeHost, change: ChangeRequestRef, commentId: string, log: Log): CommandMarks {
  const set = async (reaction: Reaction): Promise<void> => {
    try {
      await host.react(change, commentId, reaction);
    } catch (error) {
      log.warn({ err: error, reaction }, "a command could not be marked");
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
