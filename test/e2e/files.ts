import { stringify } from "yaml";
import type { FileChanges } from "../../sandbox/forge.js";
import type { Place } from "./own-objects.js";

/** The applications of a repository, by what they are for. */
export const ROLES = ["plain", "chart", "overlay", "workload", "auto"] as const;
export type Role = (typeof ROLES)[number];

/** The one that only a pull request adds. */
export type AnyRole = Role | "new";

/** What the files of a repository depend on. */
export interface Setting {
  /** What every name begins with. */
  readonly prefix: string;
  /** The repository, as Argo CD reaches it. */
  readonly repoURL: string;
  readonly place: Place;
}

/** Name of an application, and of the object that it deploys: no image is pulled anywhere. */
export function nameOf({ prefix }: Setting, role: AnyRole): string {
  return `${prefix}-${role}`;
}

export function configMap(name: string, value: string): string {
  return stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { value } });
}

/** A Deployment without Pods. Kubernetes refuses fewer than no replicas. */
export function deployment(name: string, { replicas = 0, minReadySeconds = 0 }): string {
  const matchLabels = { app: name };
  const containers = [{ name: "main", image: "registry.k8s.io/pause:3.10" }];
  return stringify({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name },
    spec: {
      replicas,
      minReadySeconds,
      selector: { matchLabels },
      template: { metadata: { labels: matchLabels }, spec: { containers } },
    },
  });
}

export function kustomization(resources: readonly string[], comment = ""): string {
  return `${comment === "" ? "" : `# ${comment}\n`}${stringify({ resources })}`;
}

/** Rules for a repository: what svc merges by itself, and that the workload has to get healthy. */
export function rules(setting: Setting, autoMerge: boolean): string {
  return stringify({
    auto_merge: autoMerge,
    sync_requirements: [{ name: nameOf(setting, "workload"), require_healthy: true }],
  });
}

/** The spec of an application, the same in its file and in Argo CD. */
export function specOf(setting: Setting, role: AnyRole | "namespace"): object {
  const { repoURL, place } = setting;
  const { project, destination, namespace } = place;
  const base = { project, destination: { ...destination, namespace } };
  const at = (path: string) => ({ repoURL, path, targetRevision: "main" });
  switch (role) {
    case "chart": {
      const helm = { valueFiles: ["$values/values/chart.yaml"] };
      return {
        ...base,
        sources: [
          { ...at("apps/chart"), helm },
          { repoURL, targetRevision: "main", ref: "values" },
        ],
      };
    }
    case "auto":
      return { ...base, source: at("apps/auto"), syncPolicy: { automated: {} } };
    case "plain":
    case "overlay":
    case "workload":
    case "new":
      return { ...base, source: at(`apps/${role}`) };
    case "namespace":
      return { ...base, source: at("namespace") };
  }
}

/** The file that describes an application. */
export function definition(setting: Setting, role: AnyRole): FileChanges {
  const resource = {
    apiVersion: "argoproj.io/v1alpha1",
    kind: "Application",
    metadata: { name: nameOf(setting, role) },
    spec: specOf(setting, role),
  };
  return { [`argocd/${role}.yaml`]: stringify(resource) };
}

/** The main branch: an application of each sort, with its definition. */
export function repositoryFiles(setting: Setting): FileChanges {
  const name = (role: Role) => nameOf(setting, role);
  const { namespace } = setting.place;
  return {
    ...Object.fromEntries(ROLES.flatMap((role) => Object.entries(definition(setting, role)))),
    ".svc.yaml": rules(setting, true),
    "namespace/namespace.yaml": stringify({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } }),
    "apps/plain/settings.yaml": configMap(name("plain"), "one"),
    "apps/chart/Chart.yaml": stringify({ apiVersion: "v2", name: "chart", version: "0.1.0" }),
    "apps/chart/values.yaml": stringify({ value: "none" }),
    "apps/chart/templates/settings.yaml": [
      "apiVersion: v1",
      "kind: ConfigMap",
      "metadata:",
      "  name: {{ .Release.Name }}",
      "data:",
      "  value: {{ .Values.value | quote }}",
      "",
    ].join("\n"),
    "values/chart.yaml": stringify({ value: "one" }),
    "apps/overlay/kustomization.yaml": kustomization(["settings.yaml", "extra.yaml"]),
    "apps/overlay/settings.yaml": configMap(name("overlay"), "one"),
    "apps/overlay/extra.yaml": configMap(`${name("overlay")}-extra`, "one"),
    "apps/workload/deployment.yaml": deployment(name("workload"), {}),
    "apps/auto/settings.yaml": configMap(name("auto"), "one"),
  };
}
