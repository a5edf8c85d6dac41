import { isList } from "../../model/effect.js";
import { isJsonObject, type Json, type JsonObject } from "../../model/json.js";
import { podPath, type ValuePath } from "../list-rules.js";
import type { ManifestIdentity } from "../manifest-key.js";

/** A default, or how it follows from the rest of the map that lacks the member. */
type Default = Json | ((parent: JsonObject) => Json | undefined);

const ROLLING = { maxSurge: "25%", maxUnavailable: "25%" };
const ifRolling = (value: Json) => (parent: JsonObject) =>
  (parent.type ?? "RollingUpdate") === "RollingUpdate" ? value : undefined;

/**
 * What Kubernetes fills in for members that a manifest leaves out, by type and path (`SetDefaults_…` in `pkg/apis`, v1.34).
 * The API's rules do not let a default change within a version of a type.
 */
const DEFAULTS: ReadonlyMap<string, Default> = new Map<string, Default>([
  ["apps/Deployment spec.replicas", 1],
  ["apps/Deployment spec.revisionHistoryLimit", 10],
  ["apps/Deployment spec.progressDeadlineSeconds", 600],
  ["apps/Deployment spec.strategy", { type: "RollingUpdate", rollingUpdate: ROLLING }],
  ["apps/Deployment spec.strategy.type", "RollingUpdate"],
  ["apps/Deployment spec.strategy.rollingUpdate", ifRolling(ROLLING)],
  ["apps/Deployment spec.strategy.rollingUpdate.maxSurge", "25%"],
  ["apps/Deployment spec.strategy.rollingUpdate.maxUnavailable", "25%"],
  ["apps/StatefulSet spec.replicas", 1],
  ["apps/StatefulSet spec.revisionHistoryLimit", 10],
  ["apps/StatefulSet spec.podManagementPolicy", "OrderedReady"],
  ["apps/StatefulSet spec.updateStrategy", { type: "RollingUpdate", rollingUpdate: { partition: 0 } }],
  ["apps/StatefulSet spec.updateStrategy.type", "RollingUpdate"],
  ["apps/StatefulSet spec.updateStrategy.rollingUpdate", ifRolling({ partition: 0 })],
  ["apps/StatefulSet spec.updateStrategy.rollingUpdate.partition", 0],
  ["apps/StatefulSet spec.volumeClaimTemplates.[].spec.volumeMode", "Filesystem"],
  ["apps/DaemonSet spec.revisionHistoryLimit", 10],
  ["apps/DaemonSet spec.updateStrategy.type", "RollingUpdate"],
  ["apps/ReplicaSet spec.replicas", 1],
  ["batch/Job spec.parallelism", 1],
  ["batch/Job spec.completions", 1],
  ["batch/Job spec.completionMode", "NonIndexed"],
  ["batch/Job spec.backoffLimit", 6],
  ["batch/Job spec.suspend", false],
  ["batch/CronJob spec.concurrencyPolicy", "Allow"],
  ["batch/CronJob spec.suspend", false],
  ["batch/CronJob spec.successfulJobsHistoryLimit", 3],
  ["batch/CronJob spec.failedJobsHistoryLimit", 1],
  ["/Service spec.type", "ClusterIP"],
  ["/Service spec.sessionAffinity", "None"],
  ["/Service spec.internalTrafficPolicy", "Cluster"],
  ["/Service spec.ports.[].protocol", "TCP"],
  ["/Service spec.ports.[].targetPort", ({ port }: JsonObject) => port],
  ["/Secret type", "Opaque"],
  ["/PersistentVolumeClaim spec.volumeMode", "Filesystem"],
  ["/PersistentVolume spec.volumeMode", "Filesystem"],
  ["/PersistentVolume spec.persistentVolumeReclaimPolicy", "Retain"],
  ["storage.k8s.io/StorageClass reclaimPolicy", "Delete"],
  ["storage.k8s.io/StorageClass volumeBindingMode", "Immediate"],
  ["scheduling.k8s.io/PriorityClass preemptionPolicy", "PreemptLowerPriority"],
  ["autoscaling/HorizontalPodAutoscaler spec.minReplicas", 1],
  ["networking.k8s.io/NetworkPolicy spec.ingress.[].ports.[].protocol", "TCP"],
  ["networking.k8s.io/NetworkPolicy spec.egress.[].ports.[].protocol", "TCP"],
]);

const POD_DEFAULTS: ReadonlyMap<string, Default> = new Map<string, Default>([
  ["spec.restartPolicy", "Always"],
  ["spec.dnsPolicy", "ClusterFirst"],
  ["spec.schedulerName", "default-scheduler"],
  ["spec.terminationGracePeriodSeconds", 30],
  ["spec.securityContext", {}],
  ["spec.enableServiceLinks", true],
  ["spec.volumes.[].configMap.defaultMode", 420],
  ["spec.volumes.[].secret.defaultMode", 420],
  ["spec.volumes.[].downwardAPI.defaultMode", 420],
  ["spec.volumes.[].projected.defaultMode", 420],
  ["spec.volumes.[].hostPath.type", ""],
]);

