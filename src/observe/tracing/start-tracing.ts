import { setTimeout } from "node:timers/promises";
import { diag, DiagLogLevel, trace } from "@opentelemetry/api";
import { core, NodeSDK, resources } from "@opentelemetry/sdk-node";
import type { Log } from "../../core/ports/log.js";
import { SERVICE } from "../../names.js";

const MAX_CLOSE_MS = 2000;

/**
 * Starts OpenTelemetry, which reads its standard environment variables itself
 * (https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/). Exports traces only: metrics are
 * scraped.
 */
export function startTracing(version: string, log: Log) {
  // By default OpenTelemetry is silent, even if it cannot reach the collector.
  const warn = (problem: string) => log.warn({ problem: problem.slice(0, 300) }, "OpenTelemetry reported a problem");
  const silent = () => undefined;
  diag.setLogger({ error: warn, warn, info: silent, debug: silent, verbose: silent }, DiagLogLevel.WARN);
  const { envDetector, resourceFromAttributes } = resources;
  const sdk = new NodeSDK({
    resource: resourceFromAttributes({ "service.name": SERVICE, "service.version": version }),
    // The other detectors would export the command line, the user and the host name.
    resourceDetectors: [envDetector],
    // Events carry the trace context in this format, whatever OTEL_PROPAGATORS says.
    textMapPropagator: new core.W3CTraceContextPropagator(),
    metricReaders: [],
    logRecordProcessors: [],
  });
  sdk.start();
  return {
    tracer: trace.getTracer(SERVICE, version),
    /** Sends the remaining spans, within two seconds. */
    async close() {
      // An unreachable collector must not use up the time a container has to stop.
      const late = new AbortController();
      const sent = sdk.shutdown().then(() => true);
      const inTime = await Promise.race([sent, setTimeout(MAX_CLOSE_MS, false, { signal: late.signal })]).catch(
        () => false,
      );
      late.abort();
      if (!inTime) log.warn({}, "could not send the last traces");
    },
  };
}
