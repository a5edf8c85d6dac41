import { LRUCache } from "lru-cache";
import { isHeadAnswered } from "../comments/publish.js";
import { parseComment } from "../core/commands/parse-command.js";
import type { RepositoryName } from "../core/model/brand.js";
import {
  changeRequestKey,
  changeRequestRef,
  type ChangeRequestRef,
  identityKey,
  sameChangeRequest,
  sameRepositoryOf,
} from "../core/model/change-request.js";
import { overdueChanges } from "../core/model/deployment.js";
import { HostFailure } from "../core/model/errors.js";
import { type BranchPushed, foundHead, type HostEvent } from "../core/model/event.js";
import type { AuditLog } from "../core/ports/audit.js";
import type { Clock } from "../core/ports/clock.js";
import type { CodeHost, RecentComment, RecentHead } from "../core/ports/code-host.js";
import type { Deployer } from "../core/ports/deployer.js";
import type { EventQueue } from "../core/ports/event-queue.js";
import type { Log } from "../core/ports/log.js";
import type { DeploymentStore, LockStore, PlanStore } from "../core/ports/stores.js";
import type { Push } from "../hosts/webhook-route.js";
import { type HostId, QUEUE_KEY_PREFIX } from "../names.js";
import {
  type Search,
  SEARCH_BACK_MS,
  type SharedRecords,
  sharedSearches,
  claimsInterval,
} from "../store/shared-records.js";
import type { Stores } from "../store/stores.js";
import { reconcile, reconcileChange, type ReconcileParts } from "./reconcile.js";
import { type SystemWatch, WATCH_EVERY_MS } from "./system-watch.js";
import { LOOK_AT_TOKENS_EVERY_MS, type TokenWatch } from "./token-watch.js";

const RECONCILE_EVERY_MS = 5 * 60_000;
const SWEEP_EVERY_MS = 10 * 60_000;
/** A killed replica leaves many lanes, which the others take over one by one; one search serves all of them. */
const TAKE_OVER_EVERY_MS = 15_000;
/** Minimum interval between checks of the same holder. */
const HOLDER_EVERY_MS = 60_000;
const MAX_HOLDERS = 1000;

interface ChoreParts extends Omit<FindLostParts, "searches">, Pick<RemindParts, "remindAfter"> {
  readonly deployer: Deployer;
  /** Undefined if no receiver wants to hear of outages. */
  readonly watch: SystemWatch | undefined;
  readonly tokens: TokenWatch;
  /** Redis shared with other replicas; undefined if there are none. */
  readonly connection: Stores["connection"];
}

interface RemindParts {
  readonly deployments: DeploymentStore;
  readonly reminders: Reminders;
  readonly queue: EventQueue;
  /** Milliseconds. */
  readonly remindAfter: number | "off";
  readonly clock: Clock;
}

