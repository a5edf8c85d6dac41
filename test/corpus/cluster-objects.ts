import { isObject, objectAt, omit, same, type JsonObject } from "../../sandbox/argocd/json.js";
import { lastAppliedAnnotation } from "../../sandbox/argocd/masking.js";
import { trackingAnnotation } from "../../sandbox/argocd/tracking.js";
import type { LiveObject } from "../../sandbox/cluster/cluster.js";

/** Objects by the title that a plan gives them, without what the title says and what Kubernetes and Argo CD keep. */
export type ClusterObjects = Readonly<Record<string, JsonObject>>;

export interface ClusterChange {
  readonly created: ClusterObjects;
  /** As they are afterwards. */
  readonly changed: ClusterObjects;
  readonly deleted: readonly string[];
}

export function clusterObjects(live: readonly LiveObject[]): ClusterObjects {
  return Object.fromEntries(live.map((one) => [titleOf(one), contentOf(one)]));
}

/** Everything that is different between two looks at the cluster. */
export function clusterChange(before: ClusterObjects, after: ClusterObjects): ClusterChange {
  const pick = (chosen: (title: string) => boolean): ClusterObjects =>
    Object.fromEntries(Object.entries(after).filter(([title]) => chosen(title)));
  return {
    created: pick((title) => !(title in before)),
    changed: pick((title) => title in before && !same(before[title], after[title])),
    deleted: Object.keys(before).filter((title) => !(title in after)),
  };
}

function titleOf({ group, kind, namespace, name }: LiveObject): string {
  const type = group === "" ? kind : `${group}/${kind}`;
  return `${type} ${namespace === "" ? name : `${namespace}/${name}`}`;
}

function contentOf({ object }: LiveObject): JsonObject {
  const metadata = omit(
    objectAt(object, "metadata"),
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "generation",
    "managedFields",
  );
  const annotations = omit(objectAt(metadata, "annotations"), trackingAnnotation, lastAppliedAnnotation);
  const kept = filled({ ...metadata, annotations: filled(annotations) });
  return filled({ ...omit(object, "apiVersion", "kind"), metadata: kept });
}

/** Without members that are absent or empty objects. */
function filled(object: JsonObject): JsonObject {
  const isEmpty = (value: unknown) => value === undefined || (isObject(value) && Object.keys(value).length === 0);
  return Object.fromEntries(Object.entries(object).filter(([, value]) => !isEmpty(value)));
}
