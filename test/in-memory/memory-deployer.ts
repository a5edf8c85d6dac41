import { parseAllDocuments } from "yaml";
import { identify, titleOf } from "../../src/core/diff/manifest-key.js";
import {
  type Application,
  type ApplicationSet,
  type ApplicationSpec,
  destinationOf,
  type LiveApplication,
  type Manifest,
  type Pin,
  type SetId,
  sourcesOf,
  specEqual,
} from "../../src/core/model/application.js";
import { applicationName, type ApplicationName, type Revision } from "../../src/core/model/brand.js";
import { DeployerFailure } from "../../src/core/model/errors.js";
import { isJsonObject, jsonText, type JsonText } from "../../src/core/model/json.js";
import type { SyncOutcome } from "../../src/core/model/result.js";
import type { RolloutLine } from "../../src/core/model/rollout.js";
import type {
  Deployer,
  FollowRequest,
  HealthReport,
  LiveState,
  Naming,
  RenderRequest,
  SyncLookup,
  SyncRequest,
  Trial,
  TrialRequest,
} from "../../src/core/ports/deployer.js";
import { sampleApplication } from "../core/sample-application.js";
import type { Delay } from "./delay.js";
import type { MemoryRepositories } from "./memory-repositories.js";

/** What goes wrong, decided per call: it throws, or for a sync gives another outcome than success. */
export interface Faults {
  find?: (name: ApplicationName) => void;
  render?: (request: RenderRequest) => void;
  updateSpec?: (name: ApplicationName, spec: ApplicationSpec) => void;
  sync?: (request: SyncRequest) => SyncOutcome | undefined;
  /** The health after a sync, Healthy if absent. */
  health?: (name: ApplicationName) => string;
}

/** Argo CD in memory: renders the plain YAML files right under the path of each source of the one repository. */
export class MemoryDeployer implements Deployer {
  faults: Faults = {};
  /** Every render that was asked for. */
  readonly renders: RenderRequest[] = [];
  /** Every sync that was started. */
  readonly syncs: SyncRequest[] = [];
  readonly #applications = new Map<ApplicationName, LiveApplication>();
  readonly #operations = new Set<ApplicationName>();
  /** When the last operation of each application began. */
  readonly #began = new Map<ApplicationName, string>();
  /** The last operation of each application that came to an end. */
  readonly #ended = new Map<
    ApplicationName,
    Pick<SyncRequest, "runId"> & { spec: ApplicationSpec; outcome: SyncOutcome }
  >();

  constructor(
    private readonly repositories: MemoryRepositories,
    private readonly delay: Delay,
  ) {}

