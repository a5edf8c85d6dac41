import { isHeadAnswered } from "../comments/publish.js";
import { parseComment } from "../core/commands/parse-command.js";
import type { RepositoryName } from "../core/model/brand.js";
import { changeRequestKey, sameChangeRequest } from "../core/model/change-request.js";
import { HostFailure } from "../core/model/errors.js";
import type { HostEvent } from "../core/model/event.js";
import type { AuditLog } from "../core/ports/audit.js";
import type { CodeHost, RecentComment, RecentHead } from "../core/ports/code-host.js";
import type { PlanStore } from "../core/ports/stores.js";
import type { HostId } from "../names.js";
import { LOOK_BACK_MS, type LastLooks } from "../queue/last-looks.js";
import type { ReconcileParts } from "./reconcile.js";

export interface FindLostParts extends ReconcileParts {
  /** What comments begin with to be commands. */
  readonly commandWord: string;
  readonly audit: AuditLog;
  readonly plans: PlanStore;
  readonly looks: LastLooks;
}

/** How far the first look at a repository goes back. */
const FIRST_LOOK_MS = 60 * 60_000;
/** A head is not looked for before its webhook had this time. */
const ON_ITS_WAY_MS = 60_000;
/** The host's clock may differ from ours by so much. */
const SKEW_MS = 60_000;
/** Repositories of one look: those that were not looked at for the longest time. */
const MAX_REPOSITORIES = 30;
/** Events of one look; the rest comes with the next ones. */
const MAX_FOUND = 20;
/** Entries of the audit trail in which repositories are looked for. */
const MAX_ENTRIES = 1000;

interface Place {
  readonly host: CodeHost;
  readonly repository: RepositoryName;
  readonly since: Date;
}

/**
 * Finds the commands and heads whose event was lost: it was accepted while Redis was away, and the process died before it
 * had answered it. Looks at repositories of which the audit trail, the locks or the records know.
 */
export async function findLost(parts: FindLostParts): Promise<void> {
  let left = MAX_FOUND;
  for (const place of await placesOf(parts)) {
    try {
      left -= await findLostIn(place, left, parts);
    } catch (error) {
      // A repository that was deleted or taken from us must neither come first at each look nor fill the log.
      if (error instanceof HostFailure && error.reason === "not-found") {
        await parts.looks.save(place.host.id, place.repository, parts.clock.now());
        continue;
      }
      parts.log.warn({ err: error, repository: place.repository }, "could not look for lost webhooks");
    }
    if (left <= 0) return;
  }
}

async function placesOf(parts: FindLostParts): Promise<readonly Place[]> {
  const { audit, locks, deployments, hosts, looks, clock } = parts;
  const [entries, held, records] = await Promise.all([
    audit.list({ limit: MAX_ENTRIES }),
    locks.list(),
    deployments.list(),
  ]);
  const changes = [...entries, ...records].map(({ change }) => change).concat(held.map(({ holder }) => holder));
  const known = new Map<string, { readonly host: HostId; readonly repository: RepositoryName }>();
  for (const { host, repository } of changes) known.set(`${host}/${repository}`, { host, repository });
  const now = clock.now().getTime();
  const places: Place[] = [];
  for (const { host, repository } of known.values()) {
    const codeHost = hosts[host];
    if (codeHost === undefined) continue;
    const last = (await looks.find(host, repository))?.getTime() ?? now - FIRST_LOOK_MS;
    places.push({ host: codeHost, repository, since: new Date(Math.max(last, now - LOOK_BACK_MS)) });
  }
  return places.sort((a, b) => a.since.getTime() - b.since.getTime()).slice(0, MAX_REPOSITORIES);
}

/** @returns How many events were found. */
async function findLostIn({ host, repository, since }: Place, most: number, parts: FindLostParts): Promise<number> {
  const now = parts.clock.now().getTime();
  const { heads, comments } = await host.recentActivity(repository, new Date(since.getTime() - SKEW_MS));
  // What is not settled in this look is in the next one.
  let until = now - ON_ITS_WAY_MS;
  let found = 0;
  const give = async (event: HostEvent, at: Date): Promise<void> => {
    if (found >= most) {
      until = Math.min(until, at.getTime());
      return;
    }
    found += 1;
    parts.log.info(
      { change: changeRequestKey(event.change), kind: event.kind },
      "found an event whose webhook was lost",
    );
    await parts.queue.push(event);
  };
  const self = await host.self();
  const commands = comments.filter(
    ({ author, body }) => author.id !== self.id && parseComment(body, parts.commandWord) !== undefined,
  );
  for (const comment of commands) {
    const event = eventOfComment(comment, commands);
    if (!(await parts.queue.knows(event))) await give(event, comment.createdAt);
  }
  for (const head of heads) {
    if (head.updatedAt.getTime() > now - ON_ITS_WAY_MS) continue;
    const event = eventOfHead(head);
    if (await isHandled(head, event, host, parts)) continue;
    if (await parts.queue.isBusy(head.change)) until = Math.min(until, head.updatedAt.getTime());
    else await give(event, head.updatedAt);
  }
  await parts.looks.save(host.id, repository, new Date(until));
  return found;
}

function eventOfComment(comment: RecentComment, all: readonly RecentComment[]): HostEvent {
  const { change, id, body, author, createdAt } = comment;
  const later = all.slice(all.indexOf(comment) + 1);
  return {
    kind: "commented",
    delivery: `found-comment-${changeRequestKey(change)}-${id}`,
    change,
    commentId: id,
    body,
    author,
    found: {
      writtenAt: createdAt.toISOString(),
      overtaken: later.some((other) => sameChangeRequest(other.change, change)),
    },
  };
}

function eventOfHead({ change, headRevision }: RecentHead): HostEvent {
  const delivery = `found-head-${changeRequestKey(change)}-${headRevision}`;
  return { kind: "updated", reason: "pushed", delivery, change };
}

async function isHandled(
  { change, headRevision }: RecentHead,
  event: HostEvent,
  host: CodeHost,
  { plans, queue }: FindLostParts,
): Promise<boolean> {
  if ((await plans.find(change))?.head === headRevision || (await queue.knows(event))) return true;
  return isHeadAnswered(host, change, headRevision);
}
