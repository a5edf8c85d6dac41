import type { Tracer } from "@opentelemetry/api";
import type { Router } from "express";
import type { ServerConfig } from "../config/server-config.js";
import type { HostEvent } from "../core/model/event.js";
import type { CodeHost } from "../core/ports/code-host.js";
import type { Deployer } from "../core/ports/deployer.js";
import type { EventQueue, RunEnd } from "../core/ports/event-queue.js";
import type { Log } from "../core/ports/log.js";
import type { Repositories } from "../core/ports/repositories.js";
import type { Stores } from "../store/stores.js";
import { countHostRequests } from "./metrics/host-requests.js";
import { measuredDeployer, measuredPush, measuredRepositories, measuredStores } from "./metrics/measured-ports.js";
import { startMetricsServer, type MetricsServer } from "./metrics/metrics-server.js";
import type { MetricSources } from "./metrics/metrics.js";
import { RunMeasure } from "./metrics/run-measure.js";
import { tracedPush, tracedRun, webhookTracer } from "./tracing/traced-events.js";
import { tracedCalls, tracedRepositories, tracedStores } from "./tracing/traced-ports.js";

/** Metrics and traces around the ports; where both are off everything stays as it is. */
export interface Telemetry {
  stores(stores: Stores): Stores;
  deployer<T extends Deployer>(deployer: T): T;
  repositories(repositories: Repositories): Repositories;
  host<T extends CodeHost>(host: T): T;
  push(push: EventQueue["push"]): EventQueue["push"];
  /** Around the run of one event. */
  run(event: HostEvent, run: () => Promise<RunEnd>): Promise<RunEnd>;
  /** To be mounted in front of the webhooks. */
  readonly tracing: readonly Router[];
  /** Opens the port for metrics, if there is to be one. */
  listen(sources: MetricSources): Promise<void>;
  close(): Promise<void>;
}

export interface TelemetryParts {
  readonly config: ServerConfig;
  /** Undefined: no traces. */
  readonly tracer: Tracer | undefined;
  readonly log: Log;
}

export async function createTelemetry({ config, tracer, log }: TelemetryParts): Promise<Telemetry> {
  const { metricsPort: port, host } = config.server;
  // Loaded only where it is used: it would take a tenth of the start otherwise.
  const metrics = port === undefined ? undefined : (await import("./metrics/metrics.js")).createMetrics();
  const measure = metrics === undefined ? undefined : new RunMeasure(metrics);
  const endCounting = metrics === undefined ? undefined : countHostRequests(config, metrics);
  let server: MetricsServer | undefined;
  return {
    stores(stores) {
      const traced = tracer === undefined ? stores : tracedStores(stores, tracer);
      return metrics === undefined || measure === undefined ? traced : measuredStores(traced, metrics, measure);
    },
    deployer(deployer) {
      const traced = tracer === undefined ? deployer : tracedCalls(deployer, "argocd", tracer);
      return metrics === undefined || measure === undefined ? traced : measuredDeployer(traced, metrics, measure);
    },
    repositories(repositories) {
      const traced = tracer === undefined ? repositories : tracedRepositories(repositories, tracer);
      return measure === undefined ? traced : measuredRepositories(traced, measure);
    },
    host: (codeHost) => (tracer === undefined ? codeHost : tracedCalls(codeHost, codeHost.id, tracer)),
    push(push) {
      const traced = tracer === undefined ? push : tracedPush(push, tracer);
      return metrics === undefined ? traced : measuredPush(traced, metrics);
    },
    run(event, run) {
      const measured = measure === undefined ? run : () => measure.measure(event, run);
      return tracer === undefined ? measured() : tracedRun(event, measured, tracer);
    },
    tracing: tracer === undefined ? [] : [webhookTracer(tracer)],
    async listen(sources) {
      if (metrics === undefined || port === undefined) return;
      metrics.collectFrom(sources);
      server = await startMetricsServer(metrics.registry, { host, port }, log);
      log.info({ port }, "metrics are served");
    },
    async close() {
      endCounting?.();
      await server?.close();
    },
  };
}