  add(name: string, spec: ApplicationSpec, more: Partial<LiveApplication> = {}): void {
    this.#applications.set(applicationName(name), {
      ...sampleApplication(name, spec),
      owningSet: undefined,
      parent: undefined,
      sourceTypes: ["Directory"],
      comparedRevisions: [],
      deleting: false,
      cascades: false,
      ...more,
    });
  }

  remove(name: string): void {
    this.#applications.delete(applicationName(name));
  }

  specOf(name: string): ApplicationSpec {
    return this.#known(applicationName(name)).spec;
  }

  async check(): Promise<{ readonly version: string; readonly account: string }> {
    return { version: "in memory", account: "svc" };
  }

  async naming(): Promise<Naming> {
    return (namespace, name) =>
      applicationName(namespace === undefined || namespace === "argocd" ? name : `${namespace}/${name}`);
  }

  async listApplications(signal?: AbortSignal): Promise<readonly Application[]> {
    await this.delay();
    signal?.throwIfAborted();
    return [...this.#applications.values()];
  }

  async ownersOf(): Promise<ReadonlyMap<string, readonly ApplicationName[]>> {
    await this.delay();
    return new Map();
  }

  async isGone(name: ApplicationName): Promise<boolean> {
    return (await this.findApplication(name)) === undefined;
  }

  async findApplication(name: ApplicationName, signal?: AbortSignal): Promise<LiveApplication | undefined> {
    await this.delay();
    signal?.throwIfAborted();
    this.faults.find?.(name);
    const found = this.#applications.get(name);
    const lastOperation = this.#began.get(name) ?? found?.lastOperation;
    await this.delay();
    return found && { ...found, lastOperation };
  }

  async renderManifests(request: RenderRequest, signal?: AbortSignal): Promise<JsonText<readonly Manifest[]>> {
    await this.delay();
    signal?.throwIfAborted();
    this.renders.push(request);
    this.faults.render?.(request);
    const manifests = this.#manifestsOf(request.application.spec, request.pins);
    await this.delay();
    signal?.throwIfAborted();
    return jsonText<readonly Manifest[]>(manifests);
  }

  #manifestsOf(spec: ApplicationSpec, pins: readonly Pin[]): readonly Manifest[] {
    return sourcesOf(spec).flatMap(({ position, path, targetRevision }) => {
      const pin = pins.find((one) => one.position === position);
      return this.#manifestsIn(path, pin?.revision ?? this.repositories.tip(targetRevision));
    });
  }

  async rolloutLines(): Promise<ReadonlyMap<ApplicationName, RolloutLine>> {
    return new Map();
  }

  async uncompared(): Promise<ReadonlyMap<ApplicationName, string>> {
    return new Map();
  }

  async whyNotFresh(): Promise<undefined> {
    return undefined;
  }

  async renderingSettings(): Promise<string> {
    return "";
  }

  /** Nothing runs in its cluster. */
  async liveResources(): Promise<JsonText<LiveState>> {
    return jsonText<LiveState>({ resources: [], stale: undefined });
  }

  /** Its cluster accepts everything. */
  async tryObjects({ objects }: TrialRequest): Promise<readonly Trial[]> {
    return objects.map(() => ({ kind: "accepted" }));
  }

  /** Its sets generate nothing. */
  async expandApplicationSet(): Promise<readonly Application[]> {
    return [];
  }

  async listApplicationSets(): Promise<readonly ApplicationSet[]> {
    return [];
  }

  /** It runs no sets. */
  async findApplicationSet(): Promise<undefined> {
    return undefined;
  }

  async applicationsOfSet({ name }: SetId): Promise<readonly ApplicationName[]> {
    return [...this.#applications.values()].filter((one) => one.owningSet === name).map((one) => one.name);
  }

  async updateSpec(application: Application, spec: ApplicationSpec): Promise<ApplicationSpec> {
    await this.delay();
    this.faults.updateSpec?.(application.name, spec);
    this.#applications.set(application.name, { ...this.#known(application.name), spec });
    await this.delay();
    return spec;
  }

  async sync(request: SyncRequest): Promise<SyncOutcome> {
    await this.delay();
    const { name } = request.application;
    this.#known(name);
    if (this.#operations.has(name)) throw new DeployerFailure("busy", "another operation is already in progress");
    this.#operations.add(name);
    try {
      this.syncs.push(request);
      this.#began.set(name, `operation ${this.syncs.length}`);
      await this.delay();
      await this.delay();
      const { at, application } = request;
      const { namespace } = destinationOf(application.spec);
      const applied = this.#manifestsOf(application.spec, at === "target" ? [] : at);
      const success = {
        kind: "succeeded",
        message: "",
        resources: applied.map((one) => ({ title: titleOf(identify(one, namespace)), status: "Synced", message: "" })),
        revisions: [],
        pruneSkipped: 0,
        health: "Healthy",
        unhealthy: [],
      } as const;
      const outcome = this.faults.sync?.(request) ?? success;
      this.#ended.set(name, { runId: request.runId, spec: this.specOf(name), outcome });
      return outcome;
    } finally {
      this.#operations.delete(name);
    }
  }

  async follow(request: FollowRequest): Promise<SyncOutcome | undefined> {
    return this.findOutcome(request);
  }

  async findOutcome({ application, runId, readLater }: SyncLookup): Promise<SyncOutcome | undefined> {
    await this.delay();
    const ended = this.#ended.get(application.name);
    if (ended?.runId !== runId) return undefined;
    const isPlanned = readLater === true || specEqual(ended.spec, application.spec);
    if (ended.outcome.kind !== "succeeded" || isPlanned) return ended.outcome;
    return { kind: "failed", message: "not from the sources that were planned", resources: [] };
  }

  async healthAfter({ application: { name }, runId }: SyncLookup): Promise<HealthReport> {
    await this.delay();
    if (this.#ended.get(name)?.runId !== runId) return { kind: "replaced" };
    return { kind: "compared", health: this.faults.health?.(name) ?? "Healthy", since: undefined, unhealthy: [] };
  }

  async sweep(): Promise<number> {
    return 0;
  }

  #known(name: ApplicationName): LiveApplication {
    const found = this.#applications.get(name);
    if (found === undefined) throw new DeployerFailure("not-found", `${name} does not exist`);
    return found;
  }

  #manifestsIn(path: string, at: Revision): readonly Manifest[] {
    const files = Object.entries(this.repositories.filesAt(at));
    return files
      .filter(([file]) => file.startsWith(`${path}/`) && !file.slice(path.length + 1).includes("/"))
      .flatMap(([, text]) => manifestsOf(text));
  }
}

/** Parsing takes longer than anything else that this deployer does, and fuzzing writes the same texts again and again. */
const PARSED = new Map<string, readonly Manifest[]>();

function manifestsOf(text: string): readonly Manifest[] {
  const known = PARSED.get(text);
  if (known !== undefined) return known;
  const documents = parseAllDocuments(text).map((document) => document.toJS() as unknown);
  const manifests = documents.filter((manifest) => isJsonObject(manifest));
  PARSED.set(text, manifests);
  return manifests;
}
