import { subscribe, unsubscribe } from "node:diagnostics_channel";
import {
  context,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer,
} from "@opentelemetry/api";
import { Router } from "express";
import * as z from "zod";
import type { ServerConfig } from "../config/server/server.js";
import { DeployerFailure, HostFailure } from "../core/model/errors.js";
import { EVENT_KINDS, type HostEvent } from "../core/model/event.js";
import type { CodeHost } from "../core/ports/code-host.js";
import type { Deployer } from "../core/ports/deployer.js";
import type { EventQueue, RunEnd } from "../core/ports/event-queue.js";
import type { Log } from "../core/ports/log.js";
import type { Repositories } from "../core/ports/repositories.js";
import { isRateLimited } from "../hosts/host-answer.js";
import type { LimitWaits } from "../hosts/limit-waits.js";
import { type HostId, SERVICE, WEBHOOK_PATHS } from "../names.js";
import type { Stores } from "../store/stores.js";
import type { measureCalls, Metrics, MetricSources } from "./metrics/metrics.js";
import { type EveryCall, type MethodCalls, reportEnd, wrapPort } from "./wrap-port.js";

export type Telemetry = Awaited<ReturnType<typeof createTelemetry>>;

/** Traces and measures the ports; with both switched off it returns them as they are. @param tracer Undefined: no traces. */
export async function createTelemetry(
  { metricsPort: port, host }: Pick<ServerConfig["server"], "metricsPort" | "host">,
  hosts: readonly ObservedHost[],
  tracer: Tracer | undefined,
  log: Log,
) {
  // Loaded on demand: it takes a tenth of the start.
  const loaded = port === undefined ? undefined : await import("./metrics/metrics.js");
  const metrics = loaded?.createMetrics();
  const measures = metrics && loaded?.measureCalls(metrics);
  const stopCounting = metrics && countHostRequests(hosts, metrics);
  const traced = (system: string): EveryCall | undefined => tracer && traceCalls(system, tracer);
  let closeServer: (() => Promise<void>) | undefined;
  return {
    stores: (stores: Stores): Stores =>
      observedStores(stores, measures, (name, store, calls) => {
        if (metrics !== undefined) beginStoreErrors(name, metrics);
        return wrapPort(store, traced(`store.${name}`), measures?.storeErrors(name), calls);
      }),
    deployer: <T extends Deployer>(deployer: T): T =>
      wrapPort<T, Deployer>(deployer, traced("argocd"), measures?.deployer),
    repositories: (repositories: Repositories): Repositories =>
      wrapPort(
        repositories,
        tracer && { open: async (call) => wrapPort(await call(), traceCalls("git", tracer)) },
        traced("git"),
        measures?.repositories,
      ),
    host: <T extends CodeHost>(codeHost: T): T => wrapPort(codeHost, traced(codeHost.id)),
    limitWaits: (waits: LimitWaits): LimitWaits => wrapPort(waits, measures?.waits),
    push(push: EventQueue["push"]): EventQueue["push"] {
      const tracedPush = tracer ? tracePush(push, tracer) : push;
      return measures?.push(tracedPush) ?? tracedPush;
    },
    countTask: (task: string, outcome: string) => metrics?.workerTasks.inc({ task, outcome }),
    countCheck: (check: string, outcome: string, seconds: number) =>
      metrics?.checkDuration.observe({ check, outcome }, seconds),
    countDelivery: (notification: string, outcome: string) => metrics?.notifications.inc({ notification, outcome }),
    countRefusal: (host: string, reason: string) => metrics?.webhooksRefused.inc({ host, reason }),
    run: (event: HostEvent, run: () => Promise<RunEnd>): Promise<RunEnd> => {
      const measuredRun = measures ? () => measures.run(event, run) : run;
      return tracer ? traceRun(event, measuredRun, tracer) : measuredRun();
    },
    /** Mount it before the webhook routes. */
    tracing: tracer ? [traceWebhooks(tracer)] : [],
    /** Serves the metrics, if they have a port. */
    async listen(sources: MetricSources): Promise<void> {
      if (loaded === undefined || metrics === undefined || port === undefined) return;
      beginAtZero(metrics, sources.hosts);
      closeServer = await loaded.serveMetrics(metrics.registry, sources, { host, port }, log);
      log.info({ port }, "metrics are served");
    },
    async close(): Promise<void> {
      stopCounting?.();
      await closeServer?.();
    },
  };
}

/**
 * Begins the counters that alerts watch. Prometheus sees an increase between two samples only: of a counter that begins with its first
 * failure it would see none. https://prometheus.io/docs/practices/instrumentation/#avoid-missing-metrics
 */
