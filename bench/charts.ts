import type { FileChanges } from "../sandbox/forge.js";

/** Names of the applications of a benchmark's repository. */
export function applicationNames(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `app-${String(index + 1).padStart(3, "0")}`);
}

/** The Application resource of an application with a chart in the repository. */
export function applicationOf(name: string, repoURL: string) {
  return {
    apiVersion: "argoproj.io/v1alpha1",
    kind: "Application",
    metadata: { name },
    spec: {
      project: "default",
      source: { repoURL, path: `apps/${name}`, targetRevision: "main", helm: { valueFiles: ["values.yaml"] } },
      destination: { server: "https://kubernetes.default.svc", namespace: "shop" },
    },
  };
}

/** A repository with an Application resource and a small chart for each name. */
export function chartRepository(names: readonly string[], repoURL: string): FileChanges {
  return Object.fromEntries(
    names.flatMap((name) => [
      [`argocd/${name}.yaml`, `${JSON.stringify(applicationOf(name, repoURL), null, 2)}\n`],
      ...Object.entries(chartOf(name)),
    ]),
  );
}

/** A small chart, without an Application resource. */
export function chartOf(name: string): FileChanges {
  return {
    [`apps/${name}/Chart.yaml`]: `apiVersion: v2\nname: ${name}\nversion: 1.0.0\n`,
    [`apps/${name}/values.yaml`]: values(1),
    [`apps/${name}/templates/deployment.yaml`]: DEPLOYMENT,
    [`apps/${name}/templates/service.yaml`]: SERVICE,
    [`apps/${name}/templates/configmap.yaml`]: CONFIG_MAP,
  };
}

/** An ApplicationSet that makes an application of each of these charts. */
export function setOf(names: readonly string[], repoURL: string): object {
  const { spec } = applicationOf("{{ .name }}", repoURL);
  return {
    apiVersion: "argoproj.io/v1alpha1",
    kind: "ApplicationSet",
    metadata: { name: "generated" },
    spec: {
      goTemplate: true,
      generators: [{ list: { elements: names.map((name) => ({ name })) } }],
      template: { metadata: { name: "{{ .name }}" }, spec },
    },
  };
}

/** The file of the set. */
export function setFile(names: readonly string[], repoURL: string): FileChanges {
  return { "sets/generated.yaml": `${JSON.stringify(setOf(names, repoURL), null, 2)}\n` };
}

/** Changes of these applications' values. */
export function changedValues(names: readonly string[], replicas: number): FileChanges {
  return Object.fromEntries(names.map((name) => [`apps/${name}/values.yaml`, values(replicas)]));
}

function values(replicas: number): string {
  return `replicas: ${replicas}\nimage: registry.example.com/shop:1.${replicas}\nport: 8080\nlevel: info\n`;
}

/** The rendered chart: a Deployment, a Service and a ConfigMap. */
export function manifestsOf(name: string, replicas: number) {
  const labels = { app: name };
  const container = {
    name: "main",
    image: `registry.example.com/shop:1.${replicas}`,
    ports: [{ containerPort: 8080 }],
    envFrom: [{ configMapRef: { name } }],
    resources: { requests: { cpu: "100m", memory: "128Mi" }, limits: { memory: "256Mi" } },
    readinessProbe: { httpGet: { path: "/ready", port: 8080 } },
  };
  return [
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name, labels },
      spec: {
        replicas,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [container] } },
      },
    },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name },
      spec: { selector: labels, ports: [{ name: "http", port: 80, targetPort: 8080 }] },
    },
    { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { LOG_LEVEL: "info", PORT: "8080" } },
  ];
}

const DEPLOYMENT =
  "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {{ .Release.Name }}\nspec:\n  replicas: {{ .Values.replicas }}\n";
const SERVICE = "apiVersion: v1\nkind: Service\nmetadata:\n  name: {{ .Release.Name }}\n";
const CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\n";