/** Periodic work. With several replicas, one of them does it per interval. */
export function createChores(parts: ChoreParts) {
  const { deployer, connection, clock, log } = parts;

  const searches = sharedSearches(connection);
  const reminders = new Reminders(connection, clock);

  async function makeUpForLostWebhooks(): Promise<void> {
    await reconcile(parts);
    await remindWaiting({ ...parts, reminders });
    await findLost({ ...parts, searches });
  }

  async function sweep(): Promise<void> {
    const deleted = await deployer.sweep(clock.now());
    if (deleted > 0) log.info({ deleted }, "deleted expired temporary Applications");
  }

  async function trySweep(mayRun: () => Promise<boolean>): Promise<void> {
    try {
      if (await mayRun()) await sweep();
    } catch (error) {
      log.warn({ err: error }, "sweeping temporary Applications failed");
    }
  }

  async function tryReconcile(mayRun: () => Promise<boolean>): Promise<void> {
    try {
      if (await mayRun()) await makeUpForLostWebhooks();
    } catch (error) {
      log.warn({ err: error }, "reconciling failed");
    }
  }

  /** When each holder was last checked, in epoch milliseconds. */
  const checkedAt = new LRUCache<string, number>({ max: MAX_HOLDERS });

  /** Checks the holder of a lock that somebody waits for: it may be closed by now. Logs errors. */
  async function checkHolder(holder: ChangeRequestRef): Promise<void> {
    const [key, now] = [identityKey(holder), clock.now().getTime()];
    if (now - (checkedAt.get(key) ?? -Infinity) < HOLDER_EVERY_MS) return;
    checkedAt.set(key, now);
    await reconcileChange(holder, { holds: true, unsettled: false }, parts);
  }

  /** Checks whether Argo CD and the store answer, if receivers want to know. Logs errors. */
  const watch = async () => parts.watch?.look();

  return {
    /** Makes up for lost webhooks and sends reminders, even if another replica just did. */
    reconcile: makeUpForLostWebhooks,
    /** Deletes expired temporary Applications, even if another replica just did. */
    sweep,
    /** Does both, since webhooks may have been lost while nothing ran. Logs errors. */
    async doAtStart(): Promise<void> {
      await trySweep(() => Promise.resolve(true));
      await parts.tokens.look();
      // The last replica to do it may have been killed halfway.
      await tryReconcile(() => Promise.resolve(true));
    },
    /** Makes up for webhooks that a killed replica may have lost. Logs errors. */
    reconcileAfterTakeOver: () => tryReconcile(() => claimsInterval(connection, "take-over", TAKE_OVER_EVERY_MS)),
    checkHolder,
    watch,
    /** Starts the intervals. @returns Stops them. */
    doInIntervals(): () => void {
      // With several replicas, one of them does it.
      const mayReconcile = () => claimsInterval(connection, "reconcile", RECONCILE_EVERY_MS);
      const maySweep = () => claimsInterval(connection, "sweep", SWEEP_EVERY_MS);
      const timers = [
        setInterval(() => void tryReconcile(mayReconcile), RECONCILE_EVERY_MS),
        setInterval(() => void trySweep(maySweep), SWEEP_EVERY_MS),
        // Each replica shows what it knows.
        setInterval(() => void parts.tokens.look(), LOOK_AT_TOKENS_EVERY_MS),
        ...(parts.watch === undefined ? [] : [setInterval(() => void watch(), WATCH_EVERY_MS)]),
      ];
      for (const timer of timers) timer.unref();
      return () => {
        for (const timer of timers) clearInterval(timer);
      };
    },
  };
}

/** Pushes a reminder for everything that has been deployed and not merged for too long. Asks no host. */
export async function remindWaiting({ deployments, reminders, queue, remindAfter, clock }: RemindParts): Promise<void> {
  if (remindAfter === "off") return;
  const now = clock.now();
  for (const { change } of overdueChanges(await deployments.list(), now, remindAfter)) {
    const key = changeRequestKey(change);
    if (!(await reminders.isTime(key))) continue;
    const delivery = `still-deployed-${key}-${now.getTime()}`;
    await queue.push({ kind: "still-deployed", delivery, change: changeRequestRef(change) });
  }
}

interface FindLostParts extends ReconcileParts {
  readonly commandWord: string;
  readonly audit: AuditLog;
  readonly plans: PlanStore;
  /** By host and repository. */
  readonly searches: SharedRecords<Search>;
}

/** How far back the first search in a repository goes. */
const FIRST_LOOK_MS = 60 * 60_000;
/** Time for a head's webhook to arrive before it counts as lost. */
const ON_ITS_WAY_MS = 60_000;
/** Allowed difference between the host's clock and ours. */
const SKEW_MS = 60_000;
/** Repositories per search, longest unsearched first. */
const MAX_REPOSITORIES = 30;
/** Events per search; the rest follow in the next ones. */
const MAX_FOUND = 20;
/** Audit entries that name the repositories to search. */
const MAX_ENTRIES = 1000;

interface Place {
  readonly host: CodeHost;
  readonly repository: RepositoryName;
  readonly since: Date;
}

/**
 * Finds commands and heads whose event was lost: it was accepted while Redis was unavailable and the process died
 * before answering. Searches repositories that the audit trail, the locks or the deployments mention.
 */
async function findLost(parts: FindLostParts): Promise<void> {
  let left = MAX_FOUND;
  for (const place of await placesOf(parts)) {
    try {
      left -= await findLostIn(place, left, parts);
    } catch (error) {
      // Repositories that were deleted or are no longer ours must neither come first each time nor fill the log.
      if (error instanceof HostFailure && error.reason === "not-found") {
        await saveSearch(place, parts.clock.now(), parts);
        continue;
      }
      parts.log.warn({ err: error, repository: place.repository }, "could not look for lost webhooks");
    }
    if (left <= 0) return;
  }
}