function beginAtZero(metrics: Metrics, hosts: readonly HostId[]): void {
  const { events, argocdErrors, renderErrors, webhooksRefused } = metrics;
  beginStoreErrors("queue", metrics);
  for (const host of hosts) {
    for (const kind of EVENT_KINDS) {
      for (const outcome of ["failed", "refused", "not_queued"]) events.inc({ host, kind, outcome }, 0);
    }
    for (const reason of ["no_room", "too_slow"]) webhooksRefused.inc({ host, reason }, 0);
  }
  for (const reason of ["unreachable", "unauthenticated", "forbidden"]) argocdErrors.inc({ reason }, 0);
  for (const mode of ["in-place", "temporary"]) {
    for (const reason of ["unauthenticated", "forbidden"]) renderErrors.inc({ mode, reason }, 0);
  }
}

function beginStoreErrors(store: string, { storeErrors }: Metrics): void {
  for (const kind of ["unavailable", "unreadable"]) storeErrors.inc({ store, kind }, 0);
}

function observedStores(
  stores: Stores,
  measures: ReturnType<typeof measureCalls> | undefined,
  observe: <T extends object>(name: keyof Stores, store: T, calls?: MethodCalls<T>) => T,
): Stores {
  return {
    ...stores,
    locks: observe("locks", stores.locks),
    waiting: observe("waiting", stores.waiting),
    holds: observe("holds", stores.holds),
    rollouts: observe("rollouts", stores.rollouts),
    plans: observe("plans", stores.plans, measures?.plans),
    deployments: observe("deployments", stores.deployments),
    statuses: observe("statuses", stores.statuses),
    marks: observe("marks", stores.marks),
    audit: observe("audit", stores.audit, measures?.audit),
    users: observe("users", stores.users),
    attempts: observe("attempts", stores.attempts),
  };
}

function traceWebhooks(tracer: Tracer): Router {
  const router = Router();
  router.post(Object.values(WEBHOOK_PATHS), (request, response, next) => {
    const { path } = request;
    const attributes = { "http.request.method": "POST", "http.route": path };
    // The trace context of the sender is ignored: it would decide what is sampled.
    const span = tracer.startSpan(`POST ${path}`, { kind: SpanKind.SERVER, attributes, root: true });
    response.once("close", () => {
      span.setAttribute("http.response.status_code", response.statusCode);
      if (response.statusCode >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
    });
    context.with(trace.setSpan(ROOT_CONTEXT, span), next);
  });
  return router;
}

/** A span per call inside of a trace: `<system>.<method>`. No attribute holds an argument or a text of an answer. */
function traceCalls(system: string, tracer: Tracer): EveryCall {
  return (method, call) => {
    // Probes, sweeps and pages have no trace: each call would be one of its own.
    if (trace.getActiveSpan() === undefined) return call();
    const span = tracer.startSpan(`${system}.${method}`, { kind: SpanKind.CLIENT });
    return context.with(trace.setSpan(context.active(), span), () =>
      reportEnd(call, (end) => {
        if (end.kind === "threw") markFailed(span, end.error);
        span.end();
      }),
    );
  };
}

/** Names the kind of failure, never its message: that may quote a person or an outside system. */
function markFailed(span: Span, error: unknown): void {
  span.setStatus({ code: SpanStatusCode.ERROR });
  const kind = error instanceof Error ? error.name : "unknown";
  const reason = error instanceof DeployerFailure || error instanceof HostFailure ? `.${error.reason}` : "";
  span.setAttribute("error.type", `${kind}${reason}`);
}

async function inSpan<T>(span: Span, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    markFailed(span, error);
    throw error;
  } finally {
    span.end();
  }
}

/** Puts the trace into the event, for the replica that runs it. */
function tracePush(push: EventQueue["push"], tracer: Tracer): EventQueue["push"] {
  return (event) =>
    tracer.startActiveSpan("queue.push", { kind: SpanKind.PRODUCER }, (span) => {
      const carrier: Pick<HostEvent, "traceparent"> = {};
      propagation.inject(context.active(), carrier);
      return inSpan(span, () => push({ ...event, ...carrier }));
    });
}

