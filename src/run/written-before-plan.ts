import { readMarker } from "../comments/marker.js";
import type { ChangeRequest } from "../core/model/change-request.js";
import type { CodeHost } from "../core/ports/code-host.js";

/**
 * Whether a command was written before any plan of the present head was posted: its author has not seen what it would
 * deploy. Webhooks come out of order, so a command can arrive after a push that it was written before. Both hosts count
 * the ids of comments upwards.
 */
export async function wasWrittenBeforePlan(
  commentId: string | undefined,
  change: ChangeRequest,
  host: CodeHost,
): Promise<boolean> {
  if (commentId === undefined) return false;
  const plans = (await host.listOwnComments(change)).filter(({ body }) => {
    const marker = readMarker(body);
    return marker?.kind === "plan" && marker.head === change.headRevision;
  });
  return plans.length > 0 && plans.every(({ id }) => isLater(id, commentId));
}

function isLater(id: string, other: string): boolean {
  return [id, other].every((one) => /^\d{1,30}$/.test(one)) && BigInt(id) > BigInt(other);
}
