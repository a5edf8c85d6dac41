import type { ServerConfig } from "../config/server/server.js";
import type { ChangeRequestRef } from "../core/model/change-request.js";
import type { Clock } from "../core/ports/clock.js";
import type { Log } from "../core/ports/log.js";
import type { Delivery, DeliveryOutcome, Notifications, Outbox, ReceiverState } from "../core/ports/notifications.js";
import { HOSTS, hostWords } from "../hosts/registry.js";
import { createNotifications } from "../notifications/create-notifications.js";
import { createDelivery } from "../notifications/deliver.js";
import type { Telemetry } from "../observe/telemetry.js";
import { createMemoryOutbox } from "../store/memory/outbox.js";
import type { Stores } from "../store/stores.js";

/** How long a delivery in progress may take at shutdown, in milliseconds. */
const GRACE_MS = 2_000;

export type StartedNotifications = Awaited<ReturnType<typeof startNotifications>>;

/** Opens the configured receivers, if there are any. @param connection Redis that keeps the messages; without it they are kept in memory. */
export async function startNotifications(
  config: ServerConfig,
  connection: Stores["connection"],
  telemetry: Pick<Telemetry, "countDelivery">,
  clock: Clock,
  log: Log,
) {
  const receivers = config.notifications;
  if (receivers.length === 0) {
    const nobody: Notifications = { publish: () => Promise.resolve() };
    const states = (): Promise<readonly ReceiverState[]> => Promise.resolve([]);
    return { notifications: nobody, withoutStore: nobody, states, close: () => Promise.resolve() };
  }
  const receiverLog = new ReceiverLog(log);
  const options = {
    receivers: receivers.map(({ name }) => name),
    deliver: createDelivery(receivers, { clock }),
    onAttempt: (...[receiver, outcome, delivery]: Parameters<ReceiverLog["note"]>) => {
      telemetry.countDelivery(receiver, outcome);
      receiverLog.note(receiver, outcome, delivery);
    },
    retryAfterMs: DELIVERY_PAUSES_MS,
    clock,
    log,
  };
  const inMemory = createMemoryOutbox(options);
  // Redis's client takes memory, and is loaded only where it is used.
  const outbox: Outbox =
    connection === undefined
      ? inMemory
      : (await import("../store/redis/outbox.js")).createDurableOutbox({ ...options, connection });
  const { server, auth } = config;
  const writing = {
    hostWords: hostWords(server.command),
    hostPageOf: (change: ChangeRequestRef) => HOSTS[change.host].configured(config)?.changeRequestUrl(change),
    pagesUrl: auth.enabled ? server.baseUrl : undefined,
    log,
  };
  return {
    notifications: createNotifications(receivers, outbox, writing),
    /** Keeps messages in this process, to report outages of the store itself. */
    withoutStore: createNotifications(receivers, inMemory, writing),
    states: () => outbox.states(),
    async close(): Promise<void> {
      await Promise.all([...new Set([outbox, inMemory])].map((one) => one.close(GRACE_MS)));
    },
  };
}

/** Delivers for about a day. */
const DELIVERY_PAUSES_MS: readonly number[] = [
  5_000, 30_000, 120_000, 600_000, 1_800_000, 3_600_000, 7_200_000, 14_400_000, 28_800_000, 28_800_000,
];

/** Logs when a receiver breaks, once for each cause, and when it works again. */
class ReceiverLog {
  readonly #problems = new Map<string, string>();

  constructor(private readonly log: Log) {}

  note(notification: string, outcome: DeliveryOutcome, delivery: Delivery): void {
    if (delivery.kind === "delivered") {
      if (this.#problems.delete(notification)) this.log.info({ notification }, "notifications are delivered again");
      return;
    }
    const { problem } = delivery;
    if (this.#problems.get(notification) !== problem) {
      this.#problems.set(notification, problem);
      this.log.warn({ notification, problem }, "could not deliver a notification");
    }
    if (outcome === "given-up") this.log.info({ notification, problem }, "gave up delivering a notification");
  }
}
