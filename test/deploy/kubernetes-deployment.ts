import { z } from "zod";
import { labels, name, object, portNumber, selector } from "./kubernetes-parts.js";

const quantity = z.union([z.number(), z.string().regex(/^\d+(\.\d+)?(m|Ki|Mi|Gi|Ti)?$/)]);

const variable = z.strictObject({
  name: z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/),
  value: z.string().optional(),
  valueFrom: z.strictObject({ secretKeyRef: z.strictObject({ name, key: z.string() }) }).optional(),
});

const probe = z.strictObject({
  httpGet: z.strictObject({ path: z.string().startsWith("/"), port: z.union([z.string(), portNumber]) }),
  periodSeconds: z.int().min(1),
  timeoutSeconds: z.int().min(1),
  failureThreshold: z.int().min(1).optional(),
});

const mount = z.strictObject({ name, mountPath: z.string().startsWith("/"), readOnly: z.boolean().optional() });

const container = z.strictObject({
  name,
  image: z.string().regex(/^\S+(:\S+|@sha256:[0-9a-f]{64})$/),
  imagePullPolicy: z.enum(["Always", "IfNotPresent", "Never"]),
  args: z.array(z.string()),
  env: z.array(variable).optional(),
  ports: z.array(z.strictObject({ name: z.string().max(15), containerPort: portNumber, protocol: z.literal("TCP") })),
  startupProbe: probe,
  readinessProbe: probe,
  livenessProbe: probe,
  lifecycle: z.strictObject({
    preStop: z.strictObject({ exec: z.strictObject({ command: z.tuple([z.literal("sleep"), z.string()]) }) }),
  }),
  resources: z.strictObject({
    requests: z.record(z.string(), quantity),
    limits: z.record(z.string(), quantity),
  }),
  securityContext: z.strictObject({
    allowPrivilegeEscalation: z.literal(false),
    readOnlyRootFilesystem: z.literal(true),
    capabilities: z.strictObject({ drop: z.tuple([z.literal("ALL")]) }),
  }),
  volumeMounts: z.array(mount),
});

/** A container that somebody adds: what svc's chart says of it is where it stands. */
const addedContainer = z.strictObject({
  name,
  image: z.string(),
  imagePullPolicy: container.shape.imagePullPolicy.optional(),
  command: z.array(z.string()).optional(),
  resources: container.shape.resources.optional(),
  securityContext: container.shape.securityContext.optional(),
  volumeMounts: z.array(mount).optional(),
});

const volume = z.strictObject({
  name,
  configMap: z.strictObject({ name }).optional(),
  secret: z.strictObject({ secretName: name, defaultMode: z.int() }).optional(),
  emptyDir: z.strictObject({ sizeLimit: quantity }).optional(),
});

const pod = z.strictObject({
  serviceAccountName: name,
  automountServiceAccountToken: z.literal(false),
  enableServiceLinks: z.literal(false),
  terminationGracePeriodSeconds: z.int(),
  imagePullSecrets: z.array(z.strictObject({ name })).optional(),
  priorityClassName: name.optional(),
  securityContext: z.strictObject({
    runAsNonRoot: z.literal(true),
    runAsUser: z.int().min(1),
    runAsGroup: z.int().min(1),
    fsGroup: z.int().min(1),
    seccompProfile: z.strictObject({ type: z.literal("RuntimeDefault") }),
  }),
  initContainers: z.array(addedContainer).min(1).optional(),
  containers: z.tuple([container], addedContainer),
  volumes: z.array(volume),
  topologySpreadConstraints: z
    .array(
      z.strictObject({
        topologyKey: z.string(),
        maxSkew: z.int().min(1),
        whenUnsatisfiable: z.literal("ScheduleAnyway"),
        labelSelector: selector,
      }),
    )
    .optional(),
  nodeSelector: labels.optional(),
  tolerations: z.array(z.strictObject({ key: z.string(), operator: z.string(), effect: z.string() })).optional(),
  affinity: z.strictObject({ nodeAffinity: z.unknown() }).optional(),
});

/** The pod of `helm test`, as hard as svc's own. */
export const testPod = object("v1", "Pod", {
  spec: z.strictObject({
    restartPolicy: z.literal("Never"),
    automountServiceAccountToken: z.literal(false),
    enableServiceLinks: z.literal(false),
    imagePullSecrets: pod.shape.imagePullSecrets,
    securityContext: pod.shape.securityContext,
    containers: z.tuple([
      container
        .pick({ name: true, image: true, imagePullPolicy: true, args: true, resources: true, securityContext: true })
        .extend({ command: z.tuple([z.literal("node"), z.literal("-e")]) }),
    ]),
  }),
});

/** A Deployment as hard as this project makes it: a field that would weaken it is refused as well. */
export const deployment = object("apps/v1", "Deployment", {
  spec: z.strictObject({
    replicas: z.int().min(0).optional(),
    selector,
    strategy: z.discriminatedUnion("type", [
      z.strictObject({
        type: z.literal("RollingUpdate"),
        rollingUpdate: z.strictObject({ maxSurge: z.int().min(1), maxUnavailable: z.literal(0) }),
      }),
      z.strictObject({ type: z.literal("Recreate") }),
    ]),
    template: z.strictObject({
      metadata: z.strictObject({ labels, annotations: labels.optional() }),
      spec: pod,
    }),
  }),
});
