import { createManifestScanner } from "../../src/core/detect/scan/manifests.js";
import { repositoryName } from "../../src/core/model/brand.js";
import { changeRequestKey, type ChangeRequestRef } from "../../src/core/model/change-request.js";
import { StoreUnavailable } from "../../src/core/model/errors.js";
import type { HostEvent } from "../../src/core/model/event.js";
import type { EventQueue } from "../../src/core/ports/event-queue.js";
import type { ManifestScanner } from "../../src/core/ports/manifest-scanner.js";
import type { LockStore } from "../../src/core/ports/stores.js";
import { createInProcessQueue } from "../../src/queue/in-process.js";
import type { Dependencies } from "../../src/run/line/run.js";
import { supervise } from "../../src/run/line/supervise.js";
import { reconcile } from "../../src/service/chores.js";
import { systemClock } from "../../src/service/service.js";
import type { Stores } from "../../src/store/stores.js";
import { type Delay, randomDelay, seededRandom } from "../in-memory/delay.js";
import { inlineCompute } from "../in-memory/inline-compute.js";
import { MemoryDeployer } from "../in-memory/memory-deployer.js";
import { MemoryHost } from "../in-memory/memory-host.js";
import { type FileChanges, MemoryRepositories } from "../in-memory/memory-repositories.js";
import { runDependencies } from "../in-memory/run-dependencies.js";
import { testConfig } from "../in-memory/test-config.js";
import { recordingLog } from "../recording-log.js";
import { applicationResource, asYaml, configMap } from "../scenarios/resources.js";
import type { Action, Interleaving } from "./interleaving.js";
import { type Happened, judge } from "./lock-history.js";
import { Recorder } from "./recorded-ports.js";

const REPOSITORY = repositoryName("acme/deploy");
const URL = `https://git.example.com/${REPOSITORY}.git`;
const NAMES = ["web", "api", "db"];
const ANA = { id: "1", login: "ana", bot: false };
/** One for each core; they only remember what a text says. */
const SCANNERS = [createManifestScanner(inlineCompute), createManifestScanner(inlineCompute)] as const;
const CONFIG = testConfig({ auto_merge: true });
/** So many of a hundred syncs fail, which leaves their locks. */
const FAILING_SYNCS = 0.2;

export interface Outcome {
  readonly violations: readonly string[];
  readonly history: readonly Happened[];
}

/** Plays the events through two whole cores on one store, which is empty, and judges what happened when all is at rest. */
export async function runInterleaving(
  given: Interleaving,
  stores: readonly [Stores, Stores],
  replaceLocks: (store: LockStore, delay: Delay) => LockStore = (store) => store,
): Promise<Outcome> {
  const world = new World(given, stores, replaceLocks);
  for (const { action, change, core, after } of given.steps) {
    if (after === "rest") await world.rest();
    else for (let left = PAUSES[after]; left > 0; left -= 1) await world.pause();
    world.act((change % given.opened.length) + 1, core, action);
  }
  return world.judge(stores[0]);
}

/** Each is asked for by calls that were lost in the one before. */
const MOST_CLEANINGS = 5;
const PAUSES = { "at-once": 0, pause: 1, pauses: 12 } as const;

class World {
  readonly pause: Delay;
  readonly #names: readonly string[];
  readonly #opened: number;
  readonly #host: MemoryHost;
  readonly #queues: readonly [EventQueue, EventQueue];
  readonly #dependencies: Dependencies;
  readonly #reindex: Stores["reindex"];
  readonly #recorder = new Recorder();
  readonly #log = recordingLog();
  /** Webhooks that are on their way. */
  readonly #deliveries = new Set<Promise<unknown>>();
  #sent = 0;

