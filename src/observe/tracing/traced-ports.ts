import { context, type Span, SpanKind, SpanStatusCode, trace, type Tracer } from "@opentelemetry/api";
import { DeployerFailure, HostFailure } from "../../core/model/errors.js";
import type { Repositories } from "../../core/ports/repositories.js";
import type { Stores } from "../../store/stores.js";
import { callAndTell, observeCalls } from "../observe-calls.js";

/** The same object, with a span per call: `<system>.<method>`. Attributes hold no argument and no text of an answer. */
export function tracedCalls<T extends object>(port: T, system: string, tracer: Tracer): T {
  return observeCalls(port, (method, run) => {
    // Outside of a run nothing is traced: probes, sweeps and pages would be traces of one span each.
    if (trace.getActiveSpan() === undefined) return run();
    const span = tracer.startSpan(`${system}.${method}`, { kind: SpanKind.CLIENT });
    return context.with(trace.setSpan(context.active(), span), () =>
      callAndTell(run, (end) => {
        if (end.kind === "threw") markFailed(span, end.error);
        span.end();
      }),
    );
  });
}

/** The same repositories; what is read of a snapshot has spans as well. */
export function tracedRepositories(repositories: Repositories, tracer: Tracer): Repositories {
  const traced = tracedCalls(repositories, "git", tracer);
  return {
    async open(change, source, signal) {
      return tracedCalls(await traced.open(change, source, signal), "git", tracer);
    },
  };
}

/** The same stores, with spans. Sessions belong to pages, which are not traced. */
export function tracedStores(stores: Stores, tracer: Tracer): Stores {
  return {
    ...stores,
    locks: tracedCalls(stores.locks, "store.locks", tracer),
    plans: tracedCalls(stores.plans, "store.plans", tracer),
    deployments: tracedCalls(stores.deployments, "store.deployments", tracer),
    audit: tracedCalls(stores.audit, "store.audit", tracer),
  };
}

/** Names the kind of failure. Its message may quote what a person or an outside system wrote, and stays out. */
export function markFailed(span: Span, error: unknown): void {
  span.setStatus({ code: SpanStatusCode.ERROR });
  const kind = error instanceof Error ? error.name : "unknown";
  const reason = error instanceof DeployerFailure || error instanceof HostFailure ? `.${error.reason}` : "";
  span.setAttribute("error.type", `${kind}${reason}`);
}
