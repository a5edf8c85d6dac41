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
import { DeployerFailure, HostFailure } from "../../core/model/errors.js";
import type { HostEvent } from "../../core/model/event.js";
import type { EventQueue, RunEnd } from "../../core/ports/event-queue.js";
import { SERVICE } from "../../names.js";
import { type EveryCall, reportEnd } from "../wrap-port.js";

/** A span per call inside of a trace: `<system>.<method>`. No attribute holds an argument or a text of an answer. */
export function traceCalls(system: string, tracer: Tracer): EveryCall {
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
export function tracePush(push: EventQueue["push"], tracer: Tracer): EventQueue["push"] {
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
