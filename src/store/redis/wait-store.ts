import * as z from "zod";
import { applicationName, type ApplicationName } from "../../core/model/brand.js";
import { changeRequestRef, type ChangeRequestRef } from "../../core/model/change-request.js";
import { MAX_WAITING, WAITING_LIFETIME_MS, type Waiting } from "../../core/model/lock.js";
import type { WaitStore } from "../../core/ports/stores.js";
import { RedisScript } from "../../http/redis.js";
import { WAITING_KEY_PREFIX } from "../../names.js";
import { byApplication } from "../order.js";
import type { RedisConnection } from "./connection.js";
import { scanKeys } from "./keys.js";
import { readStored, stored } from "./stored-value.js";

const JOIN = new RedisScript(new URL("join.lua", import.meta.url));
const LEAVE = new RedisScript(new URL("leave.lua", import.meta.url));

const record = z.object({ v: z.literal(1), change: stored.change });

/**
 * One sorted set per application, `svc:waiting:<application>`: a record for each change request, scored by the order in
 * which they joined. A change request is found by what its record says: another version may have written it differently.
 */
export class RedisWaitStore implements WaitStore {
  constructor(private readonly connection: RedisConnection) {}

  async join(application: ApplicationName, change: ChangeRequestRef): Promise<number | undefined> {
    const args = [...identityOf(change), recordOf(change), MAX_WAITING, WAITING_LIFETIME_MS];
    const answer = await this.connection.run((redis) => JOIN.run(redis, [waitingKey(application)], args));
    const place = z.int().nonnegative().parse(answer);
    return place === 0 ? undefined : place;
  }

  async leave(application: ApplicationName, change: ChangeRequestRef): Promise<boolean> {
    const key = waitingKey(application);
    return (await this.connection.run((redis) => LEAVE.run(redis, [key], identityOf(change)))) !== 0;
  }

  async of(application: ApplicationName): Promise<readonly ChangeRequestRef[]> {
    const key = waitingKey(application);
    return readQueue(await this.connection.run((redis) => redis.zrange(key, "0", "-1")), key);
  }

  async list(): Promise<readonly Waiting[]> {
    const queues = await this.connection.run(async (redis) => {
      const keys = await scanKeys(redis, WAITING_KEY_PREFIX);
      return Promise.all(keys.map(async (key) => ({ key, records: await redis.zrange(key, "0", "-1") })));
    });
    return queues
      .filter(({ records }) => records.length > 0)
      .map(({ key, records }) => ({
        application: applicationName(key.slice(WAITING_KEY_PREFIX.length)),
        changes: readQueue(records, key),
      }))
      .sort(byApplication);
  }
}

function waitingKey(application: ApplicationName): string {
  return WAITING_KEY_PREFIX + application;
}

function identityOf({ host, repository, number }: ChangeRequestRef) {
  return [host, repository, number];
}

function recordOf(change: ChangeRequestRef): string {
  return JSON.stringify({ v: 1, change: changeRequestRef(change) });
}

/** @throws {StoredValueUnreadable} */
function readQueue(records: readonly string[], key: string): readonly ChangeRequestRef[] {
  return records.map((text) => readStored(record, text, "the queue for a lock", key).change);
}
