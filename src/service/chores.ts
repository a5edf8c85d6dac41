import type { Deployer } from "../core/ports/deployer.js";
import { takesTurn } from "../queue/turn.js";
import type { Stores } from "../store/stores.js";
import { reconcile, type ReconcileParts } from "./reconcile.js";

const RECONCILE_EVERY_MS = 5 * 60_000;
const SWEEP_EVERY_MS = 10 * 60_000;

export interface ChoreParts extends ReconcileParts {
  readonly deployer: Deployer;
  /** Shared with other replicas; undefined if there are none. */
  readonly connection: Stores["connection"];
}

/** What the service does by itself from time to time. Of several replicas, one does it per interval. */
export interface Chores {
  /** Makes up for lost webhooks, whichever replica has the turn. */
  reconcile(): Promise<void>;
  /** Deletes expired temporary Applications, whichever replica has the turn. */
  sweep(): Promise<void>;
  /** Does both, since webhooks may have been lost and Applications left while nothing ran. Logs errors. */
  doAtStart(): Promise<void>;
  /** Does both in intervals. @returns Stops that. */
  doInIntervals(): () => void;
}

export function createChores(parts: ChoreParts): Chores {
  const { deployer, connection, clock, log } = parts;

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

  async function reconcileInTurn(): Promise<void> {
    try {
      if (await takesTurn(connection, "reconcile", RECONCILE_EVERY_MS)) await reconcile(parts);
    } catch (error) {
      log.warn({ err: error }, "reconciling failed");
    }
  }

  return {
    reconcile: () => reconcile(parts),
    sweep,
    async doAtStart() {
      await trySweep(() => Promise.resolve(true));
      await reconcileInTurn();
    },
    doInIntervals() {
      const sweepInTurn = () => trySweep(() => takesTurn(connection, "sweep", SWEEP_EVERY_MS));
      const timers = [
        setInterval(() => void reconcileInTurn(), RECONCILE_EVERY_MS),
        setInterval(() => void sweepInTurn(), SWEEP_EVERY_MS),
      ];
      for (const timer of timers) timer.unref();
      return () => {
        for (const timer of timers) clearInterval(timer);
      };
    },
  };
}
