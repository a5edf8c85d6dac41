import type { Revision } from "../core/model/brand.js";
import type { ChangeRequestRef } from "../core/model/change-request.js";
import { HostFailure } from "../core/model/errors.js";
import type { CodeHost, OwnComment, Posting } from "../core/ports/code-host.js";
import type { Log } from "../core/ports/log.js";
import { haveSameTarget, type Marker, markerLine, readMarker, remark } from "./marker.js";
import { details } from "./parts.js";

interface PublishOptions {
  readonly runId: string;
  /** Id of our own comment that the first part replaces. */
  readonly into?: string | undefined;
  readonly automatic?: boolean;
  readonly posting: Posting;
  /** The person without write access whom it answers. */
  readonly login?: string | undefined;
}

/** Posts the parts of an answer in order, each once. @returns The id of the first. */
export async function publish(
  host: Poster & Pick<CodeHost, "editComment">,
  change: ChangeRequestRef,
  parts: readonly string[],
  { runId, into, automatic = false, posting, login }: PublishOptions,
): Promise<string | undefined> {
  let first: string | undefined;
  for (const [index, part] of parts.entries()) {
    const body = remark(part, { runId, part: index + 1, automatic, ...(login !== undefined && { login }) });
    const replaces = index === 0 && into !== undefined;
    const id = replaces
      ? await replace(host, change, { id: into, body, posting })
      : await postOnce(host, change, body, posting);
    first ??= id;
  }
  return first;
}

/** Edits the progress comment, which would go on saying that the command runs, or posts a new one if it cannot be edited. */
async function replace(
  host: Poster & Pick<CodeHost, "editComment">,
  change: ChangeRequestRef,
  { id, body, posting }: OwnComment & { readonly posting: Posting },
): Promise<string> {
  const edit = () => host.editComment(change, id, body);
  try {
    await edit().catch((error: unknown) => {
      if (!(error instanceof HostFailure) || !mayPassLater(error)) throw error;
      return edit();
    });
    return id;
  } catch (error) {
    if (!(error instanceof HostFailure)) throw error;
    const edited = error.maybeDone ? await findPosted(host, change, body) : undefined;
    return edited ?? (await postOnce(host, change, body, posting));
  }
}

export interface PublishPlanOptions {
  readonly runId: string;
  readonly automatic: boolean;
  /** Our own comments on the change request, if the caller has them already. */
  readonly earlier?: readonly OwnComment[] | undefined;
  readonly posting: Posting;
  readonly log: Log;
  /** Called when the plan is posted, before earlier ones are marked as outdated. */
  readonly onPosted?: () => void;
}

/** Posts the plan, or writes it into the last one if neither affects anything, and hides earlier ones. @returns The id of the first comment. */
export async function publishPlan(
  host: CodeHost,
  change: ChangeRequestRef,
  parts: readonly string[],
  { runId, automatic, earlier, posting, log, onPosted }: PublishPlanOptions,
): Promise<string | undefined> {
  const own = earlier ?? (await host.listOwnComments(change));
  const current = own.filter((comment) => isCurrentPlan(comment) && !isOfRun(comment, runId, parts));
  const [only] = parts;
  const reused = automatic && parts.length === 1 && only !== undefined ? repeatable(only, current) : undefined;
  const id = reused === undefined ? await publish(host, change, parts, { runId, posting }) : reused.id;
  if (reused !== undefined && only !== undefined) {
    const body = remark(only, { runId, part: 1 });
    if (remark(reused.body, { runId }) !== body) await host.editComment(change, reused.id, body);
  }
  onPosted?.();
  const outdated = current.filter((comment) => comment.id !== reused?.id);
  for (const comment of outdated) await retire(host, change, comment, log);
  return id;
}

/** The body of a plan comment that a newer plan replaces: marked and folded. Undefined for any other comment. */
export function markStale(body: string): string | undefined {
  const marker = readMarker(body);
  if (marker === undefined || marker.stale === true) return undefined;
  if (marker.kind !== "plan" && marker.kind !== "no-applications") return undefined;
  const content = body.slice(body.indexOf("-->") + 3).trim();
  const commit = marker.head === undefined ? "" : ` of commit ${marker.head.slice(0, 8)}`;
  return `${markerLine({ ...marker, stale: true })}\n${details(`Outdated plan${commit}: a newer one is below`, content)}`;
}

