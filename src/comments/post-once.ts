import type { ChangeRequestRef } from "../core/model/change-request.js";
import { HostFailure } from "../core/model/errors.js";
import type { CodeHost } from "../core/ports/code-host.js";
import { readMarker } from "./marker.js";

type Poster = Pick<CodeHost, "postComment" | "listOwnComments">;

/**
 * Posts a comment whose marker names run and part, and returns its id. After an answer that leaves open whether it was
 * posted it is looked for, and posted again only when it is not there; one that surely was not posted is tried once more.
 * @throws {HostFailure} when it could not be posted, or could not be looked for.
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

/** Our own comment with the same kind, run and part; undefined when there is none. */
export async function findPosted(host: Poster, change: ChangeRequestRef, body: string): Promise<string | undefined> {
  const wanted = readMarker(body);
  if (wanted?.run === undefined) return undefined;
  const own = await host.listOwnComments(change);
  const found = own.find((comment) => {
    const marker = readMarker(comment.body);
    return (
      marker !== undefined && marker.run === wanted.run && marker.kind === wanted.kind && marker.part === wanted.part
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

/** What the host understood and refused is refused the second time as well. */
function mayPassLater({ reason, maybeDone }: HostFailure): boolean {
  return maybeDone || reason === "unreachable" || reason === "failed";
}