const CONTAINER_DEFAULTS: ReadonlyMap<string, Default> = new Map<string, Default>([
  ["imagePullPolicy", pullPolicyOf],
  ["resources", {}],
  ["terminationMessagePath", "/dev/termination-log"],
  ["terminationMessagePolicy", "File"],
  ["ports.[].protocol", "TCP"],
  ["env.[].valueFrom.fieldRef.apiVersion", "v1"],
  ["env.[].valueFrom.resourceFieldRef.divisor", "0"],
  ["probe.timeoutSeconds", 1],
  ["probe.periodSeconds", 10],
  ["probe.successThreshold", 1],
  ["probe.failureThreshold", 3],
  ["probe.httpGet.path", "/"],
  ["probe.httpGet.scheme", "HTTP"],
]);

const IN_CONTAINER = /^spec\.(?:containers|initContainers)\.\[\]\./;
const PROBE = /^(?:readinessProbe|livenessProbe|startupProbe)(?=\.)/;

/**
 * What Kubernetes puts in the place of a member that a manifest does not have; undefined if nothing, or if it is not known.
 * @param parent the map without the member.
 */
export function defaultOf(identity: ManifestIdentity, path: ValuePath, parent: JsonObject): Json | undefined {
  const found = lookUp(identity, path);
  return typeof found === "function" ? found(parent) : found;
}

function lookUp(identity: ManifestIdentity, path: ValuePath): Default | undefined {
  const inPod = podPath(identity, path);
  const own = DEFAULTS.get(`${identity.group}/${identity.kind} ${path.join(".")}`);
  if (own !== undefined || inPod === undefined) return own;
  const inContainer = IN_CONTAINER.test(inPod) ? inPod.replace(IN_CONTAINER, "").replace(PROBE, "probe") : undefined;
  return inContainer === undefined ? POD_DEFAULTS.get(inPod) : CONTAINER_DEFAULTS.get(inContainer);
}

/** `latest`, written or meant, is pulled each time. */
function pullPolicyOf({ image }: JsonObject): Json | undefined {
  if (typeof image !== "string") return undefined;
  if (image.includes("@")) return "IfNotPresent";
  const tag = /:([^/:]+)$/.exec(image)?.[1] ?? "latest";
  return tag === "latest" ? "Always" : "IfNotPresent";
}

/** Members that Kubernetes does not store when they are empty (`omitempty` on a field that is not a pointer). */
const UNSTORED: ReadonlySet<string> = new Set([
  "apps/Deployment spec.paused",
  "apps/Deployment spec.minReadySeconds",
  "apps/StatefulSet spec.minReadySeconds",
  "apps/DaemonSet spec.minReadySeconds",
  "/Service spec.publishNotReadyAddresses",
  "/Service spec.externalIPs",
  "/Service spec.loadBalancerIP",
  "/Service spec.loadBalancerSourceRanges",
  "/Service spec.ports.[].nodePort",
  "/ConfigMap data",
  "/ConfigMap binaryData",
]);
const UNSTORED_IN_POD =
  /^(?:metadata\.(?:labels|annotations)|spec\.(?:hostNetwork|hostPID|hostIPC|hostname|subdomain|nodeName|nodeSelector|tolerations|volumes|initContainers|imagePullSecrets|hostAliases|priorityClassName|topologySpreadConstraints))$/;
const UNSTORED_IN_CONTAINER =
  /^(?:command|args|env|envFrom|ports|volumeMounts|workingDir|stdin|stdinOnce|tty|env\.\[\]\.value|ports\.\[\]\.(?:hostPort|hostIP|name)|volumeMounts\.\[\]\.(?:readOnly|subPath|subPathExpr)|probe\.initialDelaySeconds)$/;

/** Whether Kubernetes leaves out such a member when it is false, zero or empty: writing it there changes nothing. */
export function isUnstored(identity: ManifestIdentity, path: ValuePath, value: Json): boolean {
  const empty = isList(value) ? value.length === 0 : isJsonObject(value) ? isEmpty(value) : !value;
  if (!empty) return false;
  if (UNSTORED.has(`${identity.group}/${identity.kind} ${path.join(".")}`)) return true;
  const inPod = podPath(identity, path);
  if (inPod === undefined) return false;
  if (!IN_CONTAINER.test(inPod)) return UNSTORED_IN_POD.test(inPod);
  return UNSTORED_IN_CONTAINER.test(inPod.replace(IN_CONTAINER, "").replace(PROBE, "probe"));
}

function isEmpty(value: JsonObject): boolean {
  return Object.values(value).every((member) => member === undefined);
}