/** Whether a comment shows a plan that no newer one has replaced. */
export function isCurrentPlan({ body }: OwnComment): boolean {
  return markStale(body) !== undefined;
}

/** Whether an interrupted attempt of this run posted it; posting the plan again updates it. */
function isOfRun({ body }: OwnComment, runId: string, parts: readonly string[]): boolean {
  const [own, now] = [readMarker(body), readMarker(parts[0] ?? "")];
  if (own?.runId !== runId || now === undefined) return false;
  return haveSameTarget(own, now) && (own.part ?? 1) <= parts.length;
}

async function retire(host: CodeHost, change: ChangeRequestRef, { id, body }: OwnComment, log: Log): Promise<void> {
  const marked = markStale(body);
  if (marked === undefined) return;
  try {
    await host.editComment(change, id, marked);
  } catch (error) {
    log.warn({ err: error, comment: id }, "could not mark an outdated plan");
    return;
  }
  try {
    await host.minimise(change, id);
  } catch (error) {
    log.warn({ err: error, comment: id }, "could not hide an outdated plan");
  }
}

function repeatable(body: string, current: readonly OwnComment[]): OwnComment | undefined {
  const last = current.at(-1);
  if (last === undefined || readMarker(body)?.kind !== "no-applications") return undefined;
  return readMarker(last.body)?.kind === "no-applications" ? last : undefined;
}

type Poster = Pick<CodeHost, "postComment" | "listOwnComments">;

/** Posts a comment whose marker names run and part, at most twice, and only if the first one is not there. @returns The id. @throws {HostFailure} */
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

/** Id of our own comment with the same kind, run and part; undefined if there is none. */
async function findPosted(host: Poster, change: ChangeRequestRef, body: string): Promise<string | undefined> {
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

/** Posts a comment, or updates the one that an interrupted attempt of the same run posted. @returns Its id. */
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

/** A plan of another head or base branch is another plan, since people may have replied to it. A progress comment becomes the answer. */
function standsFor(found: Marker | undefined, wanted: Marker | undefined): boolean {
  if (found === undefined || wanted === undefined || found.runId !== wanted.runId) return false;
  if (placeOf(found) !== placeOf(wanted) || (found.part ?? 1) !== (wanted.part ?? 1)) return false;
  return placeOf(wanted) !== "plan" || haveSameTarget(found, wanted);
}

function placeOf({ kind }: Marker): "plan" | "answer" | "merge" | "reminder" | "rollout" {
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
    case "rollout":
      return kind;
  }
}

/** Whether an earlier attempt of this run has answered. @param plans Whether a posted plan counts as an answer. */
export async function hasAnswered(
  host: Pick<CodeHost, "listOwnComments">,
  change: ChangeRequestRef,
  runId: string,
  plans: "plans-too" | "but-plans",
): Promise<boolean> {
  return hasMarked(host, change, (marker) => {
    if (marker.runId !== runId || marker.kind === "progress") return false;
    return plans === "plans-too" || marker.kind === "result" || marker.kind === "refused";
  });
}

/** Whether this head was planned last, with whatever Kubernetes says to that, or a comment says why it could not be. */
export async function isHeadAnswered(
  host: Pick<CodeHost, "listOwnComments">,
  change: ChangeRequestRef,
  head: Revision,
): Promise<boolean> {
  const markers = (await host.listOwnComments(change)).flatMap(({ body }) => readMarker(body) ?? []);
  const last = markers.findLast(
    ({ kind, part = 1, automatic }) =>
      (kind === "plan" && part === 1) || kind === "no-applications" || automatic === true,
  );
  return last?.head === head && last.asking !== true;
}

export async function hasAnsweredOutsider(
  host: Pick<CodeHost, "listOwnComments">,
  change: ChangeRequestRef,
): Promise<boolean> {
  return hasMarked(host, change, ({ login }) => login !== undefined);
}

/** Whether a comment says already that commands are written without a sign before the command word. */
export async function hasToldForm(host: Pick<CodeHost, "listOwnComments">, change: ChangeRequestRef): Promise<boolean> {
  return hasMarked(host, change, ({ form }) => form === true);
}

async function hasMarked(
  host: Pick<CodeHost, "listOwnComments">,
  change: ChangeRequestRef,
  matches: (marker: Marker) => boolean,
): Promise<boolean> {
  const markers = (await host.listOwnComments(change)).flatMap(({ body }) => readMarker(body) ?? []);
  return markers.some(matches);
}
