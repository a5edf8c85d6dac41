import type { Lock } from "../core/model/lock.js";
import { code, sentence } from "./markdown.js";

/** The specification's text for a lock of another change request. In a code span, since `#1` would become a link. */
export function lockedBy({ holder, user }: Lock): string {
  return code(`Locked by PR #${holder.number} (${user})`);
}

/** A list of applications with a reason each. */
export function listOf(
  title: string,
  items: readonly { readonly application: string; readonly reason: string }[],
): string {
  return `${title}\n${items.map(({ application, reason }) => `- ${code(application)}: ${sentence(reason)}`).join("\n")}`;
}
