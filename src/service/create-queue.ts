import type { HostEvent } from "../core/model/event.js";
import type { EventQueue, RunEnd } from "../core/ports/event-queue.js";
import { createInProcessQueue } from "../queue/in-process.js";
import type { QueueTiming } from "../queue/queue-options.js";
import type { Dependencies } from "../run/line/run.js";
import { supervise } from "../run/line/supervise.js";
import { type Stores, UNAVAILABLE_LOCKS } from "../store/stores.js";

export interface QueueParts {
  readonly dependencies: Omit<Dependencies, "push">;
  /** Redis that holds the queue; without it the queue is in memory. */
  readonly connection: Stores["connection"];
  /** Wraps the run of each event. */
  readonly observe: (event: HostEvent, run: () => Promise<RunEnd>) => Promise<RunEnd>;
  readonly timing?: Partial<QueueTiming> | undefined;
  /** Called when this replica takes over the work of a dead one. */
  readonly onTakeOver: () => void;
}

export async function createQueue(parts: QueueParts): Promise<EventQueue> {
  const { connection, observe, timing, onTakeOver } = parts;
  const dependencies: Dependencies = { ...parts.dependencies, push: (event) => queue.push(event) };
  const { clock, log, config } = dependencies;
  const common = {
    concurrency: config.server.concurrency,
    run: (event: HostEvent, ticket: Parameters<typeof supervise>[2]) =>
      observe(event, () => supervise(event, dependencies, ticket)),
    clock,
    log,
  };
  const openQueue = async (): Promise<EventQueue> => {
    if (connection === undefined) return createInProcessQueue(common);
    // BullMQ is slow to load.
    const { createDurableQueue } = await import("../queue/durable.js");
    const unavailable: Dependencies = { ...dependencies, locks: UNAVAILABLE_LOCKS };
    return createDurableQueue({
      ...common,
      connection,
      ...(timing && { timing }),
      onTakeOver,
      refuse: (event, ticket) =>
        observe(event, async () => {
          // Answers commands and pushes; the reconciler makes up for the rest. The store cannot tell whether this is a
          // redelivery, so it counts as one and an earlier answer stands.
          const again = { ...ticket, again: true };
          if (event.kind === "commented" || event.kind === "updated") await supervise(event, unavailable, again);
          return "refused";
        }),
    });
  };
  const queue = await openQueue();
  return queue;
}
