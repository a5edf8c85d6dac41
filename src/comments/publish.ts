import type { ChangeRequestRef } from "../core/change-request.js";
import type { CodeHost, OwnComment } from "../core/ports.js";
import { readMarker } from "./marker.js";
import { markStale } from "./stale.js";

/** Posts the parts of an answer in their order; one call each, never repeated. */
export async function publish(host: CodeHost, change: ChangeRequestRef, parts: readonly string[]): Promise<void> {
  for (const part of parts) await host.postComment(change, part);
}

/**
 * Posts a plan after marking the earlier ones stale. An automatic plan that affects nothing edits its predecessor of the
 * same kind instead of repeating it.
 */
export async function publishPlan(
  host: CodeHost,
  change: ChangeRequestRef,
  parts: readonly string[],
  { automatic }: { readonly automatic: boolean },
): Promise<void> {
  const own = await host.listOwnComments(change);
  const current = own.filter(({ body }) => markStale(body) !== undefined);
  const [only] = parts;
  const reused = automatic && parts.length === 1 && only !== undefined ? repeatable(only, current) : undefined;
  await Promise.all(
    current
      .filter(({ id }) => id !== reused?.id)
      .map(async ({ id, body }) => {
        const marked = markStale(body);
        if (marked !== undefined) await host.editComment(change, id, marked);
      }),
  );
  if (reused === undefined || only === undefined) return publish(host, change, parts);
  if (reused.body !== only) await host.editComment(change, reused.id, only);
}

/** The newest current comment, if it and the new one both say that no application is affected. */
function repeatable(body: string, current: readonly OwnComment[]): OwnComment | undefined {
  const last = current.at(-1);
  if (last === undefined || readMarker(body)?.kind !== "no-applications") return undefined;
  return readMarker(last.body)?.kind === "no-applications" ? last : undefined;
}

/** Whether this person was told already, on this change request, that the command is not theirs to give. */
export async function wasRefusedBefore(host: CodeHost, change: ChangeRequestRef, login: string): Promise<boolean> {
  const own = await host.listOwnComments(change);
  return own.some(({ body }) => {
    const marker = readMarker(body);
    return marker?.kind === "refused" && marker.login === login;
  });
}
