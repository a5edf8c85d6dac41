import type { Forge, SeenChangeRequest, SeenComment } from "../../sandbox/forge.js";
import type { SandboxWorld } from "../../sandbox/world.js";
import { readMarker } from "../../src/comments/marker.js";
import { repositoryName } from "../../src/core/model/brand.js";
import { HOST_IDS, type HostId } from "../../src/names.js";
import { runKeyOfComment } from "../../src/run/line/supervise.js";
import { runIdOf } from "../../src/service/service.js";
import type { Passed } from "./entrance.js";
import { type Observer, type Place, placeKey, REPOSITORY, type SeenSync } from "./observer.js";
import type { Asked, Opened } from "./story.js";
import type { Trouble } from "./trouble.js";

/** Everything that a round left behind. */
export interface Aftermath {
  readonly world: SandboxWorld;
  readonly passed: readonly Passed[];
  readonly asked: readonly Asked[];
  readonly opened: readonly Opened[];
  readonly observer: Observer;
  readonly trouble: Trouble;
  /** Whether a replica said that Redis did not answer it in time when this delivery came. */
  readonly isRefused: (delivery: string) => boolean;
}

/** What must not be, in words; empty after a good round. */
export async function violations(after: Aftermath): Promise<string[]> {
  return [
    ...after.asked.flatMap((one) => wrongAnswers(one, after)),
    ...after.opened.flatMap((place) => doubleComments(seenOf(after.world, place), placeKey(place))),
    ...after.opened.flatMap((place) => missingPlan(place, after)),
    ...wrongSyncs(after.observer.syncs),
    ...after.observer.takenWhileRunning,
    ...after.opened.flatMap((place) => wrongMerge(place, after)),
    ...(await leftBehind(after)),
    ...HOST_IDS.flatMap((host) => forgeOf(after.world, host).violations),
    ...after.world.argocd.violations,
  ];
}

/** Locks of change requests that ended, and temporary Applications. */
export async function leftBehind({ world, opened, observer }: Aftermath): Promise<string[]> {
  const ended = new Set(
    opened.filter((place) => seenOf(world, place).state !== "open").map((place) => placeKey(place)),
  );
  const locks = await observer.locks();
  return [
    ...[...locks]
      .filter(([, holder]) => ended.has(holder))
      .map(([name, holder]) => `${name} is locked by ${holder}, which ended`),
    ...world.argocd.temporaryApplications().map(({ metadata }) => `${metadata.name} was left in Argo CD`),
  ];
}

/** Locks of change requests whose end was accepted while Redis was there: its event releases them, nothing later. */
export async function keptAfterClosing(after: Aftermath): Promise<string[]> {
  const { world, opened, observer, passed } = after;
  const locks = await observer.locks();
  return [...locks].flatMap(([name, holder]) => {
    const place = opened.find((one) => placeKey(one) === holder);
    if (place === undefined || seenOf(world, place).state === "open") return [];
    const closing = passed.findLast(
      ({ host, payload, status }) =>
        host === place.host && status === 200 && isClosing(payload) && numberOf(payload) === place.number,
    );
    if (closing === undefined || !isAccepted(closing, after)) return [];
    return [`${name} was still locked by ${holder} after its closing ${closing.delivery}`];
  });
}

/** Redis was there when the event came, for the replica that took it. */
function isAccepted({ delivery, from, until }: Passed, { trouble, isRefused }: Aftermath): boolean {
  return !trouble.during(from, until) && !isRefused(delivery);
}

function forgeOf(world: SandboxWorld, host: HostId): Forge {
  const forge = host === "hosta" ? world.github : world.gitlab;
  if (forge === undefined) throw new Error(`there is no ${host}`);
  return forge;
}

function seenOf(world: SandboxWorld, { host, number }: Place): SeenChangeRequest {
  return forgeOf(world, host).changeRequest(REPOSITORY, number);
}

/** Every command has one answer; a plan that something newer made needless is answered by what replaced it. */
function wrongAnswers(asked: Asked, after: Aftermath): string[] {
  const { world, passed, isRefused } = after;
  const event = passed.find(
    (one) => one.host === asked.host && commentOf(one.payload) === asked.commentId && one.status === 200,
  );
  if (event === undefined) return [];
  const run = runIdOf(
    runKeyOfComment(
      { host: asked.host, repository: repositoryName(REPOSITORY), number: asked.number },
      asked.commentId,
    ),
  );
  const seen = seenOf(world, asked);
  const answers = finalsOf(run, seen);
  const certain = isAccepted(event, after);
  const replaceable = asked.command === "svc plan" && isReplaced(event, passed);
  const least = certain && !replaceable ? 1 : 0;
  // Sent once more to a replica without Redis, it is refused beside its answer.
  const repeated = passed.filter(({ delivery }) => delivery === event.delivery).length > 1;
  const most = repeated && isRefused(event.delivery) ? 2 : 1;
  if (answers.length >= least && answers.length <= most) return [];
  const first = answers.map(({ body }) => body.split("\n").slice(0, 3).join(" | ")).join(" || ");
  return [
    `${placeKey(asked)}: \`${asked.command}\` (${event.delivery}) has ${answers.length} answers instead of ${least === most ? "one" : `at most ${most}`}: ${first}`,
  ];
}

