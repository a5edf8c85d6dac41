import * as z from "zod";
import type { ApplicationName } from "../../core/model/brand.js";
import { changeRequestKey, sameChangeRequest, type ChangeRequestRef } from "../../core/model/change-request.js";
import type { Deployment } from "../../core/model/deployment.js";
import type { DeploymentStore } from "../../core/ports/stores.js";
import { DEPLOYMENT_KEY_PREFIX } from "../../names.js";
import { byApplication } from "../order.js";
import type { RedisConnection } from "./connection.js";
import { scanKeys } from "./keys.js";
import { orUndefined, readStored, stored } from "./stored-value.js";

const deployment: z.ZodType<Deployment> = z.object({
  application: stored.application,
  change: stored.change,
  revision: stored.revision,
  baseRevision: orUndefined(stored.revision),
  outcome: z.enum(["started", "succeeded", "failed", "unknown"]),
  pins: z.array(z.object({ position: z.int().positive(), revision: stored.revision })),
  specBefore: stored.spec,
  specWritten: orUndefined(stored.spec),
  approvers: z.array(z.string()),
  user: z.string(),
  reverted: orUndefined(z.string()),
  overridden: orUndefined(z.array(z.object({ check: z.string(), by: z.array(z.string()) }))),
  runId: orUndefined(z.string()),
  health: orUndefined(z.object({ timeoutMs: z.int().positive(), onFailure: z.enum(["keep", "rollback"]) })),
  undoing: orUndefined(z.object({ health: z.string(), message: z.string() })),
  timestamp: stored.time,
});

const deploymentRecord = z.object({ v: z.literal(1), deployment });

/** What is deployed and not merged: one hash per application, `svc:deployment:<application>`, with a field per change request. */
export class RedisDeploymentStore implements DeploymentStore {
  constructor(private readonly connection: RedisConnection) {}

  async save(deployment: Deployment): Promise<void> {
    const { application, change } = deployment;
    const record = JSON.stringify({ v: 1, deployment });
    await this.connection.run((redis) => redis.hset(deploymentKey(application), changeRequestKey(change), record));
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
    const read = (text: string, key: string) =>
      readStored(deploymentRecord, text, "the record of a deployment", key).deployment;
    return records.flatMap(({ key, values }) => values.map((value) => read(value, key))).sort(byApplication);
  }
}

function deploymentKey(application: ApplicationName): string {
  return DEPLOYMENT_KEY_PREFIX + application;
}
