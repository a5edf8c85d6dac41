import type { ChangeRequestRef } from "../core/model/change-request.js";
import { HostFailure } from "../core/model/errors.js";
import type { CodeHost, Posting } from "../core/ports/code-host.js";
import { readMarker, type Marker } from "./marker.js";

type Poster = Pick<CodeHost, "postComment" | "listOwnComments">;

/**
 * Posts a comment whose marker names run and part. If the host's answer leaves open whether it was posted, looks for it
 * first and posts it again only if it is missing. A comment that certainly was not posted is tried once more.
 * @returns The id of the comment.
 * @throws {HostFailure} if the comment could not be posted, or not be looked for.
 */
export async function postOnce(
  host: Poster,
  change: ChangeRequestRef,
  body: string,
  posting: Posting,
): Promise<string> {
  try {
    return await host.postComment(change, body, posting);
  } catch (error) {
    if (!(error instanceof HostFailure) || !mayPassLater(error)) throw error;
    const posted = error.maybeDone ? await findPosted(host, change, body) : undefined;
    return posted ?? (await secondTry(host, change, body, posting));
  }
}

/** Id of our own comment with the same kind, run and part; undefined if there is none. */
export async function findPosted(host: Poster, change: ChangeRequestRef, body: string): Promise<string | undefined> {
  const wanted = readMarker(body);
  if (wanted?.runId === undefined) return undefined;
  const own = await host.listOwnComments(change);
  const found = own.find((comment) => {
    const marker = readMarker(comment.body);
    return (
      marker !== undefined &&
      marker.runId === wanted.runId &&
      marker.kind === wanted.kind &&
      marker.part === wanted.part
    );
  });
  return found?.id;
}

async function secondTry(host: Poster, change: ChangeRequestRef, body: string, posting: Posting): Promise<string> {
  try {
    return await host.postComment(change, body, posting);
  } catch (error) {
    const posted = error instanceof HostFailure && error.maybeDone ? await findPosted(host, change, body) : undefined;
    if (posted === undefined) throw error;
    return posted;
  }
}

/** A request that the host understood and refused will be refused again. */
function mayPassLater({ reason, maybeDone }: HostFailure): boolean {
  return maybeDone || reason === "unreachable" || reason === "failed";
}

/**
 * Posts a comment, unless an interrupted attempt of the same run already posted it: then updates that one.
 * @returns The id of the comment.
 */
export async function repost(
  host: Pick<CodeHost, "postComment" | "editComment" | "listOwnComments">,
  change: ChangeRequestRef,
  body: string,
  posting: Posting,
): Promise<string> {
  const wanted = readMarker(body);
  const own = wanted?.runId === undefined ? [] : await host.listOwnComments(change);
  const found = own.find((comment) => standsFor(readMarker(comment.body), wanted));
  if (found === undefined) return host.postComment(change, body, posting);
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

function placeOf({ kind }: Marker): "plan" | "answer" | "merge" | "reminder" {
  switch (kind) {
    case "plan":
    case "no-applications":
      return "plan";
    case "progress":
    case "result":
    case "refused":
      return "answer";
    case "merge":
    case "reminder":
      return kind;
  }
}
