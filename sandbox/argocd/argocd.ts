import type { AdmissionRule } from "../cluster/admission.js";
import type { LiveObject } from "../cluster/cluster.js";
import { FaultSwitch } from "../faults.js";
import { listenOnLoopback, type LoopbackServer } from "../loopback.js";
import type { Permissions } from "./accounts.js";
import { runAppliedSets } from "./appsets/set-controller.js";
import { Controller } from "./controller/controller.js";
import type { HealthLook, HealthPlayOptions } from "./controller/health-play.js";
import type { PlannedOutcome } from "./controller/operation-result.js";
import { Operations } from "./controller/operations.js";
import { Watch, type Exchange, type GrpcExchange, type SeenRequest } from "./exchanges.js";
import { keyOf, type Manifest } from "./manifest.js";
import { normalizeSpec, presentApplication } from "./present.js";
import type { ProjectOptions } from "./projects.js";
import { RenderGate } from "./render-gate.js";
import type { ManifestsOf } from "./render/hand-written.js";
import type { RepositorySource } from "./repository.js";
import { zeroStatus, type Application } from "./resource.js";
import { applicationSet } from "./schemas/application-set.js";
import { applicationRequest, type PresentedApplication } from "./schemas/endpoints.js";
import type { TrackingMethod } from "./tracking.js";
import { application as serve } from "./transport.js";
import { controlNamespace, temporaryLabel, World, type Change, type OperationTime } from "./world.js";

export interface ArgoCdOptions {
  readonly repositories: RepositorySource;
  /** Patterns of the namespaces, besides its own, whose Applications it manages. Default: all. */
  readonly applicationNamespaces?: readonly string[];
  /** Default: two polls. */
  readonly operationTime?: OperationTime;
  /** The version that it reports, and whose calls it knows. Default: the one that the exchanges were recorded with. */
  readonly version?: string;
}

/** Starts a miniature Argo CD, with a cluster in memory, on a free port of 127.0.0.1. */
export async function startArgoCd(options: ArgoCdOptions): Promise<ArgoCd> {
  const argocd = new ArgoCd(options);
  await argocd.listen();
  return argocd;
}

/** The running server, with everything that a person could do in the cluster or in Argo CD's settings. */
export class ArgoCd {
  readonly faults = new FaultSwitch();
  readonly #world: World;
  readonly #controller: Controller;
  readonly #operations: Operations;
  readonly #gate = new RenderGate();
  readonly #watch = new Watch();
  readonly onGrpc = (listener: (exchange: GrpcExchange) => void) => this.#watch.onGrpc(listener);
  #server: LoopbackServer | undefined;

  constructor(options: ArgoCdOptions) {
    this.#world = new World({
      repositories: options.repositories,
      applicationNamespaces: options.applicationNamespaces,
      operationTime: options.operationTime ?? { polls: 2 },
      version: options.version ?? "v3.5.1",
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
    this.#world.repositories.close();
  }

  /** Every request received, including those that met a fault. */
  get requests(): readonly SeenRequest[] {
    return this.#watch.requests;
  }

  /** Mistakes in requests that the real server would ignore silently, and answers that break the sandbox's own schemas. */
  get violations(): readonly string[] {
    return this.#watch.violations;
  }

  /** Writes to Applications that are not temporary. */
  get changes(): readonly Change[] {
    return this.#world.changes;
  }

  onExchange(listener: (exchange: Exchange) => void): () => void {
    return this.#watch.onExchange(listener);
  }

  /** Adds an account with an API key, or changes its permissions. Returns a token. */
  addAccount(name: string, options: { readonly permissions: Permissions; readonly expires?: Date }): string {
    return this.#world.accounts.add(name, options.permissions, options.expires);
  }

  /** Returns a token for the project role `proj:<project>:<role>`. */
  addProjectRole(project: string, role: string, options: { readonly permissions: Permissions }): string {
    return this.#world.accounts.add(`proj:${project}:${role}`, options.permissions);
  }

  addProject(name: string, options: ProjectOptions = {}): void {
    this.#world.addProject(name, options);
  }

