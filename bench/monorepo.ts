import { stringify } from "yaml";

export const SERVICES = 500;
const MANIFESTS_PER_SERVICE = 9;
const OTHER_FILES = 15_000;

/** Folder of a service; its sources are the manifests in it. */
export function serviceFolder(service: number): string {
  return `services/team-${service % 25}/service-${service}`;
}

/** 20,000 files: 500 Application resources, 4,500 manifests that they deploy, 15,000 other files. */
export function monorepo(repoURL: string): Readonly<Record<string, string>> {
  const files: Record<string, string> = {};
  for (let service = 0; service < SERVICES; service += 1) {
    files[`argocd/team-${service % 25}/service-${service}.yaml`] = application(service, repoURL);
    for (let part = 0; part < MANIFESTS_PER_SERVICE; part += 1) {
      const [name, text] = manifest(service, part);
      files[`${serviceFolder(service)}/${name}`] = text;
    }
  }
  for (let file = 0; file < OTHER_FILES; file += 1) {
    const line = `export const value${file} = ${JSON.stringify((file * 2_654_435_761) % 4_294_967_296)};\n`;
    files[`code/package-${file % 300}/module-${file % 12}/file-${file}.ts`] = line.repeat(12);
  }
  return files;
}

function application(service: number, repoURL: string): string {
  return stringify({
    apiVersion: "argoproj.io/v1alpha1",
    kind: "Application",
    metadata: { name: `service-${service}`, namespace: "argocd", labels: { team: `team-${service % 25}` } },
    spec: {
      project: "default",
      source: { repoURL, path: serviceFolder(service), targetRevision: "main" },
      destination: { server: "https://kubernetes.default.svc", namespace: `team-${service % 25}` },
      syncPolicy: { syncOptions: ["CreateNamespace=true"] },
    },
  });
}

const KINDS = [
  "Deployment",
  "Service",
  "ConfigMap",
  "ServiceAccount",
  "Ingress",
  "PodDisruptionBudget",
  "Role",
] as const;

/** Every fifth service uses Kustomize. */
function manifest(service: number, part: number): readonly [string, string] {
  if (part === MANIFESTS_PER_SERVICE - 1 && service % 5 === 0) {
    return ["kustomization.yaml", stringify({ resources: KINDS.map((kind, index) => fileOf(kind, index)) })];
  }
  const kind = KINDS[part % KINDS.length] ?? "ConfigMap";
  const name = `service-${service}-${part}`;
  const labels = { app: `service-${service}`, part: String(part) };
  const containers = [
    { name: "main", image: `registry.example.com/service-${service}:1.${part}`, env: environment(part) },
  ];
  const spec = {
    replicas: 2,
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers } },
  };
  return [fileOf(kind, part), stringify({ apiVersion: "v1", kind, metadata: { name, labels }, spec })];
}

function fileOf(kind: string, part: number): string {
  return `${kind.toLowerCase()}-${part}.yaml`;
}

function environment(part: number): readonly object[] {
  return Array.from({ length: 12 }, (_, index) => ({ name: `OPTION_${index}`, value: `value-${part * index}` }));
}
