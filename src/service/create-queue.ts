import type { HostEvent } from "../core/model/event.js";
import type { EventQueue, RunEnd } from "../core/ports/event-queue.js";
import { createInProcessQueue } from "../queue/in-process.js";
import type { QueueTiming } from "../queue/queue-options.js";
import type { Dependencies } from "../run/run.js";
import { supervise } from "../run/supervise.js";
import type { Stores } from "../store/stores.js";
import { UNAVAILABLE_LOCKS } from "../store/unavailable-lock-store.js";

export interface QueueParts {
  readonly dependencies: Dependencies;
  /** Where the events wait; undefined: in this process. */
  readonly connection: Stores["connection"];
  /** Around the run of one event. */
  readonly observe: (event: HostEvent, run: () => Promise<RunEnd>) => Promise<RunEnd>;
  /** Other times than the usual ones. */
  readonly timing?: Partial<QueueTiming> | undefined;
}

/** The queue of the service: in Redis when there is one, else in this process's memory. */
export async function createQueue({ dependencies, connection, observe, timing }: QueueParts): Promise<EventQueue> {
  const { clock, log, config } = dependencies;
  const common = {
    concurrency: config.server.concurrency,
    run: (event: HostEvent, ticket: Parameters<typeof supervise>[2]) =>
      observe(event, () => supervise(event, dependencies, ticket)),
    clock,
    log,
  };
  if (connection === undefined) return createInProcessQueue(common);
  // BullMQ takes as long to load as half of all the rest.
  const { createDurableQueue } = await import("../queue/durable.js");
  const unavailable: Dependencies = { ...dependencies, locks: UNAVAILABLE_LOCKS };
  return createDurableQueue({
    ...common,
    connection,
    ...(timing && { timing }),
    refuse: (event, ticket) =>
      observe(event, async () => {
        // A person waits for an answer; the others are made up for by the reconciler. While the store is away nobody can
        // tell whether the delivery came before: what it was answered then stands.
        const again = { ...ticket, again: true };
        if (event.kind === "commented" || event.kind === "updated") await supervise(event, unavailable, again);
        return "refused";
      }),
  });
}
