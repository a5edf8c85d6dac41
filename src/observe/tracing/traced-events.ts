import { context, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace, type Tracer } from "@opentelemetry/api";
import { Router } from "express";
import type { HostEvent } from "../../core/model/event.js";
import type { EventQueue, RunEnd } from "../../core/ports/event-queue.js";
import { SERVICE, WEBHOOK_PATHS } from "../../names.js";
import { markFailed } from "./traced-ports.js";
import { contextOf, currentTraceparent } from "./traceparent.js";

/** Begins a trace for each webhook; to be mounted in front of the routes that take them. */
export function webhookTracer(tracer: Tracer): Router {
  const router = Router();
  router.post(Object.values(WEBHOOK_PATHS), (request, response, next) => {
    const { path } = request;
    const attributes = { "http.request.method": "POST", "http.route": path };
    // What a sender says of its own trace is not taken over: it would decide what is sampled.
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

/** The same push; the event carries the trace to the replica that runs it. */
export function tracedPush(push: EventQueue["push"], tracer: Tracer): EventQueue["push"] {
  return (event) =>
    tracer.startActiveSpan("queue.push", { kind: SpanKind.PRODUCER }, async (span) => {
      try {
        const traceparent = currentTraceparent();
        return await push(traceparent === undefined ? event : { ...event, traceparent });
      } catch (error) {
        markFailed(span, error);
        throw error;
      } finally {
        span.end();
      }
    });
}

/** Runs an event in a span that follows the one of its webhook. */
export function tracedRun(event: HostEvent, run: () => Promise<RunEnd>, tracer: Tracer): Promise<RunEnd> {
  const { change, kind, delivery } = event;
  // The queue begins a run wherever it has room: what was active there has nothing to do with this event.
  const parent = contextOf(event.traceparent, ROOT_CONTEXT);
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
