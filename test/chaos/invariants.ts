import type { Forge, SeenChangeRequest } from "../../sandbox/forge.js";
import type { SandboxWorld } from "../../sandbox/world.js";
import { readMarker } from "../../src/comments/marker.js";
import { HOST_IDS, type HostId } from "../../src/names.js";
import { runIdOf } from "../../src/run.js";
import type { Passed } from "./entrance.js";
import { placeKey, REPOSITORY, type Observer, type SeenSync } from "./observer.js";
import type { Asked } from "./story.js";
import type { Trouble } from "./trouble.js";

/** Everything that a round left behind. */
export interface Aftermath {
  readonly world: SandboxWorld;
  readonly passed: readonly Passed[];
  readonly asked: readonly Asked[];
  readonly opened: readonly { readonly host: HostId; readonly number: number }[];
  readonly observer: Observer;
  readonly trouble: Trouble;
}

/** What must not be, in words; empty after a good round. */
export async function violations(after: Aftermath): Promise<string[]> {
  return [
    ...after.asked.flatMap((one) => wrongAnswers(one, after)),
    ...after.opened.flatMap((place) => doubleComments(seenOf(after.world, place), placeKey(place))),
    ...after.opened.flatMap((place) => missingPlan(place, after)),
    ...wrongSyncs(after.observer.syncs),
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

function forgeOf(world: SandboxWorld, host: HostId): Forge {
  const forge = host === "hosta" ? world.github : world.gitlab;
  if (forge === undefined) throw new Error(`there is no ${host}`);
  return forge;
}

function seenOf(
  world: SandboxWorld,
  { host, number }: { readonly host: HostId; readonly number: number },
): SeenChangeRequest {
  return forgeOf(world, host).changeRequest(REPOSITORY, number);
}

/** Every command has one answer; a plan that something newer made needless is answered by what replaced it. */
function wrongAnswers(asked: Asked, { world, passed, trouble, asked: all }: Aftermath): string[] {
  const event = passed.find(
    (one) => one.host === asked.host && commentOf(one.payload) === asked.commentId && one.status === 200,
  );
  if (event === undefined) return [];
  const run = runIdOf(event.delivery);
  const seen = seenOf(world, asked);
  const answers = seen.comments.filter(({ body }) => {
    const marker = readMarker(body);
    return marker?.run === run && marker.kind !== "progress" && marker.kind !== "merge" && (marker.part ?? 1) === 1;
  });
  const certain = !trouble.during(event.from, event.until);
  const replaceable = asked.command === "svc plan" && isReplaced(event, passed, all);
  const least = certain && !replaceable ? 1 : 0;
  if (answers.length >= least && answers.length <= 1) return [];
  const first = answers.map(({ body }) => body.split("\n").slice(0, 3).join(" | ")).join(" || ");
  return [
    `${placeKey(asked)}: \`${asked.command}\` (${event.delivery}) has ${answers.length} answers instead of ${least === 1 ? "one" : "at most one"}: ${first}`,
  ];
}

/** Whether something came after it that a plan gives way to. */
function isReplaced(event: Passed, passed: readonly Passed[], asked: readonly Asked[]): boolean {
  const number = numberOf(event.payload);
  const comments = new Set(asked.map(({ commentId }) => commentId));
  return passed.some((later) => {
    if (later.host !== event.host || numberOf(later.payload) !== number || later.from < event.from) return false;
    return commentOf(later.payload) === undefined && later.delivery !== event.delivery && !comments.has(later.delivery);
  });
}

/** No run posts the same part of the same kind twice. */
function doubleComments(seen: SeenChangeRequest, name: string): string[] {
  const counts = new Map<string, number>();
  for (const { body } of seen.comments) {
    const marker = readMarker(body);
    if (marker?.run === undefined || marker.kind === "progress") continue;
    const key = `${marker.kind} part ${marker.part ?? 1} of run ${marker.run}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return [...counts]
    .filter(([, count]) => count > 1)
    .map(([key, count]) => `${name}: ${key} was posted ${count} times`);
}

/** The head of an open change request has a plan, if its push was accepted while Redis was there. */
function missingPlan(place: { readonly host: HostId; readonly number: number }, after: Aftermath): string[] {
  const seen = seenOf(after.world, place);
  if (seen.state !== "open") return [];
  const push = after.passed.findLast(
    ({ host, payload, status }) => host === place.host && status === 200 && headOf(payload) === seen.headRevision,
  );
  if (push === undefined || after.trouble.during(push.from, push.until)) return [];
  const planned = seen.comments.some(({ body }) => {
    const marker = readMarker(body);
    return marker?.head === seen.headRevision && ["plan", "no-applications", "refused", "result"].includes(marker.kind);
  });
  return planned ? [] : [`${placeKey(place)}: nothing was said about its head ${seen.headRevision} (${push.delivery})`];
}

function wrongSyncs(syncs: readonly SeenSync[]): string[] {
  const wrong: string[] = [];
  const done = new Set<string>();
  for (const { application, run, change, revision, holder, read, between } of syncs) {
    const name = `the sync of ${application} for ${change} at ${revision === "" ? "its target" : revision}`;
    const key = `${application} ${run}`;
    if (done.has(key)) wrong.push(`${name} was sent twice by run ${run}`);
    done.add(key);
    if (holder !== change && holder !== "unknown") wrong.push(`${name} came while ${holder ?? "nobody"} held the lock`);
    if (revision === "") continue;
    const head = read?.head ?? "nothing";
    if (head !== revision) wrong.push(`${name}, but ${head} was its head when it was read last`);
    if (read?.approved === false) wrong.push(`${name}, which was not approved when it was read last`);
    const others = between.filter((call) => !call.endsWith("/spec"));
    if (others.length > 0) wrong.push(`${name} came after ${others.join(", ")}`);
  }
  return wrong;
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
