import { LRUCache } from "lru-cache";
import { changeRequestKey, changeRequestRef, type ChangeRequestRef } from "../core/model/change-request.js";
import { overdueChanges } from "../core/model/overdue.js";
import type { Clock } from "../core/ports/clock.js";
import type { Deployer } from "../core/ports/deployer.js";
import type { EventQueue } from "../core/ports/event-queue.js";
import type { DeploymentStore, LockStore } from "../core/ports/stores.js";
import { LastLooks } from "../queue/last-looks.js";
import { Reminders } from "../queue/reminders.js";
import { takesTurn } from "../queue/turn.js";
import type { Stores } from "../store/stores.js";
import { findLost, type FindLostParts } from "./find-lost.js";
import { reconcile, reconcileChange } from "./reconcile.js";
import { WATCH_EVERY_MS, type SystemWatch } from "./system-watch.js";

const RECONCILE_EVERY_MS = 5 * 60_000;
const SWEEP_EVERY_MS = 10 * 60_000;
/** A killed replica leaves many lanes, which the others take over one by one. One look is enough for all of them. */
const TAKE_OVER_EVERY_MS = 15_000;
/** A holder that keeps others waiting is looked at this often at most. */
const HOLDER_EVERY_MS = 60_000;
const MAX_HOLDERS = 1000;

export interface ChoreParts extends Omit<FindLostParts, "looks">, Pick<RemindParts, "remindAfter"> {
  readonly deployer: Deployer;
  /** Undefined if no receiver wants to hear of outages. */
  readonly watch: SystemWatch | undefined;
  /** Shared with other replicas; undefined if there are none. */
  readonly connection: Stores["connection"];
}

export interface RemindParts {
  readonly deployments: DeploymentStore;
  readonly reminders: Reminders;
  readonly queue: EventQueue;
  /** Milliseconds. */
  readonly remindAfter: number | "off";
  readonly clock: Clock;
}

/** What the service does by itself from time to time. Of several replicas, one does it per interval. */
export interface Chores {
  /** Makes up for lost webhooks, and reminds of what is deployed and not merged, whichever replica has the turn. */
  reconcile(): Promise<void>;
  /** Deletes expired temporary Applications, whichever replica has the turn. */
  sweep(): Promise<void>;
  /** Does both, since webhooks may have been lost and Applications left while nothing ran. Logs errors. */
  doAtStart(): Promise<void>;
  /** Another replica was killed, and this one took over its work: webhooks may have been lost with it. Logs errors. */
  afterTakeOver(): Promise<void>;
  /** A change request waits for a lock of this one, which may be closed by now. Logs errors. */
  lookAtHolder(holder: ChangeRequestRef): Promise<void>;
  /** Looks whether the systems around answer, if receivers want to know. Logs errors. */
  watch(): Promise<void>;
  /** Does all of it in intervals. @returns Stops that. */
  doInIntervals(): () => void;
}

export function createChores(parts: ChoreParts): Chores {
  const { deployer, connection, clock, log } = parts;

  const looks = new LastLooks(connection);
  const reminders = new Reminders(connection, clock);

  async function makeUpForLostWebhooks(): Promise<void> {
    await reconcile(parts);
    await remindWaiting({ ...parts, reminders });
    await findLost({ ...parts, looks });
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

  const reconcileInTurn = () => tryReconcile(() => takesTurn(connection, "reconcile", RECONCILE_EVERY_MS));

  /** When each holder was looked at, in milliseconds since 1970. */
  const lookedAt = new LRUCache<string, number>({ max: MAX_HOLDERS });

  async function lookAtHolder(holder: ChangeRequestRef): Promise<void> {
    const [key, now] = [changeRequestKey(holder), clock.now().getTime()];
    if (now - (lookedAt.get(key) ?? -Infinity) < HOLDER_EVERY_MS) return;
    lookedAt.set(key, now);
    await reconcileChange(holder, { holds: true, unsettled: false }, parts);
  }

  const watch = async () => parts.watch?.look();

  return {
    reconcile: makeUpForLostWebhooks,
    sweep,
    async doAtStart() {
      await trySweep(() => Promise.resolve(true));
      // Whoever had the last turn may have been killed before it was done.
      await tryReconcile(() => Promise.resolve(true));
    },
    afterTakeOver: () => tryReconcile(() => takesTurn(connection, "take-over", TAKE_OVER_EVERY_MS)),
    lookAtHolder,
    watch,
    doInIntervals() {
      const sweepInTurn = () => trySweep(() => takesTurn(connection, "sweep", SWEEP_EVERY_MS));
      const timers = [
        setInterval(() => void reconcileInTurn(), RECONCILE_EVERY_MS),
        setInterval(() => void sweepInTurn(), SWEEP_EVERY_MS),
        ...(parts.watch === undefined ? [] : [setInterval(() => void watch(), WATCH_EVERY_MS)]),
      ];
      for (const timer of timers) timer.unref();
      return () => {
        for (const timer of timers) clearInterval(timer);
      };
    },
  };
}

/** Gives the event of a reminder to what has been deployed and not merged for too long. Asks no host. */
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

/** The same locks; `onHeld` hears who holds one that somebody else wanted. */
export function watchHolders(locks: LockStore, onHeld: (holder: ChangeRequestRef) => void): LockStore {
  return {
    async acquire(request, now, from) {
      const attempt = await locks.acquire(request, now, from);
      if (attempt.kind === "held") onHeld(attempt.lock.holder);
      return attempt;
    },
    release: (application, by) => locks.release(application, by),
    find: (application) => locks.find(application),
    list: (holder) => locks.list(holder),
    ping: () => locks.ping(),
  };
}
