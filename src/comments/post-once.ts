import type { ChangeRequestRef } from "../core/model/change-request.js";
import { HostFailure } from "../core/model/errors.js";
import type { CodeHost } from "../core/ports/code-host.js";
import { readMarker } from "./marker.js";

type Poster = Pick<CodeHost, "postComment" | "listOwnComments">;

/**
 * Posts a comment whose marker names run and part. If the host's answer leaves open whether it was posted, looks for it
 * first and posts it again only if it is missing. A comment that certainly was not posted is tried once more.
 * @returns The id of the comment.
 * @throws {HostFailure} if the comment could not be posted, or not be looked for.
 */
export async function postOnce(host: Poster, change: ChangeRequestRef, body: string): Promise<string> {
  try {
    return await host.postComment(change, body);
  } catch (error) {
    if (!(error instanceof HostFailure) || !mayPassLater(error)) throw error;
    const posted = error.maybeDone ? await findPosted(host, change, body) : undefined;
    return posted ?? (await secondTry(host, change, body));
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

async function secondTry(host: Poster, change: ChangeRequestRef, body: string): Promise<string> {
  try {
    return await host.postComment(change, body);
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
