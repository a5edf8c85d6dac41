import { createHash, randomUUID } from "node:crypto";
import { Cluster } from "../cluster/cluster.js";
import type { Account } from "./accounts.js";
import { Accounts } from "./accounts.js";
import { copy } from "./json.js";
import type { Project, ProjectOptions } from "./projects.js";
import { admitsNamespace } from "./projects.js";
import { HandWritten } from "./render/hand-written.js";
import { Renderer } from "./render/renderer.js";
import { Repositories, type RepositorySource } from "./repository.js";
import { zeroStatus, type Application, type ApplicationSpec, type Metadata } from "./resource.js";
import type { ApplicationSet } from "./schemas/application-set.js";
import type { Tracking } from "./tracking.js";

export type Verb = "create" | "update" | "delete" | "sync" | "dry-run" | "terminate";

/** A write by an account to an Application that is not temporary. */
export interface Change {
  readonly account: string;
  readonly verb: Verb;
  /** `<namespace>/<name>`. */
  readonly object: string;
}

/** Namespace of Argo CD itself. */
export const controlNamespace = "argocd";

export const temporaryLabel = "svc.dev/temporary";

/** How long operations take: a number of reads of the application, or real milliseconds. */
export type OperationTime = { readonly polls: number } | { readonly ms: number };

export interface WorldOptions {
  readonly repositories: RepositorySource;
  /** Namespaces whose Applications are managed. Default: all. */
  readonly applicationNamespaces?: readonly string[];
  readonly operationTime: OperationTime;
  readonly version: string;
}

/** The state of Argo CD and its cluster. */
export class World {
  readonly applications = new Map<string, Application>();
  readonly sets = new Map<string, ApplicationSet>();
  setsPaused = false;
  /** Version of the cluster. */
  kubernetes = "v1.34.2";
  /** Kinds that the controller leaves alone (`resource.exclusions`). */
  readonly excludedKinds = new Set<string>();
  readonly projects = new Map<string, Project>([["default", { name: "default" }]]);
  readonly changes: Change[] = [];
  readonly tracking: Tracking = { method: "annotation", labelKey: "app.kubernetes.io/instance" };
  readonly accounts: Accounts;
  readonly cluster: Cluster;
  readonly repositories: Repositories;
  readonly handWritten = new HandWritten();
  readonly renderer: Renderer;
  /** Hashes of the live states that managed-resources has answered. */
  readonly #toldLive = new Set<string>();
  #version = 100;

  constructor(readonly options: WorldOptions) {
    this.accounts = new Accounts();
    this.cluster = new Cluster();
    this.repositories = new Repositories(options.repositories);
    this.renderer = new Renderer(this.repositories, this.handWritten);
  }

  /** Notes that a caller was told this live state. */
  tellLive(liveState: string): void {
    this.#toldLive.add(createHash("sha1").update(liveState).digest("base64"));
  }

  /** Whether a caller was told this live state, now or earlier: the object may have changed since. */
  hasToldLive(liveState: string): boolean {
    return this.#toldLive.has(createHash("sha1").update(liveState).digest("base64"));
  }

  /** The time in seconds, as Kubernetes writes it. */
  timestamp(): string {
    return new Date().toISOString().replace(/\.\d+Z$/, "Z");
  }

  get version(): string {
    return String(this.#version);
  }

  addProject(name: string, options: ProjectOptions): void {
    this.projects.set(name, { name, ...options });
  }

  find(namespace: string | undefined, name: string): Application | undefined {
    return this.applications.get(`${namespace ?? controlNamespace}/${name}`);
  }

  /** Whether its ApplicationSet syncs it in steps (`RollingSync`). */
  isRolling({ metadata: { namespace, ownerReferences } }: Application): boolean {
    const owner = ownerReferences?.find(({ kind }) => kind === "ApplicationSet");
    return this.sets.get(`${namespace}/${owner?.name ?? ""}`)?.spec.strategy?.type === "RollingSync";
  }

  isEnabled(namespace: string): boolean {
    const { applicationNamespaces } = this.options;
    return admitsNamespace({ name: "", sourceNamespaces: applicationNamespaces }, namespace, controlNamespace);
  }

  projectOf(spec: ApplicationSpec): string {
    return spec.project === undefined || spec.project === "" ? "default" : spec.project;
  }

  /** The application's name in RBAC rules. */
  rbacName(namespace: string, name: string, project: string): string {
    return namespace === controlNamespace ? `${project}/${name}` : `${project}/${namespace}/${name}`;
  }

  rbacNameOf({ metadata: { namespace, name }, spec }: Application): string {
    return this.rbacName(namespace, name, this.projectOf(spec));
  }

  /** The name that tracking uses. */
  instanceOf({ metadata: { namespace, name } }: Application): string {
    return namespace === controlNamespace ? name : `${namespace}_${name}`;
  }

  /** Stores an Application as the API server does: one that exists is replaced and keeps its uid. */
  store(metadata: Metadata & { name: string }, spec: ApplicationSpec, status = zeroStatus()): Application {
    const namespace = metadata.namespace ?? controlNamespace;
    this.#version += 1;
    const key = `${namespace}/${metadata.name}`;
    const identity = {
      uid: this.applications.get(key)?.metadata.uid ?? randomUUID(),
      resourceVersion: this.version,
      generation: 1,
      creationTimestamp: this.timestamp(),
    };
    const application: Application = {
      metadata: { ...copy(metadata), ...identity, namespace },
      spec: copy(spec),
      status,
      history: [],
    };
    this.applications.set(key, application);
    return application;
  }

  /** Bumps the version after a write. */
  touch({ metadata }: Application): void {
    this.#version += 1;
    metadata.resourceVersion = this.version;
    metadata.generation = (metadata.generation ?? 1) + 1;
  }

  remove({ metadata }: Application): void {
    this.#version += 1;
    this.applications.delete(`${metadata.namespace}/${metadata.name}`);
  }

  /** Records a write for the tests, unless the Application is temporary. */
  log(account: Account, verb: Verb, { metadata }: Application): void {
    if (metadata.labels?.[temporaryLabel] !== undefined) return;
    this.changes.push({ account: account.name, verb, object: `${metadata.namespace}/${metadata.name}` });
  }
}