async function placesOf(parts: FindLostParts): Promise<readonly Place[]> {
  const { audit, locks, deployments, hosts, searches, clock } = parts;
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
  for (const [name, { host, repository }] of known) {
    const codeHost = hosts[host];
    if (codeHost === undefined) continue;
    const last = await searches.find(name);
    const until = last === undefined ? now - FIRST_LOOK_MS : Date.parse(last.until);
    places.push({ host: codeHost, repository, since: new Date(Math.max(until, now - SEARCH_BACK_MS)) });
  }
  return places.sort((a, b) => a.since.getTime() - b.since.getTime()).slice(0, MAX_REPOSITORIES);
}

function saveSearch(
  { host, repository }: Omit<Place, "since">,
  until: Date,
  { searches }: FindLostParts,
): Promise<void> {
  return searches.save(`${host.id}/${repository}`, { until: until.toISOString() });
}

/** @returns The number of events found. */
async function findLostIn({ host, repository, since }: Place, most: number, parts: FindLostParts): Promise<number> {
  const now = parts.clock.now().getTime();
  const { heads, comments } = await host.recentActivity(repository, new Date(since.getTime() - SKEW_MS));
  // What stays unsettled now is examined again next time.
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
    const event = foundHead({ ...head.change, headRevision: head.headRevision });
    if (await isHandled(head, event, host, parts)) continue;
    if (await parts.queue.isBusy(head.change)) until = Math.min(until, head.updatedAt.getTime());
    else await give(event, head.updatedAt);
  }
  await saveSearch({ host, repository }, new Date(until), parts);
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

async function isHandled(
  { change, headRevision }: RecentHead,
  event: HostEvent,
  host: CodeHost,
  { plans, queue }: FindLostParts,
): Promise<boolean> {
  if ((await plans.find(change))?.head === headRevision || (await queue.knows(event))) return true;
  return isHeadAnswered(host, change, headRevision);
}

/**
 * Pushes an event to every change request of the repository that holds a lock, so that it checks whether the push
 * outdates its plan. A failure is logged and does no harm: a sync checks again by itself.
 */
export async function tellPlanned(
  { delivery, host, branch, ...pushed }: BranchPushed,
  { locks, push, log }: { readonly locks: LockStore; readonly push: Push; readonly log: Log },
): Promise<void> {
  try {
    const holders = (await locks.list()).map(({ holder }) => holder);
    const planned = new Map(
      holders
        .filter((holder) => holder.host === host && sameRepositoryOf(holder, pushed))
        .map((holder) => [identityKey(holder), { ...holder, repository: pushed.repository }]),
    );
    for (const change of planned.values()) {
      await push({ kind: "base-moved", delivery: `${delivery}-${change.number}`, change, branch });
    }
  } catch (error) {
    log.warn(
      { repository: pushed.repository, branch, err: error },
      "could not tell the planned change requests of a push",
    );
  }
}

const REMIND_EVERY_MS = 24 * 60 * 60 * 1000;

/** When each change request was last reminded, shared by all replicas: not more than once a day. */
export class Reminders {
  readonly #inMemory = new Map<string, number>();

  constructor(
    private readonly connection: Stores["connection"],
    private readonly clock: Clock,
  ) {}

  /**
   * Whether it is time to remind this change request. If so, it is not for a day, whatever becomes of the reminder.
   * @throws {StoreUnavailable}
   */
  async isTime(changeRequestKey: string): Promise<boolean> {
    if (this.connection !== undefined) {
      const key = `${QUEUE_KEY_PREFIX}:reminded:${changeRequestKey}`;
      return (await this.connection.run((redis) => redis.set(key, "1", "PX", REMIND_EVERY_MS, "NX"))) === "OK";
    }
    const now = this.clock.now().getTime();
    for (const [key, last] of this.#inMemory) if (now - last >= REMIND_EVERY_MS) this.#inMemory.delete(key);
    if (this.#inMemory.has(changeRequestKey)) return false;
    this.#inMemory.set(changeRequestKey, now);
    return true;
  }
}
