import type { ChangeRequestRef } from "../core/model/change-request.js";
import { HostFailure } from "../core/model/errors.js";
import type { CodeHost, OwnComment } from "../core/ports/code-host.js";
import type { Log } from "../core/ports/log.js";
import { readMarker, remark } from "./marker.js";
import { findPosted, postOnce } from "./post-once.js";
import { markStale } from "./stale.js";

export interface PublishOptions {
  /** The run that answers. */
  readonly run: string;
  /** A comment of ours that the first part takes the place of. */
  readonly into?: string | undefined;
}

/** Posts the parts of an answer in their order, each once; returns the id of the first. */
export async function publish(
  host: CodeHost,
  change: ChangeRequestRef,
  parts: readonly string[],
  { run, into }: PublishOptions,
): Promise<string | undefined> {
  let first: string | undefined;
  for (const [index, part] of parts.entries()) {
    const body = remark(part, { run, part: index + 1 });
    const replaces = index === 0 && into !== undefined;
    const id = replaces ? await replace(host, change, into, body) : await postOnce(host, change, body);
    first ??= id;
  }
  return first;
}

/** An answer that cannot take the place of its progress comment is posted: it must be read. */
async function replace(host: CodeHost, change: ChangeRequestRef, id: string, body: string): Promise<string> {
  try {
    await host.editComment(change, id, body);
    return id;
  } catch (error) {
    if (!(error instanceof HostFailure)) throw error;
    const edited = error.maybeDone ? await findPosted(host, change, body) : undefined;
    return edited ?? (await postOnce(host, change, body));
  }
}

export interface PublishPlanOptions {
  readonly run: string;
  readonly automatic: boolean;
  /** What svc said on the change request before, for whoever has read it. */
  readonly earlier?: readonly OwnComment[] | undefined;
  readonly log: Log;
}

/**
 * Posts a plan after marking the earlier ones as outdated, every part of them, and folds those away when it stands; returns
 * the id of its first part. An automatic plan that affects nothing edits its predecessor of the same kind instead of
 * repeating it.
 */
export async function publishPlan(
  host: CodeHost,
  change: ChangeRequestRef,
  parts: readonly string[],
  { run, automatic, earlier, log }: PublishPlanOptions,
): Promise<string | undefined> {
  const own = earlier ?? (await host.listOwnComments(change));
  const current = own.filter((comment) => isCurrentPlan(comment) && !isOfRun(comment, run, parts));
  const [only] = parts;
  const reused = automatic && parts.length === 1 && only !== undefined ? repeatable(only, current) : undefined;
  const outdated: OwnComment[] = [];
  for (const comment of current) {
    if (comment.id !== reused?.id && (await markOutdated(host, change, comment, log))) outdated.push(comment);
  }
  const id = reused === undefined ? await publish(host, change, parts, { run }) : reused.id;
  if (reused !== undefined && only !== undefined) {
    const body = remark(only, { run, part: 1 });
    if (remark(reused.body, { run }) !== body) await host.editComment(change, reused.id, body);
  }
  // Nobody waits for that: each says already that it is outdated.
  for (const comment of outdated) await foldAway(host, change, comment, log);
  return id;
}

/** The first part of the newest plan that no newer one has replaced. */
export async function findCurrentPlan(host: CodeHost, change: ChangeRequestRef): Promise<string | undefined> {
  const current = (await host.listOwnComments(change)).filter(isCurrentPlan);
  return current.findLast(({ body }) => (readMarker(body)?.part ?? 1) === 1)?.id;
}

function isCurrentPlan({ body }: OwnComment): boolean {
  return markStale(body) !== undefined;
}

/** Posted by an earlier attempt of this run, which was cut off: the posting brings it up to date. */
function isOfRun({ body }: OwnComment, run: string, parts: readonly string[]): boolean {
  const own = readMarker(body);
  return own?.run === run && own.head === readMarker(parts[0] ?? "")?.head && (own.part ?? 1) <= parts.length;
}

/** An old plan that stays as it was is no reason to hold back the new one; false then. */
async function markOutdated(
  host: CodeHost,
  change: ChangeRequestRef,
  { id, body }: OwnComment,
  log: Log,
): Promise<boolean> {
  const marked = markStale(body);
  if (marked === undefined) return false;
  try {
    await host.editComment(change, id, marked);
    return true;
  } catch (error) {
    log.warn({ err: error, comment: id }, "an outdated plan could not be marked");
    return false;
  }
}

async function foldAway(host: CodeHost, change: ChangeRequestRef, { id }: OwnComment, log: Log): Promise<void> {
  try {
    await host.minimise(change, id);
  } catch (error) {
    log.warn({ err: error, comment: id }, "an outdated plan could not be folded away");
  }
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
