import { ownMember } from "../../model/effect.js";
import type { Json, JsonObject } from "../../model/json.js";
import { isOlder, shortVersion } from "../../ports/deployer.js";
import { podPath, type ValuePath } from "../list-rules.js";
import type { ManifestIdentity } from "../manifest-key.js";

const ROLLING = { maxSurge: "25%", maxUnavailable: "25%" };
const PARTITION = { partition: 0 };

/**
 * What Kubernetes fills in for members that a manifest no longer has, by type and path of their map (`SetDefaults_…` in
 * `pkg/apis`, v1.34): its own answer keeps what was applied client-side. A newer Kubernetes may have others.
 */
const DEFAULTS: Readonly<Record<string, JsonObject>> = {
  "apps/Deployment spec": {
    ...{ replicas: 1, revisionHistoryLimit: 10, progressDeadlineSeconds: 600 },
    strategy: { type: "RollingUpdate", rollingUpdate: ROLLING },
  },
  "apps/Deployment spec.strategy": { type: "RollingUpdate", rollingUpdate: ROLLING },
  "apps/Deployment spec.strategy.rollingUpdate": ROLLING,
  "apps/StatefulSet spec": {
    ...{ replicas: 1, revisionHistoryLimit: 10, podManagementPolicy: "OrderedReady" },
    updateStrategy: { type: "RollingUpdate", rollingUpdate: PARTITION },
  },
  "apps/StatefulSet spec.updateStrategy": { type: "RollingUpdate", rollingUpdate: PARTITION },
  "apps/StatefulSet spec.updateStrategy.rollingUpdate": PARTITION,
  "apps/DaemonSet spec": { revisionHistoryLimit: 10 },
  "batch/Job spec": { parallelism: 1, completions: 1, completionMode: "NonIndexed", backoffLimit: 6, suspend: false },
  "batch/CronJob spec": {
    ...{ concurrencyPolicy: "Allow", suspend: false, successfulJobsHistoryLimit: 3, failedJobsHistoryLimit: 1 },
  },
  "/Service spec": { type: "ClusterIP", sessionAffinity: "None", internalTrafficPolicy: "Cluster" },
  "/Service spec.ports.[]": { protocol: "TCP" },
  "/Secret ": { type: "Opaque" },
  "/PersistentVolumeClaim spec": { volumeMode: "Filesystem" },
  "storage.k8s.io/StorageClass ": { reclaimPolicy: "Delete", volumeBindingMode: "Immediate" },
  "scheduling.k8s.io/PriorityClass ": { preemptionPolicy: "PreemptLowerPriority" },
  "autoscaling/HorizontalPodAutoscaler spec": { minReplicas: 1 },
};
const PROBE = { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 };
const IN_POD: Readonly<Record<string, JsonObject>> = {
  spec: {
    ...{ restartPolicy: "Always", dnsPolicy: "ClusterFirst", schedulerName: "default-scheduler", securityContext: {} },
    terminationGracePeriodSeconds: 30,
  },
  container: { resources: {}, terminationMessagePath: "/dev/termination-log", terminationMessagePolicy: "File" },
  "container.ports.[]": { protocol: "TCP" },
  "container.readinessProbe": PROBE,
  "container.livenessProbe": PROBE,
  "container.startupProbe": PROBE,
};

const COPIED = "1.34";

/** Whether nobody can tell what Kubernetes of this version puts in the place of a member that goes. @param parent as below. */
export function mayDefaultOtherwise(
  version: string | undefined,
  identity: ManifestIdentity,
  path: ValuePath,
  parent: JsonObject,
): boolean {
  const inside = podPath(identity, path) ?? path.join(".");
  if (path.at(-1) === "[]" || /^(?:metadata|data|binaryData|stringData)\./.test(inside)) return false;
  if (defaultOf(identity, path, parent) === undefined) return true;
  return version === undefined || isOlder(COPIED, shortVersion(version) ?? "9999") !== false;
}

/** @param parent the map without the member. */
export function defaultOf(identity: ManifestIdentity, path: ValuePath, parent: JsonObject): Json | undefined {
  const [at, member] = [path.slice(0, -1), path.at(-1) ?? ""];
  if (member === "rollingUpdate" && (parent.type ?? "RollingUpdate") !== "RollingUpdate") return undefined;
  const inPod = podPath(identity, at)?.replace(/^spec\.(?:containers|initContainers)\.\[\]/, "container");
  if (inPod === "container" && member === "imagePullPolicy") return pullPolicyOf(parent);
  const type = `${identity.group}/${identity.kind} ${at.join(".")}`;
  if (type === "/Service spec.ports.[]" && member === "targetPort") return parent.port;
  const map = DEFAULTS[type] ?? IN_POD[inPod ?? ""];
  return map && ownMember(map, member);
}

/** `latest`, written or meant, is pulled each time. */
function pullPolicyOf({ image }: JsonObject): Json | undefined {
  if (typeof image !== "string") return undefined;
  const tag = image.includes("@") ? "" : (/:([^/:]+)$/.exec(image)?.[1] ?? "latest");
  return tag === "latest" ? "Always" : "IfNotPresent";
}

/** Factors in nano units, so that `n` is 1. */
const SUFFIXES: ReadonlyMap<string, bigint> = new Map([
  ["n", 1n],
  ["u", 10n ** 3n],
  ["m", 10n ** 6n],
  ["", 10n ** 9n],
  ["k", 10n ** 12n],
  ["M", 10n ** 15n],
  ["G", 10n ** 18n],
  ["T", 10n ** 21n],
  ["P", 10n ** 24n],
  ["E", 10n ** 27n],
  ["Ki", 10n ** 9n * 2n ** 10n],
  ["Mi", 10n ** 9n * 2n ** 20n],
  ["Gi", 10n ** 9n * 2n ** 30n],
  ["Ti", 10n ** 9n * 2n ** 40n],
  ["Pi", 10n ** 9n * 2n ** 50n],
  ["Ei", 10n ** 9n * 2n ** 60n],
]);

const FORM = /^([+-]?)(\d{0,30})(?:\.(\d{0,30}))?(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?\d{1,2}))?$/;

/**
 * Compares two Kubernetes quantities (`1` and `1000m`, `1Gi` and `1024Mi`): negative, zero or positive. Undefined if one is
 * not a quantity. https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
 */
export function compareQuantities(left: Json | undefined, right: Json | undefined): number | undefined {
  const [one, other] = [read(left), read(right)];
  if (one === undefined || other === undefined) return undefined;
  const difference = one.value * other.divisor - other.value * one.divisor;
  return difference === 0n ? 0 : difference < 0n ? -1 : 1;
}

function read(value: Json | undefined): { readonly value: bigint; readonly divisor: bigint } | undefined {
  const found = typeof value === "string" || typeof value === "number" ? FORM.exec(String(value)) : null;
  const [, sign, whole = "", part = "", suffix = "", exponent = "0"] = found ?? [];
  const factor = SUFFIXES.get(suffix);
  if (found === null || factor === undefined || whole + part === "") return undefined;
  const power = Number(exponent);
  const digits = BigInt(whole + part) * factor * 10n ** BigInt(Math.max(power, 0));
  return { value: sign === "-" ? -digits : digits, divisor: 10n ** BigInt(part.length + Math.max(-power, 0)) };
}
