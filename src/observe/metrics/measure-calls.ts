import { DeployerFailure, StoredValueUnreadable, StoreUnavailable } from "../../core/model/errors.js";
import type { AuditLog } from "../../core/ports/audit.js";
import type { Deployer } from "../../core/ports/deployer.js";
import type { EventQueue } from "../../core/ports/event-queue.js";
import type { Repositories } from "../../core/ports/repositories.js";
import type { PlanStore } from "../../core/ports/stores.js";
import type { LimitWaits } from "../../hosts/limit-waits.js";
import { reportEnd, type EveryCall, type MethodCalls } from "../wrap-port.js";
import type { Metrics } from "./metrics.js";
import type { RunMeasure } from "./run-measure.js";

/** Ports to the store, as the label of their errors. */
export type StoreName = "locks" | "waiting" | "plans" | "deployments" | "audit" | "users" | "attempts" | "queue";

export function countStoreErrors(store: StoreName, metrics: Metrics): EveryCall {
  return (_method, call) =>
    reportEnd(call, (end) => {
      if (end.kind === "threw") countStoreError(store, end.error, metrics);
    });
}

function countStoreError(store: StoreName, error: unknown, { storeErrors }: Metrics): void {
  if (error instanceof StoreUnavailable) storeErrors.inc({ store, kind: "unavailable" });
  else if (error instanceof StoredValueUnreadable) storeErrors.inc({ store, kind: "unreadable" });
}

/** A plan is saved as soon as it is complete. */
export function measurePlans(measure: RunMeasure): MethodCalls<PlanStore> {
  return {
    save(call) {
      measure.diffed();
      return call();
    },
  };
}

/** The audit trail names a run's command and its outcome. */
export function measureAudit(measure: RunMeasure): MethodCalls<AuditLog> {
  return {
    record(call, entry) {
      measure.audited(entry);
      return call();
    },
  };
}

export function measureRenders(measure: RunMeasure, metrics: Metrics): MethodCalls<Deployer> {
  return {
    async renderManifests(call, { mode }, signal) {
      metrics.renders.inc({ mode });
      const ended = measure.rendering();
      try {
        return await call();
      } catch (error) {
        const reason = error instanceof DeployerFailure ? error.reason : "unexpected";
        if (!signal.aborted) metrics.renderErrors.inc({ mode, reason });
        throw error;
      } finally {
        ended();
      }
    },
  };
}

/** Observes a wait when it ends. */
export function measureWaits({ writeWait }: Metrics): MethodCalls<LimitWaits> {
  return {
    begin(call, { host, reason }) {
      const stop = writeWait.startTimer({ host, reason });
      const wait = call();
      return {
        ...wait,
        end() {
          wait.end();
          stop();
        },
      };
    },
  };
}

export function measureFetches(measure: RunMeasure): MethodCalls<Repositories> {
  return { open: (call) => call().finally(() => measure.fetched()) };
}

/** Counts the events that never become a run. */
export function measurePush(push: EventQueue["push"], metrics: Metrics): EventQueue["push"] {
  return async (event) => {
    const count = (outcome: "duplicate" | "not_queued") =>
      metrics.events.inc({ host: event.change.host, kind: event.kind, outcome });
    try {
      const fresh = await push(event);
      if (!fresh) count("duplicate");
      return fresh;
    } catch (error) {
      count("not_queued");
      countStoreError("queue", error, metrics);
      throw error;
    }
  };
}
