import type { LiveObject } from "../cluster/cluster.js";
import { FaultSwitch } from "../faults.js";
import { listenOnLoopback, type LoopbackServer } from "../loopback.js";
import type { Permissions } from "./accounts.js";
import { Controller } from "./controller/controller.js";
import type { PlannedOutcome } from "./controller/operation-result.js";
import { Operations } from "./controller/operations.js";
import { Watch, type Exchange, type SeenRequest } from "./exchanges.js";
import { keyOf, type Manifest } from "./manifest.js";
import { normalizeSpec, presentApplication } from "./present.js";
import type { ProjectOptions } from "./projects.js";
import type { ManifestsOf } from "./render/hand-written.js";
import { RenderGate } from "./render-gate.js";
import { zeroStatus, type Application } from "./resource.js";
import { applicationSet } from "./schemas/application-set.js";
import { applicationRequest, type PresentedApplication } from "./schemas/endpoints.js";
import type { TrackingMethod } from "./tracking.js";
import { application as serve } from "./transport.js";
import { controlNamespace, temporaryLabel, World, type Change, type OperationTime } from "./world.js";

export interface ArgoCdOptions {
  /** Folder of the bare git repository that a source's `repoURL` means; undefined when there is none. */
  readonly repositories: (repoUrl: string) => string | undefined;
  /** Patterns of namespaces beside its own whose Applications it looks at; all when absent. */
  readonly applicationNamespaces?: readonly string[];
  /** Two polls when absent. */
  readonly operationTime?: OperationTime;
}

/** Starts an Argo CD in miniature, with a cluster held in memory, on a free port of 127.0.0.1. */
export async function startArgoCd(options: ArgoCdOptions): Promise<ArgoCd> {
  const argocd = new ArgoCd(options);
  await argocd.listen();
  return argocd;
}

/** The running server, and everything that a person at the cluster or in the Argo CD settings could do. */
export class ArgoCd {
  readonly faults = new FaultSwitch();
  readonly #world: World;
  readonly #controller: Controller;
  readonly #operations: Operations;
  readonly #gate = new RenderGate();
  readonly #watch = new Watch();
  #server: LoopbackServer | undefined;

