import { globToRegExp } from "./render/paths.js";

/** A deny window that is always open. */
export interface SyncWindow {
  readonly kind: "deny";
  readonly schedule: "* * * * *";
  readonly duration: "24h";
  /** Patterns of application names. */
  readonly applications: readonly string[];
}

export interface ProjectOptions {
  readonly sourceRepos?: readonly string[];
  readonly destinations?: readonly { readonly server?: string; readonly name?: string; readonly namespace?: string }[];
  readonly syncWindows?: readonly SyncWindow[];
  /** Namespaces, besides Argo CD's own, whose Applications may use the project. Default: all. */
  readonly sourceNamespaces?: readonly string[];
  /** Kinds without a namespace that its Applications may deploy. Default: all, as in the project `default`. */
  readonly clusterResourceWhitelist?: readonly { readonly group: string; readonly kind: string }[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly description?: string;
}

export interface Project extends ProjectOptions {
  readonly name: string;
}

function some(patterns: readonly string[], value: string): boolean {
  return patterns.some((pattern) => pattern === "*" || globToRegExp(pattern).test(value));
}

export function permitsRepository(project: Project, url: string): boolean {
  const clean = (text: string): string =>
    text
      .trim()
      .toLowerCase()
      .replace(/\.git$/, "");
  return some((project.sourceRepos ?? ["*"]).map(clean), clean(url));
}

export function permitsDestination(project: Project, server: string, namespace: string): boolean {
  const allowed = project.destinations ?? [{ server: "*", namespace: "*" }];
  return allowed.some((entry) => some([entry.server ?? "*"], server) && some([entry.namespace ?? "*"], namespace));
}

export function permitsClusterResource(project: Project, group: string, kind: string): boolean {
  const allowed = project.clusterResourceWhitelist ?? [{ group: "*", kind: "*" }];
  return allowed.some((entry) => some([entry.group], group) && some([entry.kind], kind));
}

export function admitsNamespace(project: Project, namespace: string, controlNamespace: string): boolean {
  return namespace === controlNamespace || some(project.sourceNamespaces ?? ["*"], namespace);
}

/** The windows that keep an application from being synced. */
export function windowsFor(project: Project, application: string): readonly SyncWindow[] {
  return (project.syncWindows ?? []).filter(({ applications }) => some(applications, application));
}
