import * as z from "zod";
import { identity, readCall, resource, type Target } from "./application-api.js";
import { parseAnswer } from "./argocd-failure.js";
import type { Client } from "./client.js";

const resourceTree = z.object({
  nodes: z
    .array(
      resource.extend({
        uid: z.string().nullish(),
        parentRefs: z.array(z.object({ uid: z.string().nullish() })).nullish(),
        health: z.object({ status: z.string().nullish(), message: z.string().nullish() }).nullish(),
      }),
    )
    .nullish(),
});
type ResourceNode = NonNullable<z.infer<typeof resourceTree>["nodes"]>[number];

/** The objects of an application, and those below them, from Argo CD's cache. */
export async function getResourceTree(client: Client, target: Target): Promise<readonly ResourceNode[]> {
  const answer = await client.call(readCall([target.resourceName, "resource-tree"], { query: identity(target) }));
  return parseAnswer(resourceTree, answer, `the objects of ${target.resourceName}`).nodes ?? [];
}

/** Unhealthy objects, those that own no other first: a pod says why its Deployment does not become ready. */
export function unhealthyNodes(nodes: readonly ResourceNode[]): readonly ResourceNode[] {
  const sick = nodes.filter(({ health }) => !["Healthy", "", undefined].includes(health?.status ?? undefined));
  const owners = new Set(sick.flatMap(({ parentRefs }) => (parentRefs ?? []).map(({ uid }) => uid ?? undefined)));
  const owns = ({ uid }: ResourceNode) => uid !== null && uid !== undefined && owners.has(uid);
  return [...sick.filter((one) => !owns(one)), ...sick.filter(owns)];
}

/**
 * The health of a `Missing` application by what it has in the cluster. Argo CD compares with the target branch, which still has what a
 * sync deleted. Since v3.4 that counts only where nothing is left, and before it hides that others are not ready
 * (`setApplicationHealth` in controller/health.go). @param pruned the sync deleted something.
 */
export function presentHealth(nodes: readonly ResourceNode[], pruned: boolean): string {
  const present = nodes.flatMap(({ parentRefs, health }) =>
    (parentRefs ?? []).length > 0 || health?.status === "Missing" ? [] : [health?.status],
  );
  if (present.length === 0 && !pruned) return "Missing";
  return ["Progressing", "Suspended"].find((word) => present.includes(word)) ?? "Healthy";
}