  constructor(options: ArgoCdOptions) {
    this.#world = new World({
      repositories: options.repositories,
      applicationNamespaces: options.applicationNamespaces,
      operationTime: options.operationTime ?? { polls: 2 },
    });
    this.#controller = new Controller(this.#world);
    this.#operations = new Operations(this.#world, this.#controller);
  }

  async listen(): Promise<void> {
    const parts = { world: this.#world, controller: this.#controller, operations: this.#operations };
    const app = serve({ ...parts, gate: this.#gate, report: this.#watch.report }, this.faults, this.#watch);
    this.#server = await listenOnLoopback(app);
  }

  /** Without a final slash. */
  get url(): string {
    return this.#server?.url ?? "";
  }

  async stop(): Promise<void> {
    this.#operations.stop();
    this.faults.clear();
    await this.#server?.stop();
  }

  /** Every request received, also those that a fault took. */
  get requests(): readonly SeenRequest[] {
    return this.#watch.requests;
  }

  /** What the real server would have overlooked in silence, and answers of the sandbox that break its own schemas. */
  get violations(): readonly string[] {
    return this.#watch.violations;
  }

  /** What accounts did to Applications that are not temporary. */
  get changes(): readonly Change[] {
    return this.#world.changes;
  }

  onExchange(listener: (exchange: Exchange) => void): () => void {
    return this.#watch.onExchange(listener);
  }

  /** Adds an account with an API key, or changes its rights; returns a token of it. */
  addAccount(name: string, options: { readonly permissions: Permissions }): string {
    return this.#world.accounts.add(name, options.permissions);
  }

  /** Returns a token of the project's role, `proj:<project>:<role>`. */
  addProjectRole(project: string, role: string, options: { readonly permissions: Permissions }): string {
    return this.#world.accounts.add(`proj:${project}:${role}`, options.permissions);
  }

  addProject(name: string, options: ProjectOptions = {}): void {
    this.#world.addProject(name, options);
  }

  setTracking(method: TrackingMethod, labelKey = "app.kubernetes.io/instance"): void {
    Object.assign(this.#world.tracking, { method, labelKey });
  }

  /** @throws {Error} naming every member that Argo CD does not know. */
  addApplication(resource: unknown): void {
    const { metadata, spec } = applicationRequest.parse(resource);
    const application = this.#world.store(
      { ...metadata, name: metadata.name ?? "" },
      normalizeSpec(spec),
      zeroStatus(),
    );
    if (metadata.ownerReferences !== undefined) this.#controller.noteGenerated(application);
    this.#controller.markParentsStale(application);
  }

  addApplicationSet(resource: unknown): void {
    const set = applicationSet.parse(resource);
    const namespace = set.metadata.namespace ?? controlNamespace;
    this.#world.sets.set(`${namespace}/${set.metadata.name ?? ""}`, {
      ...set,
      metadata: { ...set.metadata, namespace },
    });
  }

  /** As the API would answer it now; undefined when there is none. */
  application(name: string, namespace?: string): PresentedApplication | undefined {
    const found = this.#world.find(namespace, name);
    return found === undefined ? undefined : present(found);
  }

  applications(): PresentedApplication[] {
    return [...this.#world.applications.values()].map(present);
  }

  temporaryApplications(): PresentedApplication[] {
    return this.applications().filter(({ metadata }) => metadata.labels?.[temporaryLabel] !== undefined);
  }

  /** Somebody deletes an Application and leaves what it deployed. */
  removeApplication(name: string, namespace?: string): void {
    this.#world.remove(this.#get(name, namespace));
  }

  /** Manifests instead of rendering: for a commit id, or `*` for every revision that has none of its own. */
  setManifests(of: ManifestsOf, revision: string, manifests: readonly Manifest[]): void {
    this.#world.handWritten.set(of, revision, manifests);
    this.#world.renderer.forget();
    for (const application of this.#world.applications.values()) this.#controller.markStale(application);
  }

  /** Syncs to the target revision at once, as if somebody had done so before the story begins. */
  async deploy(name: string, namespace?: string): Promise<void> {
    const application = this.#get(name, namespace);
    await this.#operations.runNow(application, { username: "admin" });
    const { phase, message } = application.operationState ?? {};
    if (phase !== "Succeeded") throw new Error(`${name} could not be deployed: ${message ?? ""}`);
  }

  /** Looks at every application's target revision, as Argo CD does every three minutes; auto-sync follows from it. */
  async pollGit(): Promise<void> {
    for (const application of [...this.#world.applications.values()]) await this.#controller.reconcile(application);
  }

  /** The cluster's objects, without Applications. */
  live(): LiveObject[] {
    return this.#world.cluster.list();
  }

  liveObject(kind: string, namespace: string, name: string): Manifest | undefined {
    return this.live().find((one) => one.kind === kind && one.namespace === namespace && one.name === name)?.object;
  }

  /** Somebody changes an object by hand, past Argo CD. */
  putLiveObject(object: Manifest): void {
    this.#world.cluster.put(keyOf(object, "default"), object);
    for (const application of this.#world.applications.values()) this.#controller.markStale(application);
  }

  /** From now on nothing can be created in this namespace. */
  removeNamespace(name: string): void {
    this.#world.cluster.removeNamespace(name);
  }

  /** Called after each change of the cluster's objects. */
  subscribe(onChange: () => void): () => void {
    return this.#world.cluster.subscribe(onChange);
  }

  /** The next attempt of a sync of this application ends so and writes nothing. */
  failNextSync(name: string, outcome: PlannedOutcome, namespace?: string): void {
    this.#operations.failNext(this.#get(name, namespace), outcome);
  }

  /** Keeps the running sync, or the next one, in the phase Running until the returned function is called. */
  holdSync(name: string, namespace?: string): () => void {
    return this.#operations.hold(this.#get(name, namespace));
  }

  /** Each render takes so many real milliseconds more. */
  slowRender(ms: number): void {
    this.#gate.slow(ms);
  }

  /** Renders wait until the returned function is called. */
  holdRenders(): () => void {
    return this.#gate.hold();
  }

  #get(name: string, namespace: string | undefined): Application {
    const application = this.#world.find(namespace, name);
    if (application === undefined) throw new Error(`There is no application ${name}`);
    return application;
  }
}

function present(application: Application): PresentedApplication {
  return structuredClone(presentApplication(application)) as PresentedApplication;
}
