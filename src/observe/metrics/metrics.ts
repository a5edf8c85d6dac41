import { AsyncLocalStorage } from "node:async_hooks";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import { DeployerFailure, StoredValueUnreadable, StoreUnavailable } from "../../core/model/errors.js";
import type { HostEvent } from "../../core/model/event.js";
import type { AuditEntry, AuditLog } from "../../core/ports/audit.js";
import type { Deployer } from "../../core/ports/deployer.js";
import type { EventQueue, QueueBacklog, RunEnd } from "../../core/ports/event-queue.js";
import type { Log } from "../../core/ports/log.js";
import type { ReceiverState } from "../../core/ports/notifications.js";
import type { Repositories } from "../../core/ports/repositories.js";
import type { PlanStore } from "../../core/ports/stores.js";
import { type LimitWaits, WAIT_REASONS } from "../../hosts/limit-waits.js";
import { listen } from "../../http/listen.js";
import { type HostId, SERVICE } from "../../names.js";
import { type EveryCall, type MethodCalls, reportEnd } from "../wrap-port.js";

export type Metrics = ReturnType<typeof createMetrics>;

/** In seconds. The longest command is a sync that runs into `argocd.sync_timeout`. */
const BUCKETS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1200];
const WAIT_BUCKETS = [15, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200];
const CHECK_BUCKETS = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 600];

/** Everything the service counts, named as in https://prometheus.io/docs/practices/naming/. Labels take few values, known in advance. */
export function createMetrics() {
  const registry = new Registry();
  const registers = [registry];
  const counter = <Label extends string>(labelNames: readonly Label[], name: string, help: string) =>
    new Counter({ name: `${SERVICE}_${name}`, help, labelNames, registers });
  const seconds = <Label extends string>(labelNames: readonly Label[], name: string, help: string, buckets = BUCKETS) =>
    new Histogram({ name: `${SERVICE}_${name}_seconds`, help, labelNames, buckets, registers });
  const rateLimitEnds = new Map<string, number>();
  collectDefaultMetrics({ register: registry });
  return {
    registry,
    events: counter(["host", "kind", "outcome"], "events_total", "Events of the code hosts by outcome."),
    commandDuration: seconds(
      ["command", "outcome"],
      "command_duration",
      "Time from the start of a command's run to its answer.",
    ),
    planPhaseDuration: seconds(
      ["phase"],
      "plan_phase_duration",
      "Phases of a plan's run: fetch, detect, render, diff, comment.",
    ),
    renders: counter(["mode"], "renders_total", "Renders requested from Argo CD."),
    renderErrors: counter(
      ["mode", "reason"],
      "render_errors_total",
      "Renders that failed, except those of stopped plans.",
    ),
    argocdErrors: counter(
      ["reason"],
      "argocd_errors_total",
      "Calls besides renders that Argo CD did not answer or refused.",
    ),
    hostRequests: counter(
      ["host", "outcome"],
      "host_requests_total",
      "Requests to the API of a code host, retries included.",
    ),
    rateLimitRemaining: new Gauge({
      name: `${SERVICE}_host_rate_limit_remaining`,
      help: "Requests left in the rate limit window, as the code host last reported.",
      labelNames: ["host", "resource"],
      registers,
      collect() {
        for (const [labels, ends] of rateLimitEnds) if (ends <= Date.now()) this.remove(...labels.split(" "));
      },
    }),
    rateLimitEnds,
    writeWait: seconds(
      ["host", "reason"],
      "host_write_wait",
      "Waits of more than ten seconds for the limit of a code host, when they end.",
      WAIT_BUCKETS,
    ),
    storeErrors: counter(["store", "kind"], "store_errors_total", "Failed calls to the store."),
    workerTasks: counter(["task", "outcome"], "worker_tasks_total", "Tasks of worker threads by outcome."),
    checkDuration: seconds(
      ["check", "outcome"],
      "check_duration",
      "Checks of the server's file by outcome, and how long their programs ran.",
      CHECK_BUCKETS,
    ),
    webhooksRefused: counter(["host", "reason"], "webhooks_refused_total", "Refused webhooks."),
    /** `notification` is a receiver's name in the server's file. */
    notifications: counter(
      ["notification", "outcome"],
      "notification_attempts_total",
      "Attempts of this replica to deliver a notification: delivered, failed, or given up after the last one.",
    ),
  };
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
  readonly tokens: () => readonly { readonly system: string; readonly at: Date }[];
}

type Sample<Label extends string> = readonly [value: number, labels: Readonly<Partial<Record<Label, string>>>];

