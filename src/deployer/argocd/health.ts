import type { SyncedResource } from "../../core/model/result.js";
import type { Deployer, HealthReport, SyncLookup } from "../../core/ports/deployer.js";
import type { Log } from "../../core/ports/log.js";
import { getApplication, getResourceTree, refreshApplication } from "./application-calls.js";
import type { ResourceNode, WholeApplication } from "./application-schema.js";
import { ArgoCdFailure } from "./argocd-failure.js";
import type { Client } from "./client.js";
import { readableText } from "./interpret-error.js";
import { isOurs, RESOURCE_MESSAGE_LENGTH, titleOf, unhealthyOf } from "./sync-outcome.js";
import { targetOf } from "./sync.js";

const MOST_OBJECTS = 30;

/**
 * Reads the health that includes a sync. Argo CD compares an application by itself once a sync has ended, but leaves the time
 * of the comparison as it was if nothing else changed: then a refresh writes it.
 */
export function createHealth({ client, log }: { readonly client: Client; readonly log: Log }): Deployer["healthAfter"] {
  return async (lookup, { refresh }) => {
    const target = targetOf(lookup);
    let found = await getApplication(client, target);
    if (refresh && stateOf(found, lookup) === "not-compared") {
      await refreshApplication(client, target, {});
      found = await getApplication(client, target);
    }
    const state = stateOf(found, lookup);
    if (state !== "compared") return { kind: state };
    const health = found.status?.health?.status ?? "Unknown";
    const since = found.status?.health?.lastTransitionTime ?? undefined;
    return { kind: "compared", health: readableText(health, 50), since, unhealthy: await objectsOf(found, lookup) };
  };

  async function objectsOf(found: WholeApplication, lookup: SyncLookup): Promise<readonly SyncedResource[]> {
    if (found.status?.health?.status === "Healthy") return [];
    try {
      const nodes = unhealthyNodes(await getResourceTree(client, targetOf(lookup)));
      if (nodes.length > 0) return nodes;
    } catch (error) {
      if (!(error instanceof ArgoCdFailure)) throw error;
      log.debug(
        { application: lookup.application.name, err: error },
        "could not read the objects below an application",
      );
    }
    return unhealthyOf(found).slice(0, MOST_OBJECTS);
  }
}

/**
 * Times have whole seconds, so a comparison in the second in which the sync ended counts: Argo CD's own `app wait` reads it
 * like this, and the health has to hold for longer than that.
 */
function stateOf({ operation, status }: WholeApplication, { runId }: SyncLookup): HealthReport["kind"] {
  const state = status?.operationState ?? undefined;
  if (operation !== null && operation !== undefined) return "replaced";
  if (state === undefined || !isOurs(state.operation, runId)) return "replaced";
  const [compared, finished] = [Date.parse(status?.reconciledAt ?? ""), Date.parse(state.finishedAt ?? "")];
  return compared >= finished ? "compared" : "not-compared";
}

/** A pod says why its Deployment does not get ready, so what owns no unhealthy object comes first. */
function unhealthyNodes(nodes: readonly ResourceNode[]): readonly SyncedResource[] {
  const sick = nodes.filter(({ health }) => !["Healthy", "", undefined].includes(health?.status ?? undefined));
  const owners = new Set(sick.flatMap(({ parentRefs }) => (parentRefs ?? []).map(({ uid }) => uid ?? undefined)));
  const owns = ({ uid }: ResourceNode) => uid !== null && uid !== undefined && owners.has(uid);
  return [...sick.filter((one) => !owns(one)), ...sick.filter(owns)].slice(0, MOST_OBJECTS).map((node) => ({
    title: titleOf(node),
    status: readableText(node.health?.status ?? "", 50),
    message: readableText(node.health?.message ?? "", RESOURCE_MESSAGE_LENGTH),
  }));
}
