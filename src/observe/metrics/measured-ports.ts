import { DeployerFailure, StoredValueUnreadable, StoreUnavailable } from "../../core/model/errors.js";
import type { HostEvent } from "../../core/model/event.js";
import type { Deployer } from "../../core/ports/deployer.js";
import type { EventQueue } from "../../core/ports/event-queue.js";
import type { Repositories } from "../../core/ports/repositories.js";
import type { Stores } from "../../store/stores.js";
import { callAndTell, observeCalls } from "../observe-calls.js";
import type { Metrics } from "./metrics.js";
import type { RunMeasure } from "./run-measure.js";

type StoreName = "locks" | "plans" | "deployments" | "audit" | "users" | "attempts" | "queue";

/** The same stores; their errors are counted, and a run's plan and audit entries measure it. */
export function measuredStores(stores: Stores, metrics: Metrics, measure: RunMeasure): Stores {
  const counted = <T extends object>(name: StoreName, port: T): T =>
    observeCalls(port, (_method, run) =>
      callAndTell(run, (end) => {
        if (end.kind === "threw") countStoreError(metrics, name, end.error);
      }),
    );
  const plans = counted("plans", stores.plans);
  const audit = counted("audit", stores.audit);
  return {
    ...stores,
    locks: counted("locks", stores.locks),
    plans: {
      save(plan) {
        measure.diffed();
        return plans.save(plan);
      },
      find: (change) => plans.find(change),
    },
    deployments: counted("deployments", stores.deployments),
    audit: {
      record(entry) {
        measure.audited(entry);
        return audit.record(entry);
      },
      list: (query) => audit.list(query),
    },
    users: counted("users", stores.users),
    attempts: counted("attempts", stores.attempts),
  };
}

function countStoreError(metrics: Metrics, store: StoreName, error: unknown): void {
  if (error instanceof StoreUnavailable) metrics.storeErrors.inc({ store, kind: "unavailable" });
  else if (error instanceof StoredValueUnreadable) metrics.storeErrors.inc({ store, kind: "unreadable" });
}

/** The same Argo CD; its renders are counted and measured. */
export function measuredDeployer<T extends Deployer>(deployer: T, metrics: Metrics, measure: RunMeasure): T {
  return {
    ...deployer,
    async renderManifests(request, signal) {
      const { mode } = request;
      metrics.renders.inc({ mode });
      const ended = measure.rendering();
      try {
        return await deployer.renderManifests(request, signal);
      } catch (error) {
        const reason = error instanceof DeployerFailure ? error.reason : "unexpected";
        if (signal?.aborted !== true) metrics.renderErrors.inc({ mode, reason });
        throw error;
      } finally {
        ended();
      }
    },
  } satisfies Deployer & T;
}

/** The same repositories; the end of a fetch is noted. */
export function measuredRepositories(repositories: Repositories, measure: RunMeasure): Repositories {
  return {
    async open(change, source, signal) {
      try {
        return await repositories.open(change, source, signal);
      } finally {
        measure.fetched();
      }
    },
  };
}

/** The same push; what never comes to a run is counted. */
export function measuredPush(push: EventQueue["push"], metrics: Metrics): EventQueue["push"] {
  return async (event: HostEvent) => {
    const count = (outcome: "duplicate" | "not_queued") =>
      metrics.events.inc({ host: event.change.host, kind: event.kind, outcome });
    try {
      const fresh = await push(event);
      if (!fresh) count("duplicate");
      return fresh;
    } catch (error) {
      count("not_queued");
      countStoreError(metrics, "queue", error);
      throw error;
    }
  };
}
