import { isObject, listAt, objectAt, pruned, stringAt, textOf, type Json, type JsonObject } from "../argocd/json.js";
import { groupOf, type Manifest } from "../argocd/manifest.js";
import { withEncodedData } from "../argocd/masking.js";

/**
 * An object as the API server stores it: with defaults, without empty members that say nothing, and with quantities in their
 * canonical spelling. Knows the members that the tests use.
 * https://github.com/kubernetes/kubernetes/tree/v1.34.0/pkg/apis
 */
export function storedForm(manifest: Manifest): Manifest {
  const spec = objectAt(manifest, "spec");
  switch (`${groupOf(manifest)}/${stringAt(manifest, "kind") ?? ""}`) {
    case "apps/Deployment": {
      const strategy = { type: "RollingUpdate", ...objectAt(spec, "strategy") };
      const rolling = { maxSurge: "25%", maxUnavailable: "25%", ...objectAt(spec, "strategy", "rollingUpdate") };
      return withSpec(manifest, {
        ...{ replicas: 1, revisionHistoryLimit: 10, progressDeadlineSeconds: 600 },
        ...withoutEmpty(spec, "paused", "minReadySeconds"),
        strategy: strategy.type === "RollingUpdate" ? { ...strategy, rollingUpdate: rolling } : strategy,
        template: podTemplate(objectAt(spec, "template"), "Always"),
      });
    }
    case "apps/StatefulSet":
      return withSpec(manifest, {
        ...{ replicas: 1, revisionHistoryLimit: 10, podManagementPolicy: "OrderedReady" },
        ...{ updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 0 } } },
        ...spec,
        template: podTemplate(objectAt(spec, "template"), "Always"),
      });
    case "batch/Job":
      return withSpec(manifest, jobSpec(spec));
    case "batch/CronJob": {
      const job = objectAt(spec, "jobTemplate");
      return withSpec(manifest, {
        ...{ concurrencyPolicy: "Allow", suspend: false, successfulJobsHistoryLimit: 3, failedJobsHistoryLimit: 1 },
        ...spec,
        jobTemplate: { ...job, spec: jobSpec(objectAt(job, "spec")) },
      });
    }
    case "/Service":
      return withSpec(manifest, {
        ...{ type: "ClusterIP", sessionAffinity: "None", internalTrafficPolicy: "Cluster" },
        ...withoutEmpty(spec, "publishNotReadyAddresses"),
        ports: listAt(spec, "ports").map((port) => ({
          protocol: "TCP",
          ...(isObject(port) ? { targetPort: port.port, ...port } : {}),
        })),
      });
    case "/PersistentVolumeClaim":
      return withSpec(manifest, { volumeMode: "Filesystem", ...spec, resources: amounts(objectAt(spec, "resources")) });
    case "autoscaling/HorizontalPodAutoscaler":
      return withSpec(manifest, { minReplicas: 1, ...spec, metrics: listAt(spec, "metrics").map(metric) });
    case "/Secret":
      return { type: "Opaque", ...withEncodedData(manifest) };
    default:
      return manifest;
  }
}

function withSpec(manifest: Manifest, spec: JsonObject): Manifest {
  return { ...manifest, spec: pruned(spec) };
}

function jobSpec(spec: JsonObject): JsonObject {
  return {
    ...{ backoffLimit: 6, completions: 1, parallelism: 1, completionMode: "NonIndexed", suspend: false },
    ...spec,
    template: podTemplate(objectAt(spec, "template"), undefined),
  };
}

function podTemplate(template: JsonObject, restartPolicy: string | undefined): JsonObject {
  const spec = objectAt(template, "spec");
  const pod = withoutEmpty(spec, "hostNetwork", "nodeSelector", "tolerations");
  return {
    ...template,
    spec: pruned({
      ...(restartPolicy === undefined ? {} : { restartPolicy }),
      ...{ dnsPolicy: "ClusterFirst", schedulerName: "default-scheduler", terminationGracePeriodSeconds: 30 },
      securityContext: {},
      ...pod,
      containers: listAt(spec, "containers").map((one) => container(objectAt(one))),
      volumes: spec.volumes === undefined ? undefined : listAt(spec, "volumes").map((one) => volume(objectAt(one))),
    }),
  };
}

function container(one: JsonObject): JsonObject {
  const image = stringAt(one, "image") ?? "";
  const probe = one.readinessProbe;
  const probed = { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 };
  return pruned({
    imagePullPolicy: /:(?!latest$)[^/]+$/.test(image) ? "IfNotPresent" : "Always",
    ...{ terminationMessagePath: "/dev/termination-log", terminationMessagePolicy: "File" },
    ...withoutEmpty(one, "tty", "env", "args"),
    resources: amounts(objectAt(one, "resources")),
    ports:
      one.ports === undefined
        ? undefined
        : listAt(one, "ports").map((port) => ({ protocol: "TCP", ...objectAt(port) })),
    readinessProbe: probe === undefined ? undefined : { ...probed, ...objectAt(probe) },
  });
}

function volume(one: JsonObject): JsonObject {
  if (one.configMap !== undefined) return { ...one, configMap: { defaultMode: 420, ...objectAt(one, "configMap") } };
  return one;
}

function metric(value: Json): Json {
  const one = objectAt(value);
  const [pods, target] = [objectAt(one, "pods"), objectAt(one, "pods", "target")];
  if (target.averageValue === undefined) return one;
  return { ...one, pods: { ...pods, target: { ...target, averageValue: quantity(target.averageValue) } } };
}

function amounts(resources: JsonObject): JsonObject {
  const map = (which: string): JsonObject =>
    Object.fromEntries(Object.entries(objectAt(resources, which)).map(([name, value]) => [name, quantity(value ?? 0)]));
  const [limits, requests] = [map("limits"), map("requests")];
  return {
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
    ...(Object.keys(requests).length === 0 ? {} : { requests }),
  };
}

const BINARY = ["", "Ki", "Mi", "Gi", "Ti"];

/** `0.5` as `500m`, `1000m` as `1`, `1024Mi` as `1Gi`; anything else as it is. */
function quantity(value: Json): Json {
  const text = textOf(value);
  const [, digits, suffix = ""] = /^(\d+(?:\.\d+)?)(m|Ki|Mi|Gi|Ti)?$/.exec(text) ?? [];
  if (digits === undefined) return text;
  if (suffix === "" || suffix === "m") {
    const milli = Math.round(Number(digits) * (suffix === "" ? 1000 : 1));
    return milli % 1000 === 0 ? String(milli / 1000) : `${milli}m`;
  }
  let [amount, at] = [Number(digits), BINARY.indexOf(suffix)];
  while (!Number.isInteger(amount) && at > 0) [amount, at] = [amount * 1024, at - 1];
  while (amount % 1024 === 0 && amount > 0 && at < BINARY.length - 1) [amount, at] = [amount / 1024, at + 1];
  return `${amount}${BINARY[at] ?? ""}`;
}

/** Without these members where they are false, zero or empty. */
function withoutEmpty(object: JsonObject, ...names: readonly string[]): JsonObject {
  const empty = (value: Json | undefined): boolean =>
    Array.isArray(value) ? value.length === 0 : isObject(value) ? Object.keys(value).length === 0 : !value;
  return Object.fromEntries(Object.entries(object).filter(([name, value]) => !names.includes(name) || !empty(value)));
}
