import { stringify } from "yaml";
import { loadServerConfig, type ServerConfig } from "../../src/config/server/server.js";
import { describeProblem } from "../../src/config/yaml-tree.js";
import { createManifestScanner } from "../../src/core/detect/scan/manifests.js";
import type { Application, ApplicationSet } from "../../src/core/model/application.js";
import { repositoryName } from "../../src/core/model/brand.js";
import type { ChangeRequest, Mergeability, User } from "../../src/core/model/change-request.js";
import type { Check, CheckOutcome } from "../../src/core/model/check.js";
import type { HostEvent } from "../../src/core/model/event.js";
import { isJsonObject, type Json } from "../../src/core/model/json.js";
import type { CheckOrder } from "../../src/core/ports/check-runner.js";
import type { SyncLookup, Trial, TrialRequest } from "../../src/core/ports/deployer.js";
import type { EventQueue } from "../../src/core/ports/event-queue.js";
import { type HostId, REPOSITORY_FILE } from "../../src/names.js";
import { createInProcessQueue } from "../../src/queue/in-process.js";
import type { Dependencies } from "../../src/run/line/run.js";
import { supervise } from "../../src/run/line/supervise.js";
import { createMemoryStores } from "../../src/store/memory/memory-stores.js";
import { sampleApplication } from "../core/sample-application.js";
import { noDelay } from "../in-memory/delay.js";
import { inlineCompute } from "../in-memory/inline-compute.js";
import { MemoryDeployer } from "../in-memory/memory-deployer.js";
import { MemoryHost } from "../in-memory/memory-host.js";
import { type FileChanges, MemoryRepositories, withChanges } from "../in-memory/memory-repositories.js";
import { runDependencies } from "../in-memory/run-dependencies.js";
import { JumpClock } from "../jump-clock.js";
import { recordingLog } from "../recording-log.js";
import { applicationResource, asYaml, configMap } from "../scenarios/resources.js";
import type { World } from "./facts-of-commands.js";

export const REPOSITORY = repositoryName("acme/deploy");
export const URL = `https://git.example.com/${REPOSITORY}.git`;
export const ANA: User = { id: "1", login: "ana", bot: false };
export const BO: User = { id: "2", login: "bo", bot: false };

export interface SceneOptions {
  /** Of the server's file. */
  readonly defaults?: Readonly<Record<string, unknown>>;
  readonly projects?: ServerConfig["projects"];
  /** The repository's file on the base branch. */
  readonly rules?: string;
  readonly checks?: readonly Check[];
  readonly files?: FileChanges;
}

/** The service on one code host, with `web` and `api` in Argo CD and described in the repository; everything in memory. */
export class Scene {
  readonly clock = new JumpClock(Date.parse("2026-03-02T09:00:00Z"));
  readonly stores = createMemoryStores(this.clock);
  readonly repositories = new MemoryRepositories(noDelay);
  readonly deployer = new SceneDeployer(this.repositories, noDelay);
  readonly host: SceneHost;
  /** How a check of the head of an application ends. */
  endOf: (order: CheckOrder) => CheckOutcome = () => ({ kind: "passed" });
  dependencies: Dependencies;
  readonly #queue: EventQueue;
  #sent = 0;

  constructor(id: HostId, { defaults = {}, projects = {}, rules, checks = [], files = {} }: SceneOptions = {}) {
    const file: FileChanges = rules === undefined ? {} : { [REPOSITORY_FILE]: rules };
    this.repositories.commit("main", withChanges({}, { ...filesOf("web"), ...filesOf("api"), ...file, ...files }));
    for (const name of ["web", "api"]) this.deployer.add(name, specOf(name));
    const onMerge = ({ number }: { readonly number: number }) => {
      void this.#push({ kind: "closed", ...this.#origin(number) });
    };
    this.host = new SceneHost({ id, repository: REPOSITORY, repositories: this.repositories, delay: noDelay, onMerge });
    const log = recordingLog();
    this.dependencies = runDependencies({
      ...this.stores,
      config: { ...configOf(defaults), projects },
      hosts: { [id]: this.host },
      repositories: this.repositories,
      deployer: this.deployer,
      scanner: createManifestScanner(inlineCompute),
      clock: this.clock,
      checks,
      checkRunner: { run: (order) => Promise.resolve(this.endOf(order)) },
      log,
      push: (event) => this.#push(event),
      newRunId: () => String((this.#sent += 1)),
    });
    this.#queue = createInProcessQueue({
      concurrency: 1,
      run: (event, ticket) => supervise(event, this.dependencies, ticket),
      log,
      clock: this.clock,
    });
  }

  get world(): World {
    return { host: this.host, dependencies: this.dependencies };
  }

  /** Opens a change request, which svc plans unless it is a draft or comes from a fork. */
  async open(changes: FileChanges, author: User = ANA): Promise<number> {
    const { number } = this.host.open(changes, author);
    await this.#deliver({ kind: "updated", reason: "opened", ...this.#origin(number) });
    return number;
  }

  /** Replaces the head. */
  async push(number: number, changes: FileChanges): Promise<void> {
    this.host.push(number, changes);
    await this.#deliver({ kind: "updated", reason: "pushed", ...this.#origin(number) });
  }