/** The answers of a run, without plans that the same run made anew for a newer head. */
function finalsOf(run: string, { comments }: SeenChangeRequest): readonly SeenComment[] {
  const answers = comments.filter(({ body }) => {
    const marker = readMarker(body);
    return marker?.runId === run && !["progress", "merge"].includes(marker.kind) && (marker.part ?? 1) === 1;
  });
  const isPlan = ({ body }: SeenComment): boolean => readMarker(body)?.kind === "plan";
  const heads = new Set(answers.filter(isPlan).map(({ body }) => readMarker(body)?.head));
  const last = answers.findLast(isPlan);
  const distinct = heads.size === answers.filter(isPlan).length;
  return distinct ? answers.filter((one) => !isPlan(one) || one === last) : answers;
}

/** Whether a push was accepted after it came, which a plan gives way to. */
function isReplaced(event: Passed, passed: readonly Passed[]): boolean {
  const number = numberOf(event.payload);
  return passed.some((later) => {
    if (later.host !== event.host || numberOf(later.payload) !== number || later.until < event.from) return false;
    return headOf(later.payload) !== undefined;
  });
}

/** No run posts the same part of the same kind twice; a plan that is begun anew after a push is another one. */
function doubleComments(seen: SeenChangeRequest, name: string): string[] {
  const counts = new Map<string, number>();
  for (const { body } of seen.comments) {
    const marker = readMarker(body);
    if (marker?.runId === undefined || marker.kind === "progress") continue;
    const key = `${marker.kind} part ${marker.part ?? 1} of run ${marker.runId} for ${marker.head ?? "no head"}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return [...counts]
    .filter(([, count]) => count > 1)
    .map(([key, count]) => `${name}: ${key} was posted ${count} times`);
}

/** The head of an open change request has a plan, if its push was accepted while Redis was there. */
function missingPlan(place: Place, after: Aftermath): string[] {
  const seen = seenOf(after.world, place);
  if (seen.state !== "open") return [];
  const push = after.passed.findLast(
    ({ host, payload, status }) => host === place.host && status === 200 && headOf(payload) === seen.headRevision,
  );
  if (push === undefined || !isAccepted(push, after)) return [];
  const planned = seen.comments.some(({ body }) => {
    const marker = readMarker(body);
    return marker?.head === seen.headRevision && ["plan", "no-applications", "refused", "result"].includes(marker.kind);
  });
  return planned ? [] : [`${placeKey(place)}: nothing was said about its head ${seen.headRevision} (${push.delivery})`];
}

function wrongSyncs(syncs: readonly SeenSync[]): string[] {
  const wrong: string[] = [];
  const done = new Set<string>();
  for (const { application, run, change, revision, dryRun, holder, read, between } of syncs) {
    const name = `the sync of ${application} for ${change} at ${revision === "" ? "its target" : revision}`;
    const key = `${application} ${run}`;
    if (done.has(key)) wrong.push(`${name} was sent twice by run ${run}`);
    done.add(key);
    if (holder !== change && holder !== "unknown") wrong.push(`${name} came while ${holder ?? "nobody"} held the lock`);
    if (revision === "") continue;
    const head = read?.head ?? "nothing";
    if (head !== revision) wrong.push(`${name}, but ${head} was its head when it was read last`);
    if (read?.approved === false && !dryRun) wrong.push(`${name}, which was not approved when it was read last`);
    const others = between.filter((call) => !call.endsWith("/spec"));
    if (others.length > 0) wrong.push(`${name} came after ${others.join(", ")}`);
  }
  return wrong;
}

/** What the service merged was approved, and each application that it affects was synced at its last commit. */
function wrongMerge(place: Opened, { world, observer }: Aftermath): string[] {
  const seen = seenOf(world, place);
  const change = placeKey(place);
  if (seen.state !== "merged" || seen.mergedBy === "bo") return [];
  const head = seen.headRevision;
  const merge = observer.merges.findLast((one) => one.change === change && one.head === head);
  if (merge === undefined) return [`${change} was merged at ${head}, which nobody asked for`];
  const synced = new Set(
    observer.syncs
      .filter((one) => one.change === change && one.revision === head)
      .map(({ application }) => application),
  );
  return [
    ...(merge.approved ? [] : [`${change} was merged at ${head} without an approval`]),
    ...[...place.affected]
      .filter((name) => !synced.has(name))
      .map((name) => `${change} was merged at ${head}, and ${name} was never synced at it`),
  ];
}

type Fields = Readonly<Record<string, unknown>>;

function member(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (at, name) => (typeof at === "object" && at !== null ? (at as Fields)[name] : undefined),
    value,
  );
}

/** The id of the comment that was written, as text; undefined for other events. */
function commentOf(payload: unknown): string | undefined {
  const gitlab = member(payload, "object_kind") === "note" ? member(payload, "object_attributes", "id") : undefined;
  const id = member(payload, "comment", "id") ?? gitlab;
  return typeof id === "number" || typeof id === "string" ? String(id) : undefined;
}

function numberOf(payload: unknown): unknown {
  return (
    member(payload, "pull_request", "number") ??
    member(payload, "issue", "number") ??
    member(payload, "merge_request", "iid") ??
    member(payload, "object_attributes", "iid")
  );
}

/** The head that an opening or a push brought. */
function headOf(payload: unknown): unknown {
  const action = member(payload, "action") ?? member(payload, "object_attributes", "action");
  if (action === "opened" || action === "synchronize") return member(payload, "pull_request", "head", "sha");
  const pushed =
    action === "open" || (action === "update" && member(payload, "object_attributes", "oldrev") !== undefined);
  return pushed ? member(payload, "object_attributes", "last_commit", "id") : undefined;
}

function isClosing(payload: unknown): boolean {
  const action = member(payload, "action") ?? member(payload, "object_attributes", "action");
  return action === "closed" || action === "close" || action === "merge";
}
