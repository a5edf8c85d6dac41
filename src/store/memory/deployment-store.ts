import type { ApplicationName } from "../../core/model/brand.js";
import { changeRequestKey, sameChangeRequest, type ChangeRequestRef } from "../../core/model/change-request.js";
import type { Deployment } from "../../core/model/deployment.js";
import type { DeploymentStore } from "../../core/ports/deployment-store.js";
import { byApplication } from "../by-application.js";

/** Records "deployed, not merged" in this process; they do not expire. */
export class MemoryDeploymentStore implements DeploymentStore {
  /** By application, then by change request. */
  readonly #records = new Map<ApplicationName, Map<string, Deployment>>();

  save(deployment: Deployment): Promise<void> {
    const records = this.#records.get(deployment.application) ?? new Map<string, Deployment>();
    records.set(changeRequestKey(deployment.change), deployment);
    this.#records.set(deployment.application, records);
    return Promise.resolve();
  }

  remove(application: ApplicationName, change: ChangeRequestRef): Promise<void> {
    const records = this.#records.get(application);
    records?.delete(changeRequestKey(change));
    if (records?.size === 0) this.#records.delete(application);
    return Promise.resolve();
  }

  ofApplication(application: ApplicationName): Promise<readonly Deployment[]> {
    return Promise.resolve([...(this.#records.get(application)?.values() ?? [])].sort(byApplication));
  }

  async ofChange(change: ChangeRequestRef): Promise<readonly Deployment[]> {
    return (await this.list()).filter((deployment) => sameChangeRequest(deployment.change, change));
  }

  list(): Promise<readonly Deployment[]> {
    const all = [...this.#records.values()].flatMap((records) => [...records.values()]);
    return Promise.resolve(all.sort(byApplication));
  }
}
