import { setTimeout } from "node:timers/promises";
import { diag, DiagLogLevel, trace, type Tracer } from "@opentelemetry/api";
import { NodeSDK, resources } from "@opentelemetry/sdk-node";
import type { Log } from "../../core/ports/log.js";
import { SERVICE } from "../../names.js";

const LAST_WAIT_MS = 2000;

/** Traces on their way to a collector. */
export interface Tracing {
  readonly tracer: Tracer;
  /** Sends what waits, for two seconds at most. */
  close(): Promise<void>;
}

/**
 * Starts OpenTelemetry, which reads its standard variables itself
 * (https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/). Traces only: metrics are scraped.
 */
export function startTracing(version: string, log: Log): Tracing {
  // By default it is silent, also about a collector that cannot be reached.
  const tell = (problem: string) => log.warn({ problem: problem.slice(0, 300) }, "OpenTelemetry reported a problem");
  const silent = () => undefined;
  diag.setLogger({ error: tell, warn: tell, info: silent, debug: silent, verbose: silent }, DiagLogLevel.WARN);
  const { envDetector, resourceFromAttributes } = resources;
  const sdk = new NodeSDK({
    resource: resourceFromAttributes({ "service.name": SERVICE, "service.version": version }),
    // The others would add command line, user and host; OTEL_RESOURCE_ATTRIBUTES can.
    resourceDetectors: [envDetector],
    metricReaders: [],
    logRecordProcessors: [],
  });
  sdk.start();
  return {
    tracer: trace.getTracer(SERVICE, version),
    async close() {
      // A collector that is away must not use up the time in which a container may stop.
      const late = new AbortController();
      const sent = sdk.shutdown().then(() => true);
      const inTime = await Promise.race([sent, setTimeout(LAST_WAIT_MS, false, { signal: late.signal })]).catch(
        () => false,
      );
      late.abort();
      if (!inTime) log.warn({}, "the last traces could not be sent");
    },
  };
}
