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
import type { ServerConfig } from "../config/server/server.js";
import { DeployerFailure, HostFailure } from "../core/model/errors.js";
import type { HostEvent } from "../core/model/event.js";
import type { CodeHost } from "../core/ports/code-host.js";
import type { Deployer } from "../core/ports/deployer.js";
import type { EventQueue, RunEnd } from "../core/ports/event-queue.js";
import type { Log } from "../core/ports/log.js";
import type { Repositories } from "../core/ports/repositories.js";
import type { LimitWaits } from "../hosts/limit-waits.js";
import { SERVICE, WEBHOOK_PATHS } from "../names.js";
import type { Stores } from "../store/stores.js";
import { countHostRequests, type ObservedHost } from "./metrics/host-requests.js";
import type { measureCalls, MetricSources } from "./metrics/metrics.js";
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
      observedStores(stores, measures, (name, store, calls) =>
        wrapPort(store, traced(`store.${name}`), measures?.storeErrors(name), calls),
      ),
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
    /** Wraps the handling of one event. */
    run: (event: HostEvent, run: () => Promise<RunEnd>): Promise<RunEnd> => {
      const measuredRun = measures ? () => measures.run(event, run) : run;
      return tracer ? traceRun(event, measuredRun, tracer) : measuredRun();
    },
    /** Mount it before the webhook routes. */
    tracing: tracer ? [traceWebhooks(tracer)] : [],
    /** Serves the metrics, if they have a port. */
    async listen(sources: MetricSources): Promise<void> {
      if (loaded === undefined || metrics === undefined || port === undefined) return;
      closeServer = await loaded.serveMetrics(metrics.registry, sources, { host, port }, log);
      log.info({ port }, "metrics are served");
    },
    async close(): Promise<void> {
      stopCounting?.();
      await closeServer?.();
    },
  };
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

/** Puts the trace into the event, for the replica that runs it. */
function tracePush(push: EventQueue["push"], tracer: Tracer): EventQueue["push"] {
  return (event) =>
    tracer.startActiveSpan("queue.push", { kind: SpanKind.PRODUCER }, async (span) => {
      try {
        const carrier: Pick<HostEvent, "traceparent"> = {};
        propagation.inject(context.active(), carrier);
        return await push({ ...event, ...carrier });
      } catch (error) {
        markFailed(span, error);
        throw error;
      } finally {
        span.end();
      }
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
  return tracer.startActiveSpan(`run ${kind}`, { kind: SpanKind.CONSUMER, attributes }, parent, async (span) => {
    try {
      const end = await run();
      span.setAttribute(attribute("outcome"), end);
      if (end === "failed") span.setStatus({ code: SpanStatusCode.ERROR });
      return end;
    } catch (error) {
      markFailed(span, error);
      throw error;
    } finally {
      span.end();
    }
  });
}

function attribute(name: string): string {
  return `${SERVICE}.${name}`;
}
