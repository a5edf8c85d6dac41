import { context, isSpanContextValid, trace, type Context } from "@opentelemetry/api";

/** https://www.w3.org/TR/trace-context/#traceparent-header */
const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/** The current span as a W3C `traceparent`; undefined when there is none. */
export function currentTraceparent(): string | undefined {
  const span = trace.getSpanContext(context.active());
  if (span === undefined || !isSpanContextValid(span)) return undefined;
  return `00-${span.traceId}-${span.spanId}-${span.traceFlags.toString(16).padStart(2, "0")}`;
}

/** A context in which the span that `traceparent` names is the parent; `root` itself where it names none. */
export function contextOf(traceparent: string | undefined, root: Context): Context {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(traceparent ?? "") ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return root;
  const span = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  return isSpanContextValid(span) ? trace.setSpanContext(root, span) : root;
}