  constructor(
    { applications, opened, seed }: Interleaving,
    stores: readonly [Stores, Stores],
    replaceLocks: (store: LockStore, delay: Delay) => LockStore,
  ) {
    const random = seededRandom(seed);
    const delay = randomDelay(random);
    this.pause = delay;
    this.#names = NAMES.slice(0, applications);
    this.#opened = opened.length;
    const repositories = new MemoryRepositories(delay);
    repositories.commit("main", Object.fromEntries(this.#names.flatMap(filesOf)));
    const deployer = new MemoryDeployer(repositories, delay);
    for (const name of this.#names) deployer.add(name, specOf(name));
    deployer.faults.sync = () => {
      return random() < FAILING_SYNCS ? { kind: "failed", message: "it failed", resources: [] } : undefined;
    };
    this.#host = new MemoryHost({
      id: "hostb",
      repository: REPOSITORY,
      repositories,
      delay,
      onMerge: (change) => this.#deliver(random() < 0.5 ? 0 : 1, { kind: "closed", ...this.#origin(change) }),
    });
    const core = (own: Stores, scanner: ManifestScanner, index: 0 | 1): Dependencies =>
      runDependencies({
        ...own,
        config: CONFIG,
        hosts: { hostb: this.#host },
        repositories,
        deployer: this.#recorder.deployer(deployer),
        locks: this.#recorder.locks(replaceLocks(own.locks, delay)),
        scanner,
        clock: systemClock,
        log: this.#log,
        push: (event) => {
          this.#deliver(index, event);
          return Promise.resolve(true);
        },
        newRunId: () => String((this.#sent += 1)),
      });
    const queue = (dependencies: Dependencies) =>
      createInProcessQueue({
        concurrency: 10,
        run: (event, ticket) => supervise(event, dependencies, ticket),
        log: this.#log,
        clock: systemClock,
      });
    const cores = [core(stores[0], SCANNERS[0], 0), core(stores[1], SCANNERS[1], 1)] as const;
    this.#dependencies = cores[0];
    this.#reindex = stores[0].reindex;
    this.#queues = [queue(cores[0]), queue(cores[1])];
    for (const { touches, core } of opened) {
      const change = this.#host.open(this.#changes(this.#sent, touches, false), ANA);
      this.#deliver(core, { kind: "updated", reason: "opened", ...this.#origin(change) });
    }
  }

  /** Changes the world at once; the webhook comes to the core a little later. */
  act(number: number, core: 0 | 1, action: Action): void {
    const origin = this.#origin(this.#host.ref(number));
    switch (action.kind) {
      case "push":
        this.#host.push(number, this.#changes(number, action.touches, action.definition));
        if (this.#host.stateOf(number) !== "open") return;
        this.#deliver(core, { kind: "updated", reason: "pushed", ...origin });
        return;
      case "close":
        if (this.#host.setState(number, "closed")) this.#deliver(core, { kind: "closed", ...origin });
        return;
      case "merge":
        if (this.#host.setState(number, "merged")) this.#deliver(core, { kind: "closed", ...origin });
        return;
      case "reopen":
        if (this.#host.setState(number, "open")) {
          this.#deliver(core, { kind: "updated", reason: "reopened", ...origin });
        }
        return;
      case "plan":
      case "sync":
      case "unlock":
      case "rollback": {
        const { application } = action;
        const name = application === undefined ? undefined : this.#names[application % this.#names.length];
        const body = `svc ${action.kind}${name === undefined ? "" : ` -a ${name}`}`;
        this.#deliver(core, { kind: "commented", commentId: origin.delivery, body, author: ANA, ...origin });
      }
    }
  }

  /** Resolves when no webhook is on its way and both cores are idle. */
  async rest(): Promise<void> {
    let sent: number;
    do {
      // A core that is at rest already may be given the webhook of a merge while the other one is waited for.
      sent = this.#sent;
      await Promise.all(this.#deliveries);
      await Promise.all(this.#queues.map((queue) => queue.idle()));
    } while (sent !== this.#sent || this.#deliveries.size > 0);
  }

  async judge({ locks, waiting }: Stores): Promise<Outcome> {
    await this.rest();
    const { history } = this.#recorder;
    await this.#cleanUp();
    const forgotten = await this.#forgotten({ locks, waiting });
    const { violations, heldAtEnd } = judge(history);
    const left = await locks.list();
    const holders = new Map(left.map(({ application, holder }) => [application, changeRequestKey(holder)]));
    const orphans = left
      .filter(({ holder }) => this.#host.stateOf(holder.number) !== "open")
      .map(({ application, holder }) => `${application} is locked by ${changeRequestKey(holder)}, which is closed`);
    const lost = [...heldAtEnd]
      .filter(([application, holder]) => holders.get(application) !== holder)
      .map(([application, holder]) => `${application} was locked by ${holder} and the lock is gone`);
    const broken = this.#log.lines
      .filter(({ text }) => text === "event failed" || text === "command failed" || text === "run failed")
      .filter(({ fields }) => !(fields.err instanceof StoreUnavailable))
      .map(({ fields }) => `unexpected: ${fields.err instanceof Error ? fields.err.stack : ""}`);
    return { violations: [...violations, ...orphans, ...lost, ...forgotten, ...broken], history };
  }

  /** Who waits for a lock that nobody has, although the reconciler has called everybody. */
  async #forgotten({ locks, waiting }: Pick<Stores, "locks" | "waiting">): Promise<readonly string[]> {
    const free = async () => {
      const held = new Set((await locks.list()).map(({ application }) => application));
      return (await waiting.list()).filter(({ application }) => !held.has(application));
    };
    for (let left = this.#opened; left > 0 && (await free()).length > 0; left -= 1) {
      await reconcile({ ...this.#dependencies, reindex: this.#reindex, queue: this.#queues[0] });
      await this.rest();
    }
    return (await free()).map(({ application, changes }) => {
      return `${application} is free, and ${changes.map(changeRequestKey).join(", ")} wait for it`;
    });
  }

  /** A machine that stands still for half a second loses calls to the store; the service cleans up after those, time and again. */
  async #cleanUp(): Promise<void> {
    let seen = 0;
    for (let tries = 0; tries < MOST_CLEANINGS; tries += 1) {
      const lost =
        this.#recorder.history.filter((one) => one.kind !== "sync" && one.outcome === undefined).length +
        this.#log.lines.filter(({ fields }) => fields.err instanceof StoreUnavailable).length;
      if (lost === seen) return;
      seen = lost;
      await reconcile({ ...this.#dependencies, reindex: this.#reindex, queue: this.#queues[0] });
      await this.rest();
    }
  }

  #deliver(core: 0 | 1, event: HostEvent): void {
    const delivery: Promise<unknown> = this.pause()
      .then(() => this.#queues[core].push(event))
      .finally(() => this.#deliveries.delete(delivery));
    this.#deliveries.add(delivery);
  }

  #origin(change: ChangeRequestRef): { readonly delivery: string; readonly change: ChangeRequestRef } {
    this.#sent += 1;
    return { delivery: `hostb-${this.#sent}`, change };
  }

  /** Files that each touched application reads; every change request has its own, so that none is in conflict. */
  #changes(number: number, touched: readonly boolean[], definition: boolean): FileChanges {
    const names = this.#names.filter((_, index) => touched[index]);
    this.#sent += 1;
    const files = names.map((name) => {
      return [`apps/${name}/from-${number}.yaml`, configMap(`${name}-${number}`, { value: String(this.#sent) })];
    });
    const [first] = names;
    const defined =
      definition && first !== undefined
        ? { [`argocd/${first}.yaml`]: asYaml(resourceOf(first, `ns-${this.#sent}`)) }
        : {};
    return { "README.md": String(this.#sent), ...(Object.fromEntries(files) as FileChanges), ...defined };
  }
}

function filesOf(name: string): readonly (readonly [string, string])[] {
  return [
    [`apps/${name}/configmap.yaml`, configMap(name, { value: "1" })],
    [`argocd/${name}.yaml`, asYaml(resourceOf(name))],
  ];
}

function resourceOf(name: string, namespace = "guestbook"): object {
  return applicationResource(name, { repoURL: URL, spec: specOf(name, namespace) });
}

function specOf(name: string, namespace = "guestbook") {
  return {
    project: "default",
    source: { repoURL: URL, path: `apps/${name}`, targetRevision: "main" },
    destination: { server: "https://kubernetes.default.svc", namespace },
  };
}
