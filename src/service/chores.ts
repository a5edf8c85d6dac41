import type { Clock } from "../core/ports/clock.js";
import type { Deployer } from "../core/ports/deployer.js";
import type { Log } from "../core/ports/log.js";
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

/** What the service does by itself from time to time. With several replicas, one of them does it per interval. */
export interface Chores {
  /** Makes up for lost webhooks, whoever's turn it is. */
  reconcile(): Promise<void>;
  /** Deletes expired temporary Applications, whoever's turn it is. */
  sweep(): Promise<void>;
  /** Does both chores once, since webhooks may have been lost and Applications left while no replica ran. Never throws. */
  atStart(): Promise<void>;
  /** Starts the timers. @returns Stops them. */
  start(): () => void;
}

export function createChores(parts: ChoreParts): Chores {
  const { deployer, connection, clock, log } = parts;
  const sweep = () => sweepTemporary(deployer, clock, log);
  const inTurn = async (name: string, intervalMs: number, work: () => Promise<void>, failure: string) => {
    try {
      if (await takesTurn(connection, name, intervalMs)) await work();
    } catch (error) {
      log.warn({ err: error }, failure);
    }
  };
  const reconcileInTurn = () => inTurn("reconcile", RECONCILE_EVERY_MS, () => reconcile(parts), "reconciling failed");
  const sweepInTurn = () => inTurn("sweep", SWEEP_EVERY_MS, sweep, SWEEP_FAILED);
  return {
    reconcile: () => reconcile(parts),
    sweep,
    async atStart() {
      await sweep().catch((error: unknown) => log.warn({ err: error }, SWEEP_FAILED));
      await reconcileInTurn();
    },
    start() {
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

const SWEEP_FAILED = "sweeping temporary Applications failed";

async function sweepTemporary(deployer: Deployer, clock: Clock, log: Log): Promise<void> {
  const deleted = await deployer.sweep(clock.now());
  if (deleted > 0) log.info({ deleted }, "deleted expired temporary Applications");
}
