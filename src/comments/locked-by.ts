import type { Lock } from "../core/model/lock.js";
import { code } from "./markdown.js";

/** The specification's text for a lock of another change request; in a code span, since `#1` would link elsewhere. */
export function lockedBy({ holder, user }: Lock): string {
  return code(`Locked by PR #${holder.number} (${user})`);
}
