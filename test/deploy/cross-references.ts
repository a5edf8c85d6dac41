import { isDeepStrictEqual } from "node:util";
import { parseDuration } from "../../src/config/schema-parts.js";
import { ofKind } from "./kubernetes-objects.js";
import type { KubernetesObject } from "./kubernetes-objects.js";

type Deployment = Extract<KubernetesObject, { kind: "Deployment" }>;
type Service = Extract<KubernetesObject, { kind: "Service" }>;

/** Objects that are made by hand before the installation. */
export interface MadeByHand {
  readonly secrets: readonly string[];
  readonly configMaps: readonly string[];
}

/**
 * What one object says of another and is not so: a selector that selects nothing, a port, volume, Secret or Service that
 * is not there. One sentence each.
 */
export function brokenReferences(objects: readonly KubernetesObject[], byHand: MadeByHand): readonly string[] {
  const deployments = ofKind(objects, "Deployment");
  return [
    ...doubled(objects),
    ...deployments.flatMap((deployment) => brokenPod(deployment, objects, byHand)),
    ...selectorsOf(objects).flatMap(({ of, labels }) =>
      deployments.some((deployment) => selects(labels, deployment.spec.template.metadata.labels))
        ? []
        : [`${of} selects no pod`],
    ),
    ...brokenServices(objects, deployments),
  ];
}

/** Seconds that a pod has to end, beyond its preStop and the given `server.shutdown_grace`. */
export function spareSeconds(deployment: Deployment, shutdownGrace: string): number {
  const { terminationGracePeriodSeconds, containers } = deployment.spec.template.spec;
  const [, preStop] = containers[0].lifecycle.preStop.exec.command;
  return terminationGracePeriodSeconds - Number(preStop) - (parseDuration(shutdownGrace) ?? Number.NaN) / 1000;
}

function doubled(objects: readonly KubernetesObject[]): readonly string[] {
  const names = objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
  return names.filter((name, index) => names.indexOf(name) < index).map((name) => `${name} is there twice`);
}

function brokenPod(
  { metadata, spec }: Deployment,
  objects: readonly KubernetesObject[],
  byHand: MadeByHand,
): readonly string[] {
  const has = (kind: KubernetesObject["kind"], name: string, made: readonly string[] = []) =>
    made.includes(name) || objects.some((each) => each.kind === kind && each.metadata.name === name);
  const pod = spec.template.spec;
  const [container, ...others] = pod.containers;
  const problems: string[] = [];
  const need = (condition: boolean, problem: string) => {
    if (!condition) problems.push(`Deployment ${metadata.name}: ${problem}`);
  };
  need(
    selects(spec.selector.matchLabels ?? {}, spec.template.metadata.labels),
    "the selector does not match the pod's labels",
  );
  need(
    pod.serviceAccountName === "default" || has("ServiceAccount", pod.serviceAccountName),
    `no ServiceAccount ${pod.serviceAccountName}`,
  );
  const ports = container.ports.map(({ name }) => name);
  for (const kind of ["startupProbe", "readinessProbe", "livenessProbe"] as const) {
    const { port } = container[kind].httpGet;
    need(typeof port === "string" && ports.includes(port), `${kind} asks a port that the container does not name`);
  }
  const variables = container.env ?? [];
  need(new Set(variables.map(({ name }) => name)).size === variables.length, "a variable is set twice");
  for (const { name, value, valueFrom } of variables) {
    need((value === undefined) !== (valueFrom === undefined), `${name} needs a value or a Secret's key`);
    const secret = valueFrom?.secretKeyRef;
    if (secret === undefined) continue;
    need(has("Secret", secret.name, byHand.secrets), `no Secret ${secret.name}`);
    const made = ofKind(objects, "Secret").find((each) => each.metadata.name === secret.name);
    need(made === undefined || secret.key in made.data, `Secret ${secret.name} has no key ${secret.key}`);
  }
  for (const { name, configMap, secret, emptyDir } of pod.volumes) {
    need(
      [configMap, secret, emptyDir].filter((each) => each !== undefined).length === 1,
      `volume ${name} has no source`,
    );
    if (configMap !== undefined) {
      need(has("ConfigMap", configMap.name, byHand.configMaps), `no ConfigMap ${configMap.name}`);
    }
    if (secret !== undefined) need(has("Secret", secret.secretName, byHand.secrets), `no Secret ${secret.secretName}`);
    need(
      container.volumeMounts.some((mount) => mount.name === name),
      `volume ${name} is not mounted`,
    );
  }
  const added = [...(pod.initContainers ?? []), ...others].flatMap(({ volumeMounts = [] }) => volumeMounts);
  for (const mount of [...container.volumeMounts, ...added]) {
    need(
      pod.volumes.some(({ name }) => name === mount.name),
      `${mount.mountPath} mounts a volume that is not there`,
    );
  }
  for (const { labelSelector } of pod.topologySpreadConstraints ?? []) {
    need(isDeepStrictEqual(labelSelector, spec.selector), "a topology spread constraint counts other pods");
  }
  return problems;
}

