import type { HostEvent } from "../core/model/event.js";
import type { EventQueue } from "../core/ports/event-queue.js";
import type { MarkStore } from "../core/ports/stores.js";
import type { Telemetry } from "../observe/telemetry.js";
import { createDurableQueue } from "../queue/durable.js";
import { createInProcessQueue } from "../queue/in-process.js";
import type { QueueTiming } from "../queue/queue-options.js";
import { Publisher } from "../run/around/publisher.js";
import type { Dependencies } from "../run/line/run.js";
import { supervise } from "../run/line/supervise.js";
import { type Stores, UNAVAILABLE_LOCKS } from "../store/stores.js";

interface LineParts {
  readonly marks: MarkStore;
  /** Redis that holds the queue; without it the queue is in memory. */
  readonly connection: Stores["connection"];
  /** Wraps the run of each event. */
  readonly observe: Telemetry["run"];
  readonly timing: Partial<QueueTiming> | undefined;
  /** Called when this replica takes over the work of a dead one. */
  readonly onTakeOver: () => void;
}

/** Starts the queue of events, and the publisher, whose marks become events. */
export function startLine(given: Omit<Dependencies, "push" | "publisher">, parts: LineParts) {
  const { marks, connection, observe, timing, onTakeOver } = parts;
  const { clock, log, config } = given;
  const push: EventQueue["push"] = (event) => queue.push(event);
  const waitingQueue = { push, isBusy: (change) => queue.isBusy(change) } satisfies Pick<EventQueue, "push" | "isBusy">;
  const publisher = new Publisher({ marks, queue: waitingQueue, clock, log });
  const dependencies: Dependencies = { ...given, push, publisher };
  const common = {
    concurrency: config.server.concurrency,
    run: (event: HostEvent, ticket: Parameters<typeof supervise>[2]) =>
      observe(event, () => supervise(event, dependencies, ticket)),
    clock,
    log,
  };
  const openQueue = (): EventQueue => {
    if (connection === undefined) return createInProcessQueue(common);
    const unavailable: Dependencies = { ...dependencies, locks: UNAVAILABLE_LOCKS };
    return createDurableQueue({
      ...common,
      connection,
      ...(timing && { timing }),
      onTakeOver,
      refuse: (event, ticket) =>
        observe(event, async () => {
          // Nobody waits for an answer to a push: it is planned once the store is back.
          if (event.kind === "updated") {
            publisher.later(event);
            return "failed";
          }
          // Answers commands; the reconciler makes up for the rest. The store cannot tell whether this is a redelivery, so it
          // counts as one and an earlier answer stands.
          if (event.kind === "commented") await supervise(event, unavailable, { ...ticket, again: true });
          return "refused";
        }),
    });
  };
  const queue = openQueue();
  return { queue, publisher, dependencies };
}