/** Adds the gauges that are read at each scrape. */
function collectFrom(sources: MetricSources, registry: Registry): void {
  const { limitWaits, hosts, receivers } = sources;
  const gauges = <Label extends string>(
    labelNames: readonly Label[],
    name: string,
    help: string,
    ask: () => Promise<readonly Sample<Label>[]>,
  ) =>
    new Gauge<Label>({
      name: `${SERVICE}_${name}`,
      help,
      labelNames,
      registers: [registry],
      async collect() {
        // A stale number would look current. The failure itself is counted where it happens.
        const samples = await ask().catch(() => []);
        this.reset();
        if (samples.length === 0) this.remove({});
        for (const [value, labels] of samples) this.set(labels, value);
      },
    });
  const gauge = (name: string, help: string, ask: () => Promise<number> | number) =>
    gauges([], name, help, async () => [[await ask(), {}]]);
  const ofReceivers = (name: string, help: string, valueOf: (state: ReceiverState) => number) =>
    gauges(["notification"], name, help, async () =>
      (await receivers()).map((state) => [valueOf(state), { notification: state.receiver }] as const),
    );
  gauge("locks_held", "Held locks, over all replicas.", sources.locks);
  gauges(
    ["host", "reason"],
    "host_writes_waiting",
    "Writes of this replica that wait for more than ten seconds for the limit of a code host.",
    () => {
      const waits = limitWaits();
      const countOf = (host: HostId, reason: string) =>
        waits.filter((one) => one.host === host && one.reason === reason).length;
      const labels = hosts.flatMap((host) => WAIT_REASONS.map((reason) => ({ host, reason })));
      return Promise.resolve(labels.map((one) => [countOf(one.host, one.reason), one]));
    },
  );
  ofReceivers("notifications_waiting", "Messages that are not delivered yet.", ({ waiting }) => waiting);
  ofReceivers("notification_broken", "1 if the newest attempt to deliver to this receiver failed.", ({ broken }) =>
    broken === undefined ? 0 : 1,
  );
  gauges(["system"], "token_expires_timestamp_seconds", "When a token of svc expires.", () =>
    Promise.resolve(sources.tokens().map(({ system, at }) => [at.getTime() / 1000, { system }] as const)),
  );
  gauge("queue_depth", "Waiting events; with Redis, over all replicas.", async () => (await sources.queue()).waiting);
  gauge(
    "queue_oldest_event_age_seconds",
    "How long the oldest waiting event has waited; 0 if none waits.",
    async () => (await sources.queue()).oldestMs / 1000,
  );
  gauge("worker_tasks_waiting", "Tasks that wait for a worker thread.", sources.workersWaiting);
  gauge("webhook_body_bytes", "Bytes of webhooks that are being received.", sources.webhookBytes);
}

