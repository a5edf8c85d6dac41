import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import type { QueueBacklog } from "../../core/ports/event-queue.js";
import type { Log } from "../../core/ports/log.js";
import type { ReceiverState } from "../../core/ports/notifications.js";
import { type LimitWaits, WAIT_REASONS } from "../../hosts/limit-waits.js";
import { listen } from "../../http/listen.js";
import { type HostId, SERVICE } from "../../names.js";

/** Everything the service counts. Labels take few values, all known in advance; the only names are those in the server's file. */
export interface Metrics {
  /** One per service, so that two in one process do not share counters. */
  readonly registry: Registry;
  readonly events: Counter<"host" | "kind" | "outcome">;
  readonly commandDuration: Histogram<"command" | "outcome">;
  readonly planPhaseDuration: Histogram<"phase">;
  readonly renders: Counter<"mode">;
  readonly renderErrors: Counter<"mode" | "reason">;
  readonly hostRequests: Counter<"host" | "outcome">;
  readonly rateLimitRemaining: Gauge<"host" | "resource">;
  readonly writeWait: Histogram<"host" | "reason">;
  readonly storeErrors: Counter<"store" | "kind">;
  readonly workerTasks: Counter<"task" | "outcome">;
  readonly checkDuration: Histogram<"check" | "outcome">;
  readonly webhooksRefused: Counter<"host" | "reason">;
  /** `notification` is a receiver's name in the server's file. */
  readonly notifications: Counter<"notification" | "outcome">;
  /** Adds the gauges that are read at each scrape. Call it once. */
  collectFrom(sources: MetricSources): void;
}

/** What a scrape reads. A source that fails is left out of it. */
export interface MetricSources {
  readonly locks: () => Promise<number>;
  readonly queue: () => Promise<QueueBacklog>;
  readonly webhookBytes: () => number;
  readonly workersWaiting: () => number;
  readonly limitWaits: LimitWaits["current"];
  readonly hosts: readonly HostId[];
  readonly receivers: () => Promise<readonly ReceiverState[]>;
}

/** In seconds. The longest command is a sync that runs into `deployer.sync_timeout`. */
const BUCKETS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1200];

/** Named as in https://prometheus.io/docs/practices/naming/ . */
export function createMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const name = (rest: string) => `${SERVICE}_${rest}`;
  collectDefaultMetrics({ register: registry });
  return {
    registry,
    events: new Counter({
      name: name("events_total"),
      help: "Events of the code hosts by outcome.",
      labelNames: ["host", "kind", "outcome"],
      registers,
    }),
    commandDuration: new Histogram({
      name: name("command_duration_seconds"),
      help: "Time from the start of a command's run to its answer.",
      labelNames: ["command", "outcome"],
      buckets: BUCKETS,
      registers,
    }),
    planPhaseDuration: new Histogram({
      name: name("plan_phase_duration_seconds"),
      help: "Phases of a plan's run: fetch, detect, render, diff, comment.",
      labelNames: ["phase"],
      buckets: BUCKETS,
      registers,
    }),
    renders: new Counter({
      name: name("renders_total"),
      help: "Renders requested from Argo CD.",
      labelNames: ["mode"],
      registers,
    }),
    renderErrors: new Counter({
      name: name("render_errors_total"),
      help: "Renders that failed, except those of stopped plans.",
      labelNames: ["mode", "reason"],
      registers,
    }),
    hostRequests: new Counter({
      name: name("host_requests_total"),
      help: "Requests to the API of a code host, retries included.",
      labelNames: ["host", "outcome"],
      registers,
    }),
    rateLimitRemaining: new Gauge({
      name: name("host_rate_limit_remaining"),
      help: "Requests left in the rate limit window, as the code host last reported.",
      labelNames: ["host", "resource"],
      registers,
    }),
    writeWait: new Histogram({
      name: name("host_write_wait_seconds"),
      help: "Waits of more than ten seconds for the limit of a code host, when they end.",
      labelNames: ["host", "reason"],
      buckets: [15, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200],
      registers,
    }),
    storeErrors: new Counter({
      name: name("store_errors_total"),
      help: "Failed calls to the store.",
      labelNames: ["store", "kind"],
      registers,
    }),
    workerTasks: new Counter({
      name: name("worker_tasks_total"),
      help: "Tasks of worker threads by outcome.",
      labelNames: ["task", "outcome"],
      registers,
    }),
    checkDuration: new Histogram({
      name: name("check_duration_seconds"),
      help: "Checks of the server's file by outcome, and how long their programs ran.",
      labelNames: ["check", "outcome"],
      buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 600],
      registers,
    }),
    webhooksRefused: new Counter({
      name: name("webhooks_refused_total"),
      help: "Refused webhooks.",
      labelNames: ["host", "reason"],
      registers,
    }),
    notifications: new Counter({
      name: name("notification_attempts_total"),
      help: "Attempts of this replica to deliver a notification: delivered, failed, or given up after the last one.",
      labelNames: ["notification", "outcome"],
      registers,
    }),
    collectFrom(sources) {
      const gauge = (rest: string, help: string, ask: () => Promise<number>) =>
        collectedGauge(registry, { name: name(rest), help }, ask);
      gauge("locks_held", "Held locks, over all replicas.", sources.locks);
      const waiting = new Gauge({
        name: name("host_writes_waiting"),
        help: "Writes of this replica that wait for more than ten seconds for the limit of a code host.",
        labelNames: ["host", "reason"],
        registers,
        collect() {
          for (const host of sources.hosts) for (const reason of WAIT_REASONS) waiting.set({ host, reason }, 0);
          for (const { host, reason } of sources.limitWaits()) waiting.inc({ host, reason });
        },
      });
      collectReceivers(sources.receivers, registers);
      gauge(
        "queue_depth",
        "Waiting events; with Redis, over all replicas.",
        async () => (await sources.queue()).waiting,
      );
      gauge(
        "queue_oldest_event_age_seconds",
        "How long the oldest waiting event has waited; 0 if none waits.",
        async () => (await sources.queue()).oldestMs / 1000,
      );
      gauge("worker_tasks_waiting", "Tasks that wait for a worker thread.", () =>
        Promise.resolve(sources.workersWaiting()),
      );
      gauge("webhook_body_bytes", "Bytes of webhooks that are being received.", () =>
        Promise.resolve(sources.webhookBytes()),
      );
    },
  };
}

