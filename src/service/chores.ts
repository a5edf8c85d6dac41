import { LRUCache } from "lru-cache";
import * as z from "zod";
import type { ServerConfig } from "../config/server/server.js";
import { endReplacedOf, isUnsettled } from "../core/deploy/settle-records.js";
import { applicationName } from "../core/model/brand.js";
import {
  type ChangeRequest,
  changeRequestKey,
  changeRequestRef,
  type ChangeRequestRef,
  identityKey,
  sameRepositoryOf,
} from "../core/model/change-request.js";
import { allInTurns } from "../core/model/collections.js";
import { overdueChanges } from "../core/model/deployment.js";
import { ifReadable } from "../core/model/errors.js";
import type { BranchPushed, HostEvent } from "../core/model/event.js";
import { LOCK_LIFETIME_MS } from "../core/model/lock.js";
import type { CodeHost } from "../core/ports/code-host.js";
import type { Deployer } from "../core/ports/deployer.js";
import { leavesOut, type Log } from "../core/ports/log.js";
import type { Notifications } from "../core/ports/notifications.js";
import type { MarkStore, PlanStore } from "../core/ports/stores.js";
import { HOST_IDS, type HostId } from "../names.js";
import { wrapPort } from "../observe/wrap-port.js";
import type { Publisher } from "../run/around/publisher.js";
import { markOverdue } from "../run/around/revisit.js";
import { lookAtRollouts } from "../run/around/rollout.js";
import { callNext } from "../run/around/turns.js";
import { claimsInterval, SharedRecords } from "../store/shared-records.js";
import type { Stores } from "../store/stores.js";
import { RecentEvents, type SearchParts } from "./recent-events.js";
import { type SystemWatch, WATCH_EVERY_MS } from "./system-watch.js";
import { LOOK_AT_TOKENS_EVERY_MS, type TokenWatch } from "./token-watch.js";

const RECONCILE_EVERY_MS = 5 * 60_000;
const FOLLOW_EVERY_MS = 15_000;
const SWEEP_EVERY_MS = 10 * 60_000;
/** A killed replica leaves many lanes, which the others take over one by one; one search serves all of them. */
const TAKE_OVER_EVERY_MS = 15_000;
/** Minimum interval between checks of the same holder. */
const HOLDER_EVERY_MS = 60_000;
const MAX_HOLDERS = 1000;

interface ChoreParts
  extends ReconcileParts, Omit<SearchParts, "polls" | "commandWord" | "allowedRepos">, Pick<Stores, "rollouts"> {
  readonly config: ServerConfig;
  /** Undefined if no receiver wants to hear of outages, and no alert looks at metrics. */
  readonly watch: SystemWatch | undefined;
  readonly tokens: TokenWatch;
  readonly publisher: Pick<Publisher, "mark" | "touched" | "written">;
}