/** Runs an event in a span that follows the one of its webhook. */
export function traceRun(event: HostEvent, run: () => Promise<RunEnd>, tracer: Tracer): Promise<RunEnd> {
  const { change, kind, delivery } = event;
  // Not from the active context: the queue may start this run from the end of another.
  const parent = propagation.extract(ROOT_CONTEXT, { traceparent: event.traceparent });
  const attributes = {
    [attribute("host")]: change.host,
    [attribute("repository")]: change.repository,
    [attribute("change_request")]: change.number,
    [attribute("event")]: kind,
    [attribute("delivery")]: delivery,
  };
  return tracer.startActiveSpan(`run ${kind}`, { kind: SpanKind.CONSUMER, attributes }, parent, (span) =>
    inSpan(span, async () => {
      const end = await run();
      span.setAttribute(attribute("outcome"), end);
      if (end === "failed") span.setStatus({ code: SpanStatusCode.ERROR });
      return end;
    }),
  );
}

function attribute(name: string): string {
  return `${SERVICE}.${name}`;
}

/** Diagnostics channels of undici: https://undici.nodejs.org/#/docs/api/DiagnosticsChannel */
const ANSWERED = "undici:request:headers";
const BROKEN = "undici:request:error";

/** None of `fetch`, which says so: logins use it, in the name and within the limit of whoever logs in. */
const request = z.object({
  origin: z.union([z.string(), z.instanceof(URL)]).transform(String),
  headers: z.array(z.unknown()).refine((names) => !names.includes("sec-fetch-mode")),
});
const answered = z.object({
  request,
  response: z.object({ statusCode: z.number(), headers: z.array(z.unknown()).transform((list) => list.map(String)) }),
});
const broken = z.object({ request });

/** A code host, as far as counting the requests to its API needs it. */
export interface ObservedHost {
  readonly id: HostId;
  readonly apiUrl: string;
  /** The rate limit that an answer counts towards, out of a small fixed set; header names in lower case. */
  readonly rateLimitOf: (headers: Readonly<Record<string, string>>) => string;
}

/** Counts svc's own requests to the APIs of the code hosts. Returns a function that stops counting. */
export function countHostRequests(observed: readonly ObservedHost[], metrics: Metrics): () => void {
  const hosts = new Map(observed.map((host) => [new URL(host.apiUrl).origin, host]));
  /** Requests whose answer was counted: its body may still break. */
  const counted = new WeakSet<object>();

  const onAnswer = (message: unknown) => {
    const found = answered.safeParse(message).data;
    const host = found === undefined ? undefined : hosts.get(found.request.origin);
    if (found === undefined || host === undefined) return;
    remember(counted, message);
    const { statusCode: status } = found.response;
    const headers = headersOf(found.response.headers);
    metrics.hostRequests.inc({ host: host.id, outcome: outcomeOf(status, headers) });
    const remaining = Number(headers["x-ratelimit-remaining"] ?? headers["ratelimit-remaining"] ?? Number.NaN);
    if (Number.isNaN(remaining)) return;
    const resource = host.rateLimitOf(headers);
    metrics.rateLimitRemaining.set({ host: host.id, resource }, remaining);
    // A service that asks nothing more would tell the low number of an earlier window for hours.
    const ends = Number(headers["x-ratelimit-reset"] ?? headers["ratelimit-reset"] ?? Number.NaN) * 1000;
    metrics.rateLimitEnds.set(`${host.id} ${resource}`, ends > Date.now() ? ends : Infinity);
  };
  const onError = (message: unknown) => {
    const host = hosts.get(broken.safeParse(message).data?.request.origin ?? "");
    if (host === undefined || isRemembered(counted, message)) return;
    metrics.hostRequests.inc({ host: host.id, outcome: "unanswered" });
  };
  subscribe(ANSWERED, onAnswer);
  subscribe(BROKEN, onError);
  return () => {
    unsubscribe(ANSWERED, onAnswer);
    unsubscribe(BROKEN, onError);
  };
}

function outcomeOf(status: number, headers: Readonly<Record<string, string>>): string {
  if (isRateLimited({ status, headers })) return "rate_limited";
  if (status >= 500) return "server_error";
  return status >= 400 ? "client_error" : "ok";
}

/** @param list Names and values in turns. */
function headersOf(list: readonly string[]): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  for (let index = 0; index + 1 < list.length; index += 2) {
    headers[list[index]?.toLowerCase() ?? ""] = list[index + 1] ?? "";
  }
  return headers;
}

const withRequest = z.object({ request: z.custom<object>((value) => typeof value === "object" && value !== null) });

function remember(seen: WeakSet<object>, message: unknown): void {
  const asked = withRequest.safeParse(message).data?.request;
  if (asked !== undefined) seen.add(asked);
}

function isRemembered(seen: WeakSet<object>, message: unknown): boolean {
  const asked = withRequest.safeParse(message).data?.request;
  return asked !== undefined && seen.has(asked);
}
