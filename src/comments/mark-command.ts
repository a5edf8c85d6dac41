import type { ChangeRequestRef } from "../core/model/change-request.js";
import type { CodeHost, Reaction } from "../core/ports/code-host.js";

/** The reactions to one command. */
export interface CommandMarks {
  /** Adds the final reaction, if any, after the first one. Never throws. */
  end(reaction: "done" | "failed" | undefined): Promise<void>;
}

/** Told of each reaction. */
export interface MarkWatcher {
  set(): void;
  failed(reaction: Reaction, error: unknown): void;
}

/** Reacts with "seen" in the background. A failed reaction does not fail the command. */
export function markCommand(
  host: CodeHost,
  change: ChangeRequestRef,
  commentId: string,
  watcher: MarkWatcher,
): CommandMarks {
  const set = async (reaction: Reaction): Promise<void> => {
    try {
      await host.react(change, commentId, reaction);
    } catch (error) {
      watcher.failed(reaction, error);
      return;
    }
    watcher.set();
  };
  const seen = set("seen");
  return {
    async end(reaction) {
      await seen;
      if (reaction !== undefined) await set(reaction);
    },
  };
}