/** Periodic work. With several replicas, one of them does it per interval. */
export function createChores(parts: ChoreParts) {
  const { deployer, connection, clock, log } = parts;

  const { config, hosts } = parts;
  const polls = new Map(HOST_IDS.flatMap((id) => pollOf(id, config)));
  const { allowedRepos } = config.defaults;
  const shared = new SharedRecords<OldLocks>("old", oldLocks, 30 * DAY_MS, connection);
  const events = new RecentEvents({ ...parts, polls, allowedRepos, commandWord: config.server.command });

  async function makeUpForLostWebhooks(): Promise<void> {
    await parts.queue.pushUntold();
    const open = await reconcile(parts);
    await markEnded(parts, shared);
    await markOverdue(parts, config.comments.remindAfter, open);
    await events.findLost();
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

  let isReconciling = false;

  /** Runs at most once at a time: where a host at its limit takes longer than the interval, searches would pile up. */
  async function tryReconcile(mayRun: () => Promise<boolean>): Promise<void> {
    if (isReconciling) return;
    isReconciling = true;
    try {
      if (await mayRun()) await makeUpForLostWebhooks();
    } catch (error) {
      log.warn({ err: error }, "reconciling failed");
    } finally {
      isReconciling = false;
    }
  }

  const polling = new Map<HostId, Promise<void>>();

  /** Polls a host, or waits for the poll of it that runs. Logs errors. */
  async function poll(host: CodeHost, mayRun: () => Promise<boolean>): Promise<void> {
    try {
      if (!(await mayRun())) return;
      const running = polling.get(host.id) ?? events.poll(host).finally(() => polling.delete(host.id));
      polling.set(host.id, running);
      await running;
    } catch (error) {
      log.warn({ host: host.id, err: error }, "could not poll a code host");
    }
  }

  const polled = Object.values(hosts).filter(({ id }) => polls.has(id));

  /** When each holder was last checked, in epoch milliseconds. */
  const checkedAt = new LRUCache<string, number>({ max: MAX_HOLDERS });

  /** Checks the holder of a lock that somebody waits for: it may be closed by now. Logs errors. */
  async function checkHolder(holder: ChangeRequestRef): Promise<void> {
    const [key, now] = [identityKey(holder), clock.now().getTime()];
    if (now - (checkedAt.get(key) ?? -Infinity) < HOLDER_EVERY_MS) return;
    checkedAt.set(key, now);
    await reconcileChange(holder, { holds: true, unsettled: false }, parts);
  }

  async function tryFollow(mayRun: () => Promise<boolean>): Promise<void> {
    try {
      if (await mayRun()) await lookAtRollouts(parts);
    } catch (error) {
      log.warn({ err: error }, "could not look at rollouts");
    }
  }

  /** Checks whether Argo CD and the store answer, if receivers or alerts want to know. Logs errors. */
  const watch = async () => parts.watch?.look();

  return {
    /** Makes up for lost webhooks and sends reminders, even if another replica just did. */
    reconcile: makeUpForLostWebhooks,
    /** Polls the hosts that are to be polled, even if another replica just did. */
    async poll(): Promise<void> {
      await Promise.all(polled.map((host) => poll(host, () => Promise.resolve(true))));
    },
    /** Deletes expired temporary Applications, even if another replica just did. */
    sweep,
    /** Looks at the rollouts after merges, even if another replica just did. Logs errors. */
    follow: () => tryFollow(() => Promise.resolve(true)),
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
      const mayFollow = () => claimsInterval(connection, "follow", FOLLOW_EVERY_MS);
      const maySweep = () => claimsInterval(connection, "sweep", SWEEP_EVERY_MS);
      const timers = [
        setInterval(() => void tryReconcile(mayReconcile), RECONCILE_EVERY_MS),
        setInterval(() => void trySweep(maySweep), SWEEP_EVERY_MS),
        setInterval(() => void tryFollow(mayFollow), FOLLOW_EVERY_MS),
        // Each replica shows what it knows.
        setInterval(() => void parts.tokens.look(), LOOK_AT_TOKENS_EVERY_MS),
        ...polled.map((host) => {
          const every = polls.get(host.id) ?? 0;
          const mayPoll = () => claimsInterval(connection, `poll-${host.id}`, every);
          // The first poll only notes the time: whatever is opened from now on must come after it.
          void poll(host, mayPoll);
          return setInterval(() => void poll(host, mayPoll), every);
        }),
        ...(parts.watch === undefined ? [] : [setInterval(() => void watch(), WATCH_EVERY_MS)]),
      ];
      for (const timer of timers) timer.unref();
      return () => {
        for (const timer of timers) clearInterval(timer);
      };
    },
  };
}

function pollOf(id: HostId, config: ServerConfig): readonly (readonly [HostId, number])[] {
  const every = config[id]?.poll ?? "off";
  return every === "off" ? [] : [[id, every]];
}

interface TellParts {
  readonly marks: Pick<MarkStore, "applications" | "concernedBy">;
  readonly plans: Pick<PlanStore, "find">;
  readonly publisher: Pick<Publisher, "mark">;
  readonly log: Log;
}

/**
 * Marks the change requests that show the state of an application and may be outdated: those planned against this branch, and all if it
 * is the default branch, whose rules hold for each. Logs a failure.
 */
export async function tellPlanned(
  { host, branch, isDefault, ...pushed }: BranchPushed,
  { marks, plans, publisher, log }: TellParts,
): Promise<void> {
  try {
    const concerned = await allInTurns(await marks.applications(), (one) => marks.concernedBy(one));
    const shown = new Map(
      concerned
        .flat()
        .filter((change) => change.host === host && sameRepositoryOf(change, pushed))
        .map((change) => [identityKey(change), { ...change, repository: pushed.repository }]),
    );
    for (const change of shown.values()) {
      const plan = isDefault ? undefined : await ifReadable(plans.find(change), undefined);
      if (isDefault || plan?.baseBranch === branch) await publisher.mark(change, { patient: true });
    }
  } catch (error) {
    log.warn(
      { repository: pushed.repository, branch, err: error },
      "could not tell the planned change requests of a push",
    );
  }
}

const DAY_MS = 24 * 60 * 60 * 1000;

interface ReconcileParts
  extends
    Pick<Stores, "locks" | "waiting" | "deployments" | "statuses" | "reindex">,
    Pick<SearchParts, "hosts" | "queue" | "clock" | "log"> {
  readonly deployer: Deployer;
  readonly publisher: Pick<Publisher, "touched">;
  readonly notifications: Notifications;
}

/**
 * Makes up for lost webhooks, and for records that the store's lists lack. Pushes the missing "closed" event of closed change
 * requests that still hold a lock, wait for one, hold back the status of a commit that others share, or are recorded as deployed;
 * revisits syncs without a recorded outcome; and passes expired or abandoned locks to those who wait.
 * @returns The keys of those that are open, as far as the host was asked.
 */
