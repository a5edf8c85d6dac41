import { isHydrated, isMultiSource } from "../../core/model/application-spec.js";
import { changeRequestKey } from "../../core/model/change-request.js";
import type { Json } from "../../core/model/json.js";
import type { SyncRequest } from "../../core/ports/deployer.js";
import { SYNC_INFO_CHANGE_REQUEST, SYNC_INFO_RUN } from "../../names.js";
import { ArgoCdFailure } from "./argocd-failure.js";
import { rawSources } from "./to-application.js";

/**
 * The body of a sync. It omits `syncOptions` (they would replace the application's own), `strategy`, and `resources` (a
 * partial sync runs no hooks). It sets `retryStrategy` because an application's own `retry.refresh` would drop our revision
 * at the second attempt and deploy the target branch (Argo CD 3.2 and newer).
 * @throws {ArgoCdFailure} if the pins do not fit the sources: Argo CD would deploy something else and report success.
 */
export function syncBody(request: SyncRequest): Readonly<Record<string, Json | undefined>> {
  return {
    ...revisionMembers(request),
    dryRun: request.dryRun,
    prune: request.prune,
    infos: [
      { name: SYNC_INFO_RUN, value: request.runId },
      { name: SYNC_INFO_CHANGE_REQUEST, value: changeRequestKey(request.change) },
    ],
    retryStrategy: { limit: 0 },
  };
}

function revisionMembers({ application, at }: SyncRequest): Readonly<Record<string, Json>> {
  if (at === "target") return {};
  const { name, spec } = application;
  if (isHydrated(spec)) {
    throw refusal(`${name} is deployed from what Argo CD's source hydrator commits, so svc cannot sync it at a commit`);
  }
  const positions = at.map((pin) => pin.position);
  const count = rawSources(spec).length;
  const fits = positions.every((position) => position >= 1 && position <= count);
  if (at.length === 0 || !fits || new Set(positions).size !== positions.length) {
    throw refusal(`the sources of ${name} have changed since the plan: plan again`);
  }
  if (isMultiSource(spec)) return { sourcePositions: positions, revisions: at.map((pin) => pin.revision) };
  return { revision: at[0]?.revision ?? "" };
}

function refusal(message: string): ArgoCdFailure {
  return new ArgoCdFailure("refused", message);
}
