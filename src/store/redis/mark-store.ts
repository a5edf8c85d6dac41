import * as z from "zod";
import { type ApplicationName, applicationName } from "../../core/model/brand.js";
import { type ChangeRequestRef, changeRequestRef, identityKey } from "../../core/model/change-request.js";
import { parseJson } from "../../core/model/json.js";
import { PLAN_LIFETIME_MS } from "../../core/model/plan.js";
import type { Mark, MarkStore, Surface } from "../../core/ports/stores.js";
import { RedisScript } from "../../http/redis.js";
import { CONCERNED_KEY_PREFIX, MARKS_KEY_PREFIX, WRITTEN_KEY_PREFIX } from "../../names.js";
import type { RedisConnection } from "./connection.js";
import { scanKeys, stored, takeDue } from "./stored-value.js";

const SET = new RedisScript(new URL("set-marks.lua", import.meta.url));
const REMOVE = new RedisScript(new URL("remove-mark.lua", import.meta.url));

const DUE_KEY = `${MARKS_KEY_PREFIX}due`;
const RECORDS_KEY = `${MARKS_KEY_PREFIX}records`;
const COUNT_KEY = `${MARKS_KEY_PREFIX}count`;

const markRecord = z.object({ v: z.literal(1), turn: z.int(), change: stored.change });
const concernedRecord = z.object({ v: z.literal(1), change: stored.change });

const writtenRecord = z.object({ v: z.literal(1), digest: z.string() });

/** So many marks are set in one call: Redis does nothing else meanwhile. */
const CHUNK = 500;

/** Marks in a sorted set and a hash, by the ids of repositories; a hash per application says whom it concerns. */
export class RedisMarkStore implements MarkStore {
  constructor(private readonly connection: RedisConnection) {}

  async set(changes: readonly ChangeRequestRef[], due: Date): Promise<void> {
    for (let start = 0; start < changes.length; start += CHUNK) {
      const part = changes.slice(start, start + CHUNK);
      const fields = part.flatMap((one) => [identityKey(one), JSON.stringify(changeRequestRef(one))]);
      const keys = [DUE_KEY, RECORDS_KEY, COUNT_KEY];
      await this.connection.run((redis) => SET.run(redis, keys, [due.getTime(), ...fields]));
    }
  }

  /** What another version wrote is left to it. */
  async take(now: Date, until: Date, most: number): Promise<readonly Mark[]> {
    const lease = { from: now.getTime(), until: until.getTime() };
    const taken = await this.connection.run((redis) => takeDue(redis, [DUE_KEY, RECORDS_KEY], lease, most));
    return taken
      .flatMap((text) => markRecord.safeParse(parseJson(text)).data ?? [])
      .map(({ change, turn }) => ({ change, turn }));
  }

  async remove({ change, turn }: Mark): Promise<void> {
    const args = [identityKey(change), `{"v":1,"turn":${turn},`];
    await this.connection.run((redis) => REMOVE.run(redis, [DUE_KEY, RECORDS_KEY], args));
  }

  async concern(change: ChangeRequestRef, applications: readonly ApplicationName[]): Promise<void> {
    const record = JSON.stringify({ v: 1, change: changeRequestRef(change) });
    await this.connection.run((redis) =>
      Promise.all(
        applications.map(async (application) => {
          const key = CONCERNED_KEY_PREFIX + application;
          await redis.hset(key, identityKey(change), record);
          await redis.pexpire(key, PLAN_LIFETIME_MS);
        }),
      ),
    );
  }

  async forget(change: ChangeRequestRef): Promise<void> {
    const field = identityKey(change);
    const keys = await this.connection.run((redis) => scanKeys(redis, CONCERNED_KEY_PREFIX));
    for (let start = 0; start < keys.length; start += CHUNK) {
      const part = keys.slice(start, start + CHUNK);
      await this.connection.run((redis) => Promise.all(part.map((key) => redis.hdel(key, field))));
    }
  }

  async concernedBy(application: ApplicationName): Promise<readonly ChangeRequestRef[]> {
    const records = await this.connection.run((redis) => redis.hvals(CONCERNED_KEY_PREFIX + application));
    return records.flatMap((text) => concernedRecord.safeParse(parseJson(text)).data?.change ?? []);
  }

  async applications(): Promise<readonly ApplicationName[]> {
    const keys = await this.connection.run((redis) => scanKeys(redis, CONCERNED_KEY_PREFIX));
    return keys.map((key) => applicationName(key.slice(CONCERNED_KEY_PREFIX.length)));
  }

  async written(change: ChangeRequestRef, surface: Surface): Promise<string | undefined> {
    const text = await this.connection.run((redis) => redis.get(writtenKey(change, surface)));
    return text === null ? undefined : writtenRecord.safeParse(parseJson(text)).data?.digest;
  }

  async wrote(change: ChangeRequestRef, surface: Surface, digest: string | undefined): Promise<void> {
    const key = writtenKey(change, surface);
    await this.connection.run<unknown>((redis) =>
      digest === undefined ? redis.del(key) : redis.set(key, JSON.stringify({ v: 1, digest }), "PX", PLAN_LIFETIME_MS),
    );
  }
}

function writtenKey(change: ChangeRequestRef, surface: Surface): string {
  return `${WRITTEN_KEY_PREFIX}${surface}:${identityKey(change)}`;
}