/** Gauges of the receivers of notifications; with Redis, over all replicas. */
function collectReceivers(receivers: MetricSources["receivers"], registers: Registry[]): void {
  const gauge = (name: string, help: string, valueOf: (state: ReceiverState) => number) =>
    new Gauge({
      name: `${SERVICE}_${name}`,
      help,
      labelNames: ["notification"],
      registers,
      async collect() {
        const states = await receivers().catch(() => []);
        this.reset();
        for (const state of states) this.set({ notification: state.receiver }, valueOf(state));
      },
    });
  gauge("notifications_waiting", "Messages that are not delivered yet.", ({ waiting }) => waiting);
  gauge("notification_broken", "1 if the newest attempt to deliver to this receiver failed.", ({ broken }) =>
    broken === undefined ? 0 : 1,
  );
}

function collectedGauge(
  registry: Registry,
  described: { readonly name: string; readonly help: string },
  ask: () => Promise<number>,
): void {
  new Gauge({
    ...described,
    registers: [registry],
    async collect() {
      try {
        this.set(await ask());
      } catch {
        // A stale number would look current. The failure itself is counted where it happens.
        this.remove();
      }
    },
  });
}

export interface MetricsServer {
  close(): Promise<void>;
}

/** Serves `/metrics`, and nothing else, on a port of its own. */
export async function startMetricsServer(
  registry: Registry,
  address: { readonly host: string; readonly port: number },
  log: Log,
): Promise<MetricsServer> {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://metrics");
    if (pathname !== "/metrics") send(response, 404, "only /metrics is here\n");
    else if (request.method !== "GET" && request.method !== "HEAD") send(response, 405, "only GET is allowed\n");
    else void answer(registry, response, log);
  });
  await listen(server, { ...address, key: "server.metrics_port" });
  return {
    async close() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function answer(registry: Registry, response: ServerResponse, log: Log): Promise<void> {
  try {
    send(response, 200, await registry.metrics(), registry.contentType);
  } catch (error) {
    log.error({ err: error }, "could not collect the metrics");
    send(response, 500, "could not collect the metrics\n");
  }
}

function send(response: ServerResponse, status: number, body: string, type = "text/plain; charset=utf-8"): void {
  response.writeHead(status, { "content-type": type, "cache-control": "no-store" }).end(body);
}