  setTracking(method: TrackingMethod, labelKey = "app.kubernetes.io/instance"): void {
    Object.assign(this.#world.tracking, { method, labelKey });
  }

  /** @throws {Error} naming every member that Argo CD would not know. */
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

  /** The Application as the API would return it now, or undefined. */
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

  /** Deletes an Application but not the objects that it deployed. */
  removeApplication(name: string, namespace?: string): void {
    this.#world.remove(this.#get(name, namespace));
  }

  /** Serves these manifests instead of rendering: for one commit, or with `*` for every revision without its own. */
  setManifests(of: ManifestsOf, revision: string, manifests: readonly Manifest[]): void {
    this.#world.handWritten.set(of, revision, manifests);
    this.#world.renderer.forget();
    for (const application of this.#world.applications.values()) this.#controller.markStale(application);
  }

  /** Syncs to the target revision at once. */
  async deploy(name: string, namespace?: string): Promise<void> {
    const application = this.#get(name, namespace);
    await this.#operations.runNow(application, { username: "admin" });
    const { phase, message } = application.operationState ?? {};
    if (phase !== "Succeeded") throw new Error(`${name} could not be deployed: ${message ?? ""}`);
  }

  /** Refreshes every Application, as Argo CD does every three minutes; auto-sync may follow. */
  async pollGit(): Promise<void> {
    for (const application of [...this.#world.applications.values()]) await this.#controller.reconcile(application);
  }

  /** The cluster's objects, Applications excluded. */
  live(): LiveObject[] {
    return [...this.#world.cluster.list()];
  }

  liveObject(kind: string, namespace: string, name: string): Manifest | undefined {
    return this.live().find((one) => one.kind === kind && one.namespace === namespace && one.name === name)?.object;
  }

  /** Changes an object behind Argo CD's back. */
  putLiveObject(object: Manifest): void {
    this.#world.cluster.put(keyOf(object, "default"), object);
    for (const application of this.#world.applications.values()) this.#controller.markStale(application);
  }

  /** Applying an object to this namespace fails from now on. */
  removeNamespace(name: string): void {
    this.#world.cluster.removeNamespace(name);
  }

  /** Every object that is applied from now on, or tried, must also keep to this rule. */
  addAdmissionRule(rule: AdmissionRule): void {
    this.#world.cluster.rules.push(rule);
  }

  /** From now on repositories may have symbolic links that lead out of them. */
  allowLeavingLinks(): void {
    this.#world.repositories.allowsLeavingLinks = true;
  }

  /** From now on the cluster stores objects as Kubernetes does, with defaults and canonical quantities. */
  storeDefaults(): void {
    this.#world.cluster.storesDefaults = true;
  }

  /** Calls `onChange` after each change of the cluster's objects. */
  subscribe(onChange: () => void): () => void {
    return this.#world.cluster.subscribe(onChange);
  }

  /** The application's next sync attempt ends with this outcome and writes nothing. */
  failNextSync(name: string, outcome: PlannedOutcome, namespace?: string): void {
    this.#operations.failNext(this.#get(name, namespace), outcome);
  }

  /** From now on, reads of the application after its syncs ended show these healths, one after the other; the last one stays. */
  playHealth(name: string, looks: readonly HealthLook[], of: HealthPlayOptions & { namespace?: string } = {}): void {
    this.#controller.health.set(this.#get(name, of.namespace), looks, of);
  }

  /** Keeps the current or next sync in the phase Running until the returned function is called. */
  holdSync(name: string, namespace?: string): () => void {
    return this.#operations.hold(this.#get(name, namespace));
  }

  /** The controller neither compares nor applies objects of this kind from now on, as its settings may say. */
  excludeKind(kind: string): void {
    this.#world.excludedKinds.add(kind);
  }

  /** The version that the cluster reports. */
  setKubernetes(version: string): void {
    this.#world.kubernetes = version;
  }

  /** Keeps the ApplicationSet controller from acting until the returned function is called. */
  pauseSets(): () => Promise<void> {
    this.#world.setsPaused = true;
    return () => {
      this.#world.setsPaused = false;
      return runAppliedSets(this.#world, this.#controller);
    };
  }

  /** Delays each render, in real milliseconds. */
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
