import { isObject, objectAt, same, type Json, type JsonObject } from "../argocd/json.js";
import type { Manifest, ObjectKey } from "../argocd/manifest.js";

/** A rule of the cluster's own, such as a policy: the words of its refusal, or undefined. */
export type AdmissionRule = (object: Manifest, key: ObjectKey) => string | undefined;

const IMMUTABLE = "field is immutable";
/** Members that never change, with Kubernetes' words. https://github.com/kubernetes/kubernetes/tree/v1.34.0/pkg/apis */
const FIXED: Readonly<Record<string, readonly (readonly [path: string, words: string])[]>> = {
  "apps/Deployment": [["spec.selector", IMMUTABLE]],
  "apps/DaemonSet": [["spec.selector", IMMUTABLE]],
  "batch/Job": [
    ["spec.selector", IMMUTABLE],
    ["spec.template", IMMUTABLE],
    ["spec.completions", IMMUTABLE],
  ],
  "rbac.authorization.k8s.io/RoleBinding": [["roleRef", "cannot change roleRef"]],
  "/Secret": [["type", IMMUTABLE]],
  "storage.k8s.io/StorageClass": [["parameters", "updates to parameters are forbidden."]],
};

/**
 * Why the API server refuses this version of an object, in its own words; undefined if it accepts it. Knows the immutable
 * members of common kinds, a few wrong values, and the rules that a test adds.
 */
export function refusalOf(
  live: Manifest | undefined,
  wanted: Manifest,
  key: ObjectKey,
  rules: readonly AdmissionRule[],
): string | undefined {
  const problems = [...(live === undefined ? [] : changes(live, wanted, key)), ...wrongValues(wanted, key)];
  if (problems.length > 0) {
    const list = problems.length === 1 ? problems.join("") : `[${problems.join(", ")}]`;
    return `${key.kind}${key.group === "" ? "" : `.${key.group}`} "${key.name}" is invalid: ${list}`;
  }
  for (const rule of rules) {
    const denied = rule(wanted, key);
    if (denied !== undefined) return denied;
  }
  return undefined;
}

function changes(live: Manifest, wanted: Manifest, { group, kind }: ObjectKey): string[] {
  const type = `${group}/${kind}`;
  const changed = (path: string): boolean => !same(at(live, path), at(wanted, path));
  const fixed = (FIXED[type] ?? [])
    .filter(([path]) => at(live, path) !== undefined && changed(path))
    .map(([path, words]) => `${path}: Invalid value: ${JSON.stringify(at(wanted, path))}: ${words}`);
  switch (type) {
    case "apps/StatefulSet": {
      const free = new Set(["replicas", "template", "updateStrategy", "minReadySeconds", "ordinals"]);
      const members = Object.keys({ ...objectAt(live, "spec"), ...objectAt(wanted, "spec") });
      return members.some((member) => !free.has(member) && changed(`spec.${member}`))
        ? [
            "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy' are forbidden",
          ]
        : [];
    }
    case "/Service": {
      const address = at(live, "spec.clusterIP");
      return address !== undefined && changed("spec.clusterIP")
        ? [
            `spec.clusterIPs[0]: Invalid value: ${JSON.stringify([at(wanted, "spec.clusterIP")])}: may not change once set`,
          ]
        : [];
    }
    case "/ConfigMap":
      return live.immutable === true && ["data", "binaryData"].some(changed)
        ? ["data: Forbidden: field is immutable when `immutable` is set"]
        : [];
    case "/PersistentVolumeClaim":
      return ["storageClassName", "accessModes", "volumeMode", "resources"].some((member) => changed(`spec.${member}`))
        ? [
            "spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims",
          ]
        : [];
    default:
      return fixed;
  }
}

function wrongValues(wanted: Manifest, { group, kind }: ObjectKey): string[] {
  const replicas = at(wanted, "spec.replicas");
  const negative = (group === "apps" || group === "autoscaling") && typeof replicas === "number" && replicas < 0;
  const [least, most] = [at(wanted, "spec.minReplicas"), at(wanted, "spec.maxReplicas")];
  const crossed = kind === "HorizontalPodAutoscaler" && Number(most) < Number(least ?? 1);
  return [
    ...(negative ? [`spec.replicas: Invalid value: ${replicas}: must be greater than or equal to 0`] : []),
    ...(crossed
      ? [`spec.maxReplicas: Invalid value: ${Number(most)}: must be greater than or equal to \`minReplicas\``]
      : []),
    ...exclusive(objectAt(wanted, "spec", "strategy"), kind),
  ];
}

/** What server-side apply runs into where client-side apply drops the other member. */
function exclusive({ type, rollingUpdate }: JsonObject, kind: string): string[] {
  return kind === "Deployment" && type === "Recreate" && isObject(rollingUpdate)
    ? ["spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'"]
    : [];
}

function at(object: Manifest, path: string): Json | undefined {
  return path.split(".").reduce<Json | undefined>((value, key) => (isObject(value) ? value[key] : undefined), object);
}
