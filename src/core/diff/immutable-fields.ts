import { isJsonObject, jsonEqual, type Json, type JsonObject } from "../model/json.js";
import { defaultOf } from "./live/kubernetes-defaults.js";
import type { ManifestIdentity } from "./manifest-key.js";
import { compareQuantities } from "./quantity.js";

/** Members that Kubernetes never lets change, by group and kind (`Validate…Update` in its validation packages, v1.34). */
const IMMUTABLE: Readonly<Record<string, readonly string[]>> = {
  "apps/DaemonSet": ["spec.selector"],
  "apps/Deployment": ["spec.selector"],
  "apps/ReplicaSet": ["spec.selector"],
  "apps/StatefulSet": ["spec.selector", "spec.serviceName", "spec.podManagementPolicy", "spec.volumeClaimTemplates"],
  "batch/Job": ["spec.selector", "spec.template", "spec.completions", "spec.completionMode"],
  "/Secret": ["type"],
  "storage.k8s.io/StorageClass": ["provisioner", "parameters", "reclaimPolicy", "volumeBindingMode"],
  "rbac.authorization.k8s.io/RoleBinding": ["roleRef"],
  "rbac.authorization.k8s.io/ClusterRoleBinding": ["roleRef"],
  "apiextensions.k8s.io/CustomResourceDefinition": ["spec.group", "spec.scope", "spec.names.kind", "spec.names.plural"],
  "scheduling.k8s.io/PriorityClass": ["value", "preemptionPolicy"],
  "networking.k8s.io/IngressClass": ["spec.controller"],
  "node.k8s.io/RuntimeClass": ["handler"],
};

/** The changed members that Kubernetes refuses to change. Empty if it accepts the update. */
export function refusedChanges(identity: ManifestIdentity, base: JsonObject, head: JsonObject): readonly string[] {
  const type = `${identity.group}/${identity.kind}`;
  const differs = (path: string) => {
    // Writing a default out is no change.
    const missing = defaultOf(identity, path.split("."), {});
    return !jsonEqual(valueAt(base, path) ?? missing, valueAt(head, path) ?? missing);
  };
  const fixed = (IMMUTABLE[type] ?? []).filter(differs);
  switch (type) {
    case "/Service":
      return clusterIpChange(base, head);
    case "/PersistentVolumeClaim":
      return claimChanges(base, head, differs);
    case "/ConfigMap":
    case "/Secret":
      return [
        ...fixed,
        ...(base.immutable === true ? ["data", "binaryData", "stringData", "immutable"].filter(differs) : []),
      ];
    case "batch/Job":
      // An indexed Job can be resized together with its parallelism.
      return valueAt(head, "spec.completionMode") === "Indexed"
        ? fixed.filter((path) => path !== "spec.completions")
        : fixed;
    default:
      return fixed;
  }
}

/** A member that the head leaves out keeps its value. An ExternalName Service has none. */
function clusterIpChange(base: JsonObject, head: JsonObject): readonly string[] {
  const path = "spec.clusterIP";
  const wanted = valueAt(head, path);
  const external = [base, head].some((side) => valueAt(side, "spec.type") === "ExternalName");
  return wanted === undefined || wanted === "" || external || jsonEqual(wanted, valueAt(base, path)) ? [] : [path];
}

const GROWING = "spec.resources.requests.storage";
const CHANGEABLE = new Set(["resources", "volumeAttributesClassName"]);

function claimChanges(base: JsonObject, head: JsonObject, differs: (path: string) => boolean): readonly string[] {
  const members = [base, head].flatMap(({ spec }) => (isJsonObject(spec) ? Object.keys(spec) : []));
  const fixed = [...new Set(members)].filter((member) => !CHANGEABLE.has(member)).map((member) => `spec.${member}`);
  const growth = compareQuantities(valueAt(head, GROWING), valueAt(base, GROWING));
  return [...fixed.filter(differs), ...(growth !== undefined && growth < 0 ? [`${GROWING} to a smaller size`] : [])];
}

function valueAt(object: JsonObject, path: string): Json | undefined {
  return path.split(".").reduce<Json | undefined>((at, key) => (isJsonObject(at) ? at[key] : undefined), object);
}
