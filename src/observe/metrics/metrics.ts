import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from "prom-client";
import type { QueueBacklog } from "../../core/ports/event-queue.js";
import { SERVICE } from "../../names.js";

/** Everything that the service counts. The values of labels are few and known beforehand: never a name that people chose. */
export interface Metrics {
  /** One per service: two in one process do not see each other's numbers. */
  readonly registry: Registry;
  readonly events: Counter<"host" | "kind" | "outcome">;
  readonly commandDuration: Histogram<"command" | "outcome">;
  readonly planPhaseDuration: Histogram<"phase">;
  readonly renders: Counter<"mode">;
  readonly renderErrors: Counter<"mode" | "reason">;
  readonly hostRequests: Counter<"host" | "outcome">;
  readonly rateLimitRemaining: Gauge<"host" | "resource">;
  readonly storeErrors: Counter<"store" | "kind">;
  /** Adds what is asked for at each scrape; to be called once. */
  collectFrom(sources: MetricSources): void;
}

/** What cannot be told is left out of the scrape. */
export interface MetricSources {
  /** How many locks are held. */
  readonly locks: () => Promise<number>;
  readonly queue: () => Promise<QueueBacklog>;
}

/** Seconds; the longest command is a sync of `deployer.sync_timeout`. */
const BUCKETS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1200];

/** Names by https://prometheus.io/docs/practices/naming/ . */
export function createMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const name = (rest: string) => `${SERVICE}_${rest}`;
  collectDefaultMetrics({ register: registry });
  return {
    registry,
    events: new Counter({
      name: name("events_total"),
      help: "Events of the code hosts, by what became of them.",
      labelNames: ["host", "kind", "outcome"],
      registers,
    }),
    commandDuration: new Histogram({
      name: name("command_duration_seconds"),
      help: "From the beginning of a command's run to the end of its answer.",
      labelNames: ["command", "outcome"],
      buckets: BUCKETS,
      registers,
    }),
    planPhaseDuration: new Histogram({
      name: name("plan_phase_duration_seconds"),
      help: "Parts of a plan's run: fetch, detect, render, diff, comment.",
      labelNames: ["phase"],
      buckets: BUCKETS,
      registers,
    }),
    renders: new Counter({
      name: name("renders_total"),
      help: "Renders that Argo CD was asked for.",
      labelNames: ["mode"],
      registers,
    }),
    renderErrors: new Counter({
      name: name("render_errors_total"),
      help: "Renders that failed; those of a plan that was stopped are not counted.",
      labelNames: ["mode", "reason"],
      registers,
    }),
    hostRequests: new Counter({
      name: name("host_requests_total"),
      help: "Requests to the API of a code host, each try counted.",
      labelNames: ["host", "outcome"],
      registers,
    }),
    rateLimitRemaining: new Gauge({
      name: name("host_rate_limit_remaining"),
      help: "Requests that the code host still takes in this window, by its latest answer that told.",
      labelNames: ["host", "resource"],
      registers,
    }),
    storeErrors: new Counter({
      name: name("store_errors_total"),
      help: "Calls to the store that failed.",
      labelNames: ["store", "kind"],
      registers,
    }),
    collectFrom(sources) {
      const gauge = (rest: string, help: string, ask: () => Promise<number>) =>
        collectedGauge(registry, { name: name(rest), help }, ask);
      gauge("locks_held", "Locks that are held, over all replicas.", sources.locks);
      gauge(
        "queue_depth",
        "Events that wait to be run; with Redis, over all replicas.",
        async () => (await sources.queue()).waiting,
      );
      gauge(
        "queue_oldest_event_age_seconds",
        "How long the oldest waiting event waits; 0 when none does.",
        async () => (await sources.queue()).oldestMs / 1000,
      );
    },
  };
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
        // An old number would look like a true one; the store's errors are counted where they happen.
        this.remove();
      }
    },
  });
}
