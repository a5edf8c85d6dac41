import type { ChangeRequestRef } from "../core/model/change-request.js";
import type { CodeHost } from "../core/ports/code-host.js";
import { readMarker, type Marker } from "./marker.js";

type Reposter = Pick<CodeHost, "postComment" | "editComment" | "listOwnComments">;

/**
 * Posts a comment, unless an interrupted attempt of the same run already posted it: then updates that one.
 * @returns The id of the comment.
 */
export async function repost(host: Reposter, change: ChangeRequestRef, body: string): Promise<string> {
  const wanted = readMarker(body);
  const own = wanted?.runId === undefined ? [] : await host.listOwnComments(change);
  const found = own.find((comment) => standsFor(readMarker(comment.body), wanted));
  if (found === undefined) return host.postComment(change, body);
  if (found.body !== body) await host.editComment(change, found.id, body);
  return found.id;
}

/** Whether an earlier attempt of this run has answered. @param plans Whether a posted plan counts as an answer. */
export async function hasAnswered(
  host: Pick<CodeHost, "listOwnComments">,
  change: ChangeRequestRef,
  runId: string,
  plans: "plans-too" | "but-plans",
): Promise<boolean> {
  const own = await host.listOwnComments(change);
  return own.some(({ body }) => {
    const marker = readMarker(body);
    if (marker?.runId !== runId || marker.kind === "progress") return false;
    return plans === "plans-too" || marker.kind === "result" || marker.kind === "refused";
  });
}

/** A plan of another head is another plan, since people may have replied to it. A progress comment becomes the answer. */
function standsFor(found: Marker | undefined, wanted: Marker | undefined): boolean {
  if (found === undefined || wanted === undefined || found.runId !== wanted.runId) return false;
  if (placeOf(found) !== placeOf(wanted) || (found.part ?? 1) !== (wanted.part ?? 1)) return false;
  return placeOf(wanted) !== "plan" || found.head === wanted.head;
}

function placeOf({ kind }: Marker): "plan" | "answer" | "merge" {
  switch (kind) {
    case "plan":
    case "no-applications":
      return "plan";
    case "progress":
    case "result":
    case "refused":
      return "answer";
    case "merge":
      return "merge";
  }
}
