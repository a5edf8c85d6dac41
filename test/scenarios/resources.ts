import { stringify } from "yaml";
import type { FileChanges } from "../../sandbox/forge.js";

/** YAML of a ConfigMap with some values. */
export function configMap(name: string, data: Readonly<Record<string, string>>): string {
  const lines = Object.entries(data).map(([key, value]) => `  ${key}: ${JSON.stringify(value)}`);
  return ["apiVersion: v1", "kind: ConfigMap", "metadata:", `  name: ${name}`, "data:", ...lines, ""].join("\n");
}

export interface ApplicationOptions {
  readonly repoURL: string;
  readonly path?: string;
  readonly targetRevision?: string;
  readonly project?: string;
  readonly namespace?: string;
  /** More members of the spec; replaces those above. */
  readonly spec?: object;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
}

/** An Application resource as an object: YAML takes JSON. */
export function applicationResource(name: string, options: ApplicationOptions): object {
  const { repoURL, path = `apps/${name}`, targetRevision = "main", project = "default" } = options;
  return {
    apiVersion: "argoproj.io/v1alpha1",
    kind: "Application",
    metadata: {
      name,
      ...(options.namespace === undefined ? {} : { namespace: options.namespace }),
      ...(options.annotations === undefined ? {} : { annotations: options.annotations }),
      ...(options.labels === undefined ? {} : { labels: options.labels }),
    },
    spec: {
      project,
      source: { repoURL, path, targetRevision },
      destination: { server: "https://kubernetes.default.svc", namespace: "guestbook" },
      ...options.spec,
    },
  };
}

export function asYaml(resource: object): string {
  return `${JSON.stringify(resource, null, 2)}\n`;
}

/** A repository with one directory and one Application resource for each name. */
export function repositoryOf(
  names: readonly string[],
  repoURL: string,
  resources: Readonly<Record<string, Partial<ApplicationOptions>>> = {},
): FileChanges {
  return Object.fromEntries(
    names.flatMap((name) => [
      [`apps/${name}/configmap.yaml`, configMap(name, { value: "1" })],
      [`argocd/${name}.yaml`, asYaml(applicationResource(name, { repoURL, ...resources[name] }))],
    ]),
  );
}

/** A commit that changes the ConfigMap of each of these applications. */
export function changeOf(names: readonly string[], value = "2"): FileChanges {
  return Object.fromEntries(names.map((name) => [`apps/${name}/configmap.yaml`, configMap(name, { value })]));
}

/** A namespace of its own for each application, so that the rules of one do not hold for the others. */
export function apart(...names: readonly string[]): Readonly<Record<string, Partial<ApplicationOptions>>> {
  const at = (namespace: string) => ({ destination: { server: "https://kubernetes.default.svc", namespace } });
  return Object.fromEntries(names.map((name) => [name, { spec: at(name) }]));
}

/** YAML of a Deployment `web` with one container. */
export function deployment(replicas: number, image = "web:1"): string {
  return stringify({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web" },
    spec: {
      replicas,
      selector: { matchLabels: { app: "web" } },
      template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "web", image }] } },
    },
  });
}

/** Members of a spec whose folder of this repository Argo CD's source hydrator renders and commits. */
export function hydrated(repoURL: string, path = "apps/web"): object {
  return {
    source: undefined,
    sourceHydrator: {
      drySource: { repoURL, path, targetRevision: "main" },
      syncSource: { targetBranch: "main", path: "hydrated/web" },
    },
  };
}
