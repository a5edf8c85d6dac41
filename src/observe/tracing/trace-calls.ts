import { context, SpanKind, SpanStatusCode, trace, type Span, type Tracer } from "@opentelemetry/api";
import { DeployerFailure, HostFailure } from "../../core/model/errors.js";
import { reportEnd, type EveryCall } from "../wrap-port.js";

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
export function markFailed(span: Span, error: unknown): void {
  span.setStatus({ code: SpanStatusCode.ERROR });
  const kind = error instanceof Error ? error.name : "unknown";
  const reason = error instanceof DeployerFailure || error instanceof HostFailure ? `.${error.reason}` : "";
  span.setAttribute("error.type", `${kind}${reason}`);
}
