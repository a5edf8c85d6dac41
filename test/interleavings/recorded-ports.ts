import { changeRequestKey } from "../../src/core/model/change-request.js";
import type { Deployer } from "../../src/core/ports/deployer.js";
import type { LockStore } from "../../src/core/ports/stores.js";
import type { Happened } from "./lock-history.js";

/** What happened at the ports of all cores, in one common time. */
export class Recorder {
  readonly history: Happened[] = [];
  #time = 0;

  now(): number {
    this.#time += 1;
    return this.#time;
  }

  /** The same store; each acquire and release is written down. */
  locks(store: LockStore): LockStore {
    return {
      acquire: async (request, at) => {
        const common = {
          kind: "acquire" as const,
          application: request.application,
          by: changeRequestKey(request.holder),
        };
        const start = this.now();
        try {
          const attempt = await store.acquire(request, at);
          const outcome = attempt.kind === "held" ? "held" : attempt.fresh ? "fresh" : "refreshed";
          this.history.push({ ...common, start, end: this.now(), outcome });
          return attempt;
        } catch (error) {
          this.history.push({ ...common, start, end: Infinity, outcome: undefined });
          throw error;
        }
      },
      release: async (application, by) => {
        const common = { kind: "release" as const, application, by: changeRequestKey(by) };
        const start = this.now();
        try {
          const outcome = await store.release(application, by);
          this.history.push({ ...common, start, end: this.now(), outcome });
          return outcome;
        } catch (error) {
          this.history.push({ ...common, start, end: Infinity, outcome: undefined });
          throw error;
        }
      },
      find: (application) => store.find(application),
      list: (holder) => store.list(holder),
      ping: () => store.ping(),
    };
  }

  /** The same deployer; each sync is written down, whatever becomes of it. */
  deployer(deployer: Deployer): Deployer {
    return {
      check: () => deployer.check(),
      naming: () => deployer.naming(),
      listApplications: (signal, since) => deployer.listApplications(signal, since),
      uncompared: (signal) => deployer.uncompared(signal),
      rolloutLines: () => deployer.rolloutLines(),
      ownersOf: (objects, signal) => deployer.ownersOf(objects, signal),
      findApplication: (name, signal) => deployer.findApplication(name, signal),
      isGone: (name, project) => deployer.isGone(name, project),
      renderManifests: (request, signal) => deployer.renderManifests(request, signal),
      renderingSettings: () => deployer.renderingSettings(),
      whyNotFresh: () => deployer.whyNotFresh(),
      liveResources: (application, signal) => deployer.liveResources(application, signal),
      expandApplicationSet: (set, change, signal) => deployer.expandApplicationSet(set, change, signal),
      tryObjects: (request, signal) => deployer.tryObjects(request, signal),
      listApplicationSets: (signal, since) => deployer.listApplicationSets(signal, since),
      findApplicationSet: (set, signal) => deployer.findApplicationSet(set, signal),
      applicationsOfSet: (set, signal) => deployer.applicationsOfSet(set, signal),
      updateSpec: (application, spec) => deployer.updateSpec(application, spec),
      sweep: (now) => deployer.sweep(now),
      follow: (request) => deployer.follow(request),
      findOutcome: (lookup) => deployer.findOutcome(lookup),
      healthAfter: (lookup, options) => deployer.healthAfter(lookup, options),
      sync: async (request) => {
        const start = this.now();
        try {
          return await deployer.sync(request);
        } finally {
          this.history.push({
            kind: "sync",
            application: request.application.name,
            by: changeRequestKey(request.change),
            start,
            end: this.now(),
          });
        }
      },
    };
  }
}