  async say(number: number, body: string, author: User = ANA): Promise<void> {
    const commentId = String(1_000_000 + (this.#sent += 1));
    await this.#deliver({ kind: "commented", commentId, body, author, ...this.#origin(number) });
  }

  async approve(number: number, ...logins: readonly string[]): Promise<void> {
    this.host.approve(number, ...logins);
    await this.#deliver({ kind: "reviewed", ...this.#origin(number) });
  }

  async close(number: number, state: "closed" | "merged" = "closed"): Promise<void> {
    if (!this.host.setState(number, state)) throw new Error(`it cannot be ${state}`);
    await this.#deliver({ kind: "closed", ...this.#origin(number) });
  }

  /** The base branch gets a commit. */
  base(changes: FileChanges): void {
    const files = this.repositories.filesAt(this.repositories.tip("main"));
    this.repositories.commit("main", withChanges(files, changes));
  }

  change(number: number): ChangeRequest {
    return this.host.facts(number);
  }

  #origin(number: number) {
    return { delivery: `delivery-${(this.#sent += 1)}`, change: this.host.ref(number) };
  }

  #push(event: HostEvent): Promise<boolean> {
    return this.#queue.push(event);
  }

  async #deliver(event: HostEvent): Promise<void> {
    await this.#push(event);
    await this.#queue.idle();
  }
}

/** A host that says of a change request what a scene wants. */
class SceneHost extends MemoryHost {
  readonly #said = new Map<number, Partial<ChangeRequest>>();
  /** Logins of people without write access. */
  readonly outsiders = new Set<string>();

  say(number: number, more: Partial<ChangeRequest>): void {
    this.#said.set(number, { ...this.#said.get(number), ...more });
  }

  override facts(number: number): ChangeRequest {
    return { ...super.facts(number), ...this.#said.get(number) };
  }

  override async mergeability(ref: ChangeRequest): Promise<Mergeability> {
    return this.#said.get(ref.number)?.mergeability ?? super.mergeability(ref);
  }

  override async mayCommand(_change?: unknown, user?: User): Promise<boolean> {
    return user === undefined || !this.outsiders.has(user.login);
  }
}

/** An Argo CD that runs ApplicationSets with lists, and whose cluster refuses what a scene wants. */
class SceneDeployer extends MemoryDeployer {
  readonly sets: ApplicationSet[] = [];
  trial: (title: string) => Trial = () => ({ kind: "accepted" });
  lost = false;

  override async listApplicationSets(): Promise<readonly ApplicationSet[]> {
    return this.sets;
  }

  override async expandApplicationSet(...[set]: readonly unknown[]): Promise<readonly Application[]> {
    const { spec } = (set as ApplicationSet).resource;
    const generators = isJsonObject(spec) && Array.isArray(spec.generators) ? (spec.generators as readonly Json[]) : [];
    return generators.flatMap((one) => {
      const list = isJsonObject(one) && isJsonObject(one.list) ? one.list.elements : [];
      return (list as readonly { readonly name: string }[]).map(({ name }) =>
        sampleApplication(`shop-${name}`, specOf(`shop-${name}`)),
      );
    });
  }

  override async tryObjects({ objects }: TrialRequest): Promise<readonly Trial[]> {
    return objects.map(({ kind, name }) => this.trial(`${kind} ${name}`));
  }

  /** Nobody knows how the last sync ended. */
  override async findOutcome(lookup: SyncLookup) {
    return this.lost ? undefined : super.findOutcome(lookup);
  }
}

/** A change of what `name` deploys. */
export function config(name: string, value: string): FileChanges {
  return { [`apps/${name}/configmap.yaml`]: configMap(name, { value }) };
}

/** The folder of an application and its Application resource. */
export function filesOf(name: string): FileChanges {
  return { ...config(name, "1"), ...definition(name) };
}

/** The Application resource of `name`. @param more members of its spec */
export function definition(name: string, more: object = {}): FileChanges {
  const spec = { ...specOf(name), ...more };
  return { [`argocd/${name}.yaml`]: asYaml(applicationResource(name, { repoURL: URL, spec })) };
}

export function specOf(name: string) {
  return {
    project: "default",
    source: { repoURL: URL, path: `apps/${name}`, targetRevision: "main" },
    destination: { server: "https://kubernetes.default.svc", namespace: "guestbook" },
  };
}

/** The ports with one that fails in the named methods. */
export function failing<T extends object>(port: T, faults: Readonly<Record<string, Error>>): T {
  return new Proxy(port, {
    get(target, name) {
      const fault = faults[String(name)];
      if (fault !== undefined) return () => Promise.reject(fault);
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === "function" ? (member as (...given: unknown[]) => unknown).bind(target) : member;
    },
  });
}

function configOf(defaults: Readonly<Record<string, unknown>>) {
  const text = stringify({
    deployer: { server_url: "https://argocd.example.com", token: "t" },
    hostb: { url: "https://git.example.com", token: "t", webhook_secret: "hook-secret-of-tests" },
    defaults: { require_approval: false, ...defaults },
  });
  const loaded = loadServerConfig([{ name: "svc.yaml", text }], {});
  if (loaded.kind === "invalid") throw new Error(loaded.problems.map(describeProblem).join("\n"));
  return loaded.config;
}
