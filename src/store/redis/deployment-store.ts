import type { ApplicationName } from "../../core/model/brand.js";
import { changeRequestKey, sameChangeRequest, type ChangeRequestRef } from "../../core/model/change-request.js";
import type { Deployment } from "../../core/model/deployment.js";
import type { DeploymentStore } from "../../core/ports/deployment-store.js";
import { DEPLOYMENT_KEY_PREFIX } from "../../names.js";
import { byApplication } from "../by-application.js";
import type { RedisConnection } from "./connection.js";
import { deploymentRecordOf, readDeployment } from "./deployment-record.js";
import { scanKeys } from "./keys.js";

/** "Deployed, not merged": one hash per application, `svc:deployment:<application>`, with a field per change request. */
export class RedisDeploymentStore implements DeploymentStore {
  constructor(private readonly connection: RedisConnection) {}

  async save(deployment: Deployment): Promise<void> {
    const key = deploymentKey(deployment.application);
    const field = changeRequestKey(deployment.change);
    await this.connection.run((redis) => redis.hset(key, field, deploymentRecordOf(deployment)));
  }

  async remove(application: ApplicationName, change: ChangeRequestRef): Promise<void> {
    await this.connection.run((redis) => redis.hdel(deploymentKey(application), changeRequestKey(change)));
  }

  async ofApplication(application: ApplicationName): Promise<readonly Deployment[]> {
    return this.#read([deploymentKey(application)]);
  }

  async ofChange(change: ChangeRequestRef): Promise<readonly Deployment[]> {
    return (await this.list()).filter((deployment) => sameChangeRequest(deployment.change, change));
  }

  async list(): Promise<readonly Deployment[]> {
    return this.#read(await this.connection.run((redis) => scanKeys(redis, DEPLOYMENT_KEY_PREFIX)));
  }

  async #read(keys: readonly string[]): Promise<readonly Deployment[]> {
    const records = await this.connection.run((redis) =>
      Promise.all(keys.map(async (key) => ({ key, values: await redis.hvals(key) }))),
    );
    return records.flatMap(({ key, values }) => values.map((value) => readDeployment(value, key))).sort(byApplication);
  }
}

function deploymentKey(application: ApplicationName): string {
  return DEPLOYMENT_KEY_PREFIX + application;
}