export async function reconcile(parts: ReconcileParts): Promise<ReadonlySet<string>> {
  await parts.reindex();
  const skip = leavesOut(parts.log);
  const [locks, queues, records, shared] = await Promise.all([
    parts.locks.list(undefined, skip),
    parts.waiting.list(skip),
    parts.deployments.list(skip),
    parts.statuses.listShared(),
  ]);
  const waiting = queues.flatMap(({ changes }) => changes);
  const holding = [...locks.map(({ holder }) => holder), ...waiting, ...shared];
  const holders = new Set(holding.map(identityKey));
  const unsettled = new Set(
    // After a day, Argo CD no longer knows how a sync ended.
    records
      .filter((one) => isUnsettled(one) && parts.clock.now().getTime() - Date.parse(one.timestamp) < DAY_MS)
      .map(({ change }) => identityKey(change)),
  );
  const changes = new Map<string, ChangeRequestRef>();
  for (const change of [...holding, ...records.map((record) => record.change)]) {
    changes.set(identityKey(change), change);
  }
  const overdue = new Set(overdueChanges(records, parts.clock.now(), DAY_MS).map(({ change }) => identityKey(change)));
  const open = new Set<string>();
  // The host's limit may not suffice for all, so it starts anywhere: not always the same ones are left out.
  const [all, first] = [[...changes], Math.floor(Math.random() * changes.size)];
  for (const [key, change] of [...all.slice(first), ...all.slice(0, first)]) {
    // Thousands of holders would use up the host's limit. A plan that meets a lock of one of them asks about it at once.
    if (!unsettled.has(key) && parts.hosts[change.host]?.scarceUntil(change) !== undefined) continue;
    const state = await reconcileChange(change, { holds: holders.has(key), unsettled: unsettled.has(key) }, parts);
    if (state === "open") open.add(key);
    if (overdue.has(key) && state !== "merged") await tellIfOverdue(change, state, parts);
  }
  const applications = queues.map(({ application }) => application);
  const cause = `reconcile-${parts.clock.now().getTime()}`;
  const push = (event: HostEvent) => parts.queue.push(event);
  await callNext({ applications, after: undefined }, cause, { ...parts, push });
  return open;
}

const oldLocks = z.object({ v: z.literal(1), applications: z.array(z.string().transform(applicationName)) });
/** Applications whose lock is at least six days old, so that it may expire within a day. */
type OldLocks = Omit<z.infer<typeof oldLocks>, "v">;

/** Marks whoever shows a lock that expired since the last look. No run released it, so nothing else marks them. */
async function markEnded(
  { locks, publisher, clock, log }: Pick<ChoreParts, "locks" | "publisher" | "clock" | "log">,
  shared: SharedRecords<OldLocks>,
): Promise<void> {
  const [held, known] = await Promise.all([locks.list(undefined, leavesOut(log)), shared.find("locks")]);
  const names = new Set(held.map(({ application }) => application));
  const before = known?.applications ?? [];
  for (const ended of before.filter((one) => !names.has(one))) await publisher.touched(ended);
  const since = clock.now().getTime() - LOCK_LIFETIME_MS + DAY_MS;
  const old = held.filter(({ timestamp }) => Date.parse(timestamp) <= since);
  if (old.length === 0 && before.length === 0) return;
  await shared.save("locks", { applications: old.map(({ application }) => application) });
}

/** Tells receivers every day that a change request is deployed and not merged, where that still runs and the host names its state. */
async function tellIfOverdue(
  ref: ChangeRequestRef,
  state: "open" | "closed" | undefined,
  { deployments, deployer, publisher, notifications, clock, log }: ReconcileParts,
): Promise<void> {
  const ending = wrapPort(deployments, {
    async remove(call, application) {
      await call();
      await publisher.touched(application, undefined, ref);
    },
  });
  await endReplacedOf(ref, { deployments: ending, deployer, log });
  const now = clock.now();
  const [overdue] = overdueChanges(await deployments.ofChange(ref, leavesOut(log)), now, DAY_MS);
  if (overdue === undefined || state === undefined) return;
  const { change, applications, head, user: by, since } = overdue;
  const days = Math.floor((now.getTime() - Date.parse(since)) / DAY_MS);
  const id = `not-merged ${changeRequestKey(change)} ${since} ${days}`;
  const facts = { change, closed: state === "closed", head, by, since, applications };
  await notifications.publish({ id, at: now.toISOString(), kind: "not-merged", ...facts });
}

/** Pushes the event that a change request misses, and logs failures. @returns Its state, if the host tells. */
async function reconcileChange(
  change: ChangeRequestRef,
  { holds, unsettled }: { readonly holds: boolean; readonly unsettled: boolean },
  parts: ReconcileParts,
): Promise<ChangeRequest["state"] | undefined> {
  const key = changeRequestKey(change);
  try {
    const state = await parts.hosts[change.host]?.state(change);
    // What waits or runs there may be its close, or a sync that has not ended.
    if (state === undefined || (await parts.queue.isBusy(change))) return state;
    const origin = {
      change: changeRequestRef(change),
      delivery: `reconcile-${identityKey(change)}-${parts.clock.now().getTime()}`,
    };
    if (state === "merged" || (state === "closed" && holds)) {
      parts.log.info({ change: key, state }, "cleaning up after a lost webhook");
      await parts.queue.push({ kind: "closed", ...origin });
    } else if (unsettled) {
      await parts.queue.push({ kind: "reviewed", ...origin });
    }
    return state;
  } catch (error) {
    parts.log.warn({ change: key, err: error }, "could not reconcile a change request");
    return undefined;
  }
}
