import { z } from "zod";
import { deployment, testPod } from "./kubernetes-deployment.js";
import { labels, name, object, portNumber, selector } from "./kubernetes-parts.js";

const service = object("v1", "Service", {
  spec: z.strictObject({
    type: z.enum(["ClusterIP", "NodePort", "LoadBalancer"]),
    selector: labels,
    ports: z.array(
      z.strictObject({ name: z.string(), port: portNumber, targetPort: z.string(), protocol: z.literal("TCP") }),
    ),
  }),
});

const ingress = object("networking.k8s.io/v1", "Ingress", {
  spec: z.strictObject({
    ingressClassName: name.optional(),
    tls: z.array(z.strictObject({ hosts: z.array(name), secretName: name.optional() })).optional(),
    rules: z.array(
      z.strictObject({
        host: name,
        http: z.strictObject({
          paths: z.array(
            z.strictObject({
              path: z.string().startsWith("/"),
              pathType: z.literal("Prefix"),
              backend: z.strictObject({
                service: z.strictObject({ name, port: z.strictObject({ name: z.string() }) }),
              }),
            }),
          ),
        }),
      }),
    ),
  }),
});

const policyPorts = z.array(
  z.strictObject({ port: z.union([z.string(), portNumber]), protocol: z.enum(["TCP", "UDP"]) }),
);
const peer = z.strictObject({ namespaceSelector: selector.optional(), podSelector: selector.optional() });
const networkPolicy = object("networking.k8s.io/v1", "NetworkPolicy", {
  spec: z.strictObject({
    podSelector: selector,
    policyTypes: z.union([z.tuple([z.literal("Ingress"), z.literal("Egress")]), z.tuple([z.literal("Ingress")])]),
    ingress: z.array(z.strictObject({ from: z.array(peer), ports: policyPorts })),
    egress: z.array(z.strictObject({ to: z.array(peer).optional(), ports: policyPorts })).optional(),
  }),
});

const autoscaler = object("autoscaling/v2", "HorizontalPodAutoscaler", {
  spec: z.strictObject({
    scaleTargetRef: z.strictObject({ apiVersion: z.literal("apps/v1"), kind: z.literal("Deployment"), name }),
    minReplicas: z.int().min(1),
    maxReplicas: z.int().min(1),
    metrics: z.array(
      z.strictObject({
        type: z.literal("Resource"),
        resource: z.strictObject({
          name: z.literal("cpu"),
          target: z.strictObject({ type: z.literal("Utilization"), averageUtilization: z.int() }),
        }),
      }),
    ),
  }),
});

/** https://gateway-api.sigs.k8s.io/reference/spec/#httproute */
const httpRoute = object("gateway.networking.k8s.io/v1", "HTTPRoute", {
  spec: z.strictObject({
    parentRefs: z
      .array(
        z.strictObject({ name, namespace: name.optional(), sectionName: name.optional(), port: portNumber.optional() }),
      )
      .min(1),
    hostnames: z.array(name).min(1),
    rules: z.array(
      z.strictObject({
        matches: z.array(
          z.strictObject({
            path: z.strictObject({ type: z.literal("PathPrefix"), value: z.string().startsWith("/") }),
          }),
        ),
        backendRefs: z.tuple([z.strictObject({ name, port: portNumber })]),
      }),
    ),
  }),
});

const rule = z.strictObject({
  alert: z.string(),
  expr: z.string(),
  for: z.string().optional(),
  labels: labels.optional(),
  annotations: labels.optional(),
});

/**
 * The Kubernetes objects that the chart and the manifests make, strict down to the fields that they use, so that a
 * misspelt one is found: the API server would drop it in silence, or refuse it only at the installation.
 * https://kubernetes.io/docs/reference/kubernetes-api/ and, for the Prometheus Operator's two,
 * https://prometheus-operator.dev/docs/api-reference/api/
 */
const kubernetesObject = z.discriminatedUnion("kind", [
  deployment,
  testPod,
  service,
  ingress,
  networkPolicy,
  autoscaler,
  httpRoute,
  object("v1", "ConfigMap", { data: z.record(z.string(), z.string()), immutable: z.literal(true).optional() }),
  object("v1", "Secret", { type: z.literal("Opaque"), data: z.record(z.string(), z.base64()) }),
  object("v1", "ServiceAccount", { automountServiceAccountToken: z.literal(false) }),
  object("policy/v1", "PodDisruptionBudget", {
    spec: z.strictObject({ maxUnavailable: z.union([z.int().min(1), z.string()]), selector }),
  }),
  object("monitoring.coreos.com/v1", "ServiceMonitor", {
    spec: z.strictObject({
      selector,
      endpoints: z.array(
        z.strictObject({
          port: z.string(),
          path: z.string(),
          interval: z.string(),
          relabelings: z.tuple([z.strictObject({ targetLabel: z.literal("job"), replacement: z.string() })]),
        }),
      ),
    }),
  }),
  object("monitoring.coreos.com/v1", "PrometheusRule", {
    spec: z.strictObject({
      groups: z.array(
        z.strictObject({ name: z.string(), interval: z.string().optional(), rules: z.array(rule).min(1) }),
      ),
    }),
  }),
]);

/** One object that the chart or the manifests make. */
export type KubernetesObject = z.infer<typeof kubernetesObject>;

/** All objects of a stream of YAML documents. Throws, naming every wrong or unknown field, for what Kubernetes would not take. */
export function readObjects(documents: readonly unknown[]): readonly KubernetesObject[] {
  const result = z.array(kubernetesObject).safeParse(documents);
  if (!result.success) throw new Error(z.prettifyError(result.error));
  return result.data;
}

/** The objects of one kind. */
export function ofKind<Kind extends KubernetesObject["kind"]>(
  objects: readonly KubernetesObject[],
  kind: Kind,
): readonly Extract<KubernetesObject, { kind: Kind }>[] {
  return objects.filter((each): each is Extract<KubernetesObject, { kind: Kind }> => each.kind === kind);
}