/** Serves `/metrics`, and nothing else, on a port of its own. @returns What ends it. */
export async function serveMetrics(
  registry: Registry,
  sources: MetricSources,
  address: { readonly host: string; readonly port: number },
  log: Log,
): Promise<() => Promise<void>> {
  collectFrom(sources, registry);
  const server = createServer((request, response) => {
    // What was sent may be no address, such as `//`: an exception here would end the process.
    const [path] = (request.url ?? "").split("?");
    if (path !== "/metrics") send(response, 404, "only /metrics is here\n");
    else if (request.method !== "GET" && request.method !== "HEAD") send(response, 405, "only GET is allowed\n");
    else void answer(registry, response, log);
  });
  await listen(server, { ...address, key: "server.metrics_port" });
  return async () => {
    const closed = once(server, "close");
    server.close();
    server.closeAllConnections();
    await closed;
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

/** Measures runs by the calls that they make to ports, and counts failures of renders and of the store. */
export function measureCalls(metrics: Metrics) {
  return {
    run: (event: HostEvent, run: () => Promise<RunEnd>) => measureRun(event, run, metrics),
    storeErrors:
      (store: string): EveryCall =>
      (_method, call) =>
        reportEnd(call, (end) => {
          if (end.kind === "threw") countStoreError(store, end.error, metrics);
        }),
    plans: {
      // A plan is saved as soon as it is complete, and once more with the answers of Kubernetes.
      save(call, { plannedAt }) {
        note((notes) => {
          if (notes.plannedAt !== plannedAt) Object.assign(notes, { plannedAt, diffed: performance.now() });
        });
        return call();
      },
    } satisfies MethodCalls<PlanStore>,
    audit: {
      // The audit trail names a run's command and its outcome.
      record(call, entry) {
        note((notes) => (notes.command ??= commandIn(entry)));
        return call();
      },
    } satisfies MethodCalls<AuditLog>,
    deployer: measureDeployer(metrics),
    repositories: {
      open: (call) => call().finally(() => note((notes) => (notes.fetched ??= performance.now()))),
    } satisfies MethodCalls<Repositories>,
    waits: {
      begin(call, { host, reason }) {
        const stop = metrics.writeWait.startTimer({ host, reason });
        const wait = call();
        return {
          ...wait,
          end() {
            wait.end();
            stop();
          },
        };
      },
    } satisfies MethodCalls<LimitWaits>,
    push: (push: EventQueue["push"]) => measurePush(push, metrics),
  };
}

function measureDeployer(metrics: Metrics): MethodCalls<Deployer> {
  return {
    check: (call) => call().catch((error: unknown) => failedCall(error, metrics)),
    listApplications: (call, signal) => call().catch((error: unknown) => failedCall(error, metrics, signal)),
    sweep: (call) => call().catch((error: unknown) => failedCall(error, metrics)),
    async renderManifests(call, { mode }, signal) {
      metrics.renders.inc({ mode });
      note((notes) => (notes.firstRenderStarted ??= performance.now()));
      try {
        return await call();
      } catch (error) {
        const reason = error instanceof DeployerFailure ? error.reason : "unexpected";
        if (!signal.aborted) metrics.renderErrors.inc({ mode, reason });
        throw error;
      } finally {
        note((notes) => (notes.lastRenderEnded = performance.now()));
      }
    },
  };
}

/** Plans and syncs begin with a list: while Argo CD is away or refuses the token, nothing is rendered that could fail. */
function failedCall(error: unknown, { argocdErrors }: Metrics, signal?: AbortSignal): never {
  if (error instanceof DeployerFailure && signal?.aborted !== true) argocdErrors.inc({ reason: error.reason });
  throw error;
}

/** Counts the events that never become a run. */
function measurePush(push: EventQueue["push"], metrics: Metrics): EventQueue["push"] {
  return async (event) => {
    const count = (outcome: "duplicate" | "not_queued") =>
      metrics.events.inc({ host: event.change.host, kind: event.kind, outcome });
    try {
      const fresh = await push(event);
      if (!fresh) count("duplicate");
      return fresh;
    } catch (error) {
      count("not_queued");
      countStoreError("queue", error, metrics);
      throw error;
    }
  };
}

function countStoreError(store: string, error: unknown, { storeErrors }: Metrics): void {
  if (error instanceof StoreUnavailable) storeErrors.inc({ store, kind: "unavailable" });
  else if (error instanceof StoredValueUnreadable) storeErrors.inc({ store, kind: "unreadable" });
}

/** What is known of a run so far. Its times are milliseconds of one clock; undefined for points that it has not reached. */
interface RunNotes {
  readonly started: number;
  fetched?: number | undefined;
  firstRenderStarted?: number | undefined;
  lastRenderEnded?: number | undefined;
  /** The plan is complete and not stored yet. */
  diffed?: number;
  /** The time of that plan. */
  plannedAt?: string;
  /** From the first audit entry that names a command. */
  command?: ReturnType<typeof commandIn>;
}

/** Milliseconds of each phase of a plan. "fetch" includes reading the facts, "render" the diffs made while others still render. */
export function planPhases(
  { started, fetched = started, firstRenderStarted, lastRenderEnded }: RunNotes,
  diffed: number,
  ended: number,
) {
  // Some renders are requested while git still fetches, and one that the plan does not need may outlast it.
  const first = Math.min(Math.max(firstRenderStarted ?? diffed, fetched), diffed);
  const last = Math.min(Math.max(lastRenderEnded ?? first, first), diffed);
  const [fetch, detect, render] = [fetched - started, first - fetched, last - first];
  return { fetch, detect, render, diff: diffed - last, comment: ended - diffed };
}

const runs = new AsyncLocalStorage<RunNotes>();

/** Notes something of the run that this code belongs to, if any. */
function note(write: (notes: RunNotes) => void): void {
  const notes = runs.getStore();
  if (notes !== undefined) write(notes);
}

async function measureRun(event: HostEvent, run: () => Promise<RunEnd>, metrics: Metrics): Promise<RunEnd> {
  const notes: RunNotes = { started: performance.now() };
  let outcome: RunEnd = "failed";
  try {
    outcome = await runs.run(notes, run);
    return outcome;
  } finally {
    const ended = performance.now();
    const { command, diffed } = notes;
    metrics.events.inc({ host: event.change.host, kind: event.kind, outcome });
    if (command !== undefined) {
      const labels = { command: command.name, outcome: command.outcome };
      metrics.commandDuration.observe(labels, (ended - notes.started) / 1000);
      const phases = command.planned && diffed !== undefined ? planPhases(notes, diffed, ended) : undefined;
      for (const [phase, ms] of Object.entries(phases ?? {})) metrics.planPhaseDuration.observe({ phase }, ms / 1000);
    }
  }
}

/** Outcomes of an application that need no further work. */
const SUCCESSES: ReadonlySet<string> = new Set(["succeeded", "skipped", "new", "deleted"]);

function commandIn({ command, action, applications }: Pick<AuditEntry, "command" | "action" | "applications">) {
  if (command === undefined) return undefined;
  const succeeded = applications.every(({ outcome }) => SUCCESSES.has(outcome));
  return { name: command, planned: action === "planned", outcome: outcomeOf(action, succeeded) };
}

/** `incomplete`: a sync or a rollback that failed for some application. */
function outcomeOf(action: AuditEntry["action"], succeeded: boolean): "done" | "incomplete" | "refused" | "failed" {
  switch (action) {
    case "planned":
    case "unlocked":
    case "updated":
    case "reverted":
    case "held":
    case "released":
    case "force-unlocked":
    case "merged":
    case "queued":
    case "rolled-out":
    case "closed":
    case "role-changed":
      return "done";
    case "synced":
    case "rolled-back":
      return succeeded ? "done" : "incomplete";
    case "refused":
    case "failed":
      return action;
  }
}
