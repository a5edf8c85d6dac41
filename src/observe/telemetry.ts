import { context, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace, type Tracer } from "@opentelemetry/api";
import { Router } from "express";
import type { ServerConfig } from "../config/server/server.js";
import type { HostEvent } from "../core/model/event.js";
import type { CodeHost } from "../core/ports/code-host.js";
import type { Deployer } from "../core/ports/deployer.js";
import type { EventQueue, RunEnd } from "../core/ports/event-queue.js";
import type { Log } from "../core/ports/log.js";
import type { DeliveryOutcome } from "../core/ports/notifications.js";
import type { Repositories } from "../core/ports/repositories.js";
import type { LimitWaits } from "../hosts/limit-waits.js";
import type { WebhookIntake } from "../hosts/webhook-route.js";
import { WEBHOOK_PATHS } from "../names.js";
import type { Stores } from "../store/stores.js";
import { countHostRequests, type ObservedHost } from "./metrics/host-requests.js";
import { measureCalls, type StoreName } from "./metrics/measure-calls.js";
import type { MetricSources, MetricsServer } from "./metrics/metrics.js";
import { traceCalls, tracePush, traceRun } from "./tracing/traces.js";
import { type EveryCall, type MethodCalls, wrapPort } from "./wrap-port.js";

/** Traces and measures the ports; with both switched off it returns them as they are. */
export interface Telemetry {
  stores(stores: Stores): Stores;
  deployer<T extends Deployer>(deployer: T): T;
  repositories(repositories: Repositories): Repositories;
  host<T extends CodeHost>(host: T): T;
  limitWaits(waits: LimitWaits): LimitWaits;
  push(push: EventQueue["push"]): EventQueue["push"];
  /** How a task of a worker thread ended. */
  countTask(task: string, outcome: string): void;
  /** How a check ended, and after how many seconds. */
  readonly countCheck: (check: string, outcome: string, seconds: number) => void;
  readonly countRefusal: WebhookIntake["countRefusal"];
  /** How an attempt to deliver a notification ended. */
  readonly countDelivery: (receiver: string, outcome: DeliveryOutcome) => void;
  /** Wraps the handling of one event. */
  run(event: HostEvent, run: () => Promise<RunEnd>): Promise<RunEnd>;
  /** Mount it before the webhook routes. */
  readonly tracing: readonly Router[];
  /** Serves the metrics, if they have a port. */
  listen(sources: MetricSources): Promise<void>;
  close(): Promise<void>;
}

interface TelemetryParts {
  readonly config: Pick<ServerConfig, "server">;
  readonly hosts: readonly ObservedHost[];
  /** Undefined: no traces. */
  readonly tracer: Tracer | undefined;
  readonly log: Log;
}

export async function createTelemetry({ config, hosts, tracer, log }: TelemetryParts): Promise<Telemetry> {
  const { metricsPort: port, host } = config.server;
  // Loaded on demand: it takes a tenth of the start.
  const loaded = port === undefined ? undefined : await import("./metrics/metrics.js");
  const metrics = loaded?.createMetrics();
  const measures = metrics && measureCalls(metrics);
  const stopCounting = metrics && countHostRequests(hosts, metrics);
  const traced = (system: string): EveryCall | undefined => tracer && traceCalls(system, tracer);
  const stored = <T extends object>(name: StoreName, port: T, calls?: MethodCalls<T>): T =>
    wrapPort(port, traced(`store.${name}`), measures?.storeErrors(name), calls);
  let server: MetricsServer | undefined;
  return {
    stores: (stores) => ({
      ...stores,
      locks: stored("locks", stores.locks),
      waiting: stored("waiting", stores.waiting),
      plans: stored("plans", stores.plans, measures?.plans),
      deployments: stored("deployments", stores.deployments),
      audit: stored("audit", stores.audit, measures?.audit),
      users: stored("users", stores.users),
      attempts: stored("attempts", stores.attempts),
    }),
    deployer: (deployer) => wrapPort<typeof deployer, Deployer>(deployer, traced("argocd"), measures?.deployer),
    repositories: (repositories) =>
      wrapPort(
        repositories,
        tracer && { open: async (call) => wrapPort(await call(), traceCalls("git", tracer)) },
        traced("git"),
        measures?.repositories,
      ),
    host: (codeHost) => wrapPort(codeHost, traced(codeHost.id)),
    limitWaits: (waits) => wrapPort(waits, measures?.waits),
    push(push) {
      const tracedPush = tracer ? tracePush(push, tracer) : push;
      return measures?.push(tracedPush) ?? tracedPush;
    },
    countTask: (task, outcome) => metrics?.workerTasks.inc({ task, outcome }),
    countCheck: (check, outcome, seconds) => metrics?.checkDuration.observe({ check, outcome }, seconds),
    countDelivery: (notification, outcome) => metrics?.notifications.inc({ notification, outcome }),
    countRefusal: (host, reason) => metrics?.webhooksRefused.inc({ host, reason }),
    run(event, run) {
      const measuredRun = measures ? () => measures.run(event, run) : run;
      return tracer ? traceRun(event, measuredRun, tracer) : measuredRun();
    },
    tracing: tracer ? [traceWebhooks(tracer)] : [],
    async listen(sources) {
      if (loaded === undefined || metrics === undefined || port === undefined) return;
      metrics.collectFrom(sources);
      server = await loaded.startMetricsServer(metrics.registry, { host, port }, log);
      log.info({ port }, "metrics are served");
    },
    async close() {
      stopCounting?.();
      await server?.close();
    },
  };
}

/** Starts a trace for each webhook. Mount it before the webhook routes. */
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