function selectorsOf(objects: readonly KubernetesObject[]) {
  return [
    ...ofKind(objects, "Service").map(({ metadata, spec }) => ({
      of: `Service ${metadata.name}`,
      labels: spec.selector,
    })),
    ...ofKind(objects, "NetworkPolicy").map(({ metadata, spec }) => ({
      of: `NetworkPolicy ${metadata.name}`,
      labels: spec.podSelector.matchLabels ?? {},
    })),
    ...ofKind(objects, "PodDisruptionBudget").map(({ metadata, spec }) => ({
      of: `PodDisruptionBudget ${metadata.name}`,
      labels: spec.selector.matchLabels ?? {},
    })),
  ];
}

function brokenServices(objects: readonly KubernetesObject[], deployments: readonly Deployment[]): readonly string[] {
  const services = ofKind(objects, "Service");
  const ports = deployments.flatMap(({ spec }) => spec.template.spec.containers[0].ports.map(({ name }) => name));
  const named = (service: Service | undefined, port: string) =>
    service?.spec.ports.some(({ name }) => name === port) === true;
  return [
    ...services.flatMap(({ metadata, spec }) =>
      spec.ports
        .filter(({ targetPort }) => !ports.includes(targetPort))
        .map(({ targetPort }) => `Service ${metadata.name}: no container names the port ${targetPort}`),
    ),
    ...ofKind(objects, "Ingress").flatMap(({ metadata, spec }) =>
      spec.rules
        .flatMap(({ http }) => http.paths.map(({ backend }) => backend.service))
        .filter(
          ({ name, port }) =>
            !named(
              services.find((each) => each.metadata.name === name),
              port.name,
            ),
        )
        .map(({ name, port }) => `Ingress ${metadata.name}: no Service ${name} with a port ${port.name}`),
    ),
    ...ofKind(objects, "HTTPRoute").flatMap(({ metadata, spec }) =>
      spec.rules
        .flatMap(({ backendRefs }) => backendRefs)
        .filter(
          ({ name, port }) =>
            services.find((each) => each.metadata.name === name)?.spec.ports.some((each) => each.port === port) !==
            true,
        )
        .map(({ name, port }) => `HTTPRoute ${metadata.name}: no Service ${name} with the port ${port}`),
    ),
    ...ofKind(objects, "HorizontalPodAutoscaler")
      .map(({ metadata, spec }) => ({ of: metadata.name, name: spec.scaleTargetRef.name }))
      .filter(
        ({ name }) => !deployments.some(({ metadata, spec }) => metadata.name === name && spec.replicas === undefined),
      )
      .map(({ of, name }) => `HorizontalPodAutoscaler ${of}: no Deployment ${name} that leaves its replicas open`),
    ...ofKind(objects, "ServiceMonitor").flatMap(({ metadata, spec }) => {
      const chosen = services.filter((each) => selects(spec.selector.matchLabels ?? {}, each.metadata.labels));
      return spec.endpoints
        .filter(({ port }) => chosen.length !== 1 || !named(chosen[0], port))
        .map(({ port }) => `ServiceMonitor ${metadata.name}: not exactly one Service with a port ${port} is selected`);
    }),
    ...ofKind(objects, "NetworkPolicy").flatMap(({ metadata, spec }) =>
      spec.ingress
        .flatMap((each) => each.ports.map(({ port }) => port))
        .filter((port) => typeof port === "string" && !ports.includes(port))
        .map((port) => `NetworkPolicy ${metadata.name}: no container names the port ${port}`),
    ),
  ];
}

function selects(selector: Readonly<Record<string, string>>, labels: Readonly<Record<string, string>>): boolean {
  const wanted = Object.entries(selector);
  return wanted.length > 0 && wanted.every(([key, value]) => labels[key] === value);
}
