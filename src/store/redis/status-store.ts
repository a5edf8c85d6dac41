import { randomUUID } from "node:crypto";
import * as z from "zod";
import { applicationName, type ApplicationName, type Revision } from "../../core/model/brand.js";
import {
  type ChangeNote,
  changeRequestKey,
  changeRequestRef,
  type ChangeRequestRef,
  headKey,
  headRef,
  type HeadRef,
  identityKey,
  sameChangeRequest,
  sameRepositoryOf,
} from "../../core/model/change-request.js";
import { StoreUnavailable } from "../../core/model/errors.js";
import { parseJson } from "../../core/model/json.js";
import { PLAN_LIFETIME_MS } from "../../core/model/plan/plan.js";
import {
  type Mark,
  type MarkStore,
  OWN_STATUS_LIFETIME_MS,
  type OwnStatus,
  type StatusStore,
  type Surface,
  WRITES_LIFETIME_MS,
} from "../../core/ports/stores.js";
import { RedisScript } from "../../http/redis.js";
import { KEYS } from "../../names.js";
import type { RedisConnection } from "./connection.js";
import { KeyIndex } from "./key-index.js";
import { orUndefined, readKeys, readStored, scanKeys, stored } from "./stored-value.js";

const END_LEASE = new RedisScript(new URL("end-lease.lua", import.meta.url));

/** Longer than the calls that a turn makes usually take; whoever takes longer finds out with `isOurs`. */
const LEASE_MS = 30_000;
/** Longer than the lease of a replica that was killed. */
const WAIT_MS = 45_000;
const LOOK_EVERY_MS = 100;

const statusRecord = z.object({
  v: z.literal(1),
  status: z.object({
    change: z.object({ ...stored.change.shape, headRevision: stored.revision }),
    state: z.enum(["pending", "success", "failure"]),
    description: z.string(),
    url: orUndefined(z.string()),
  }) satisfies z.ZodType<OwnStatus>,
});

const headRecord = z.object({ v: z.literal(1), head: stored.revision });

/**
 * One hash per head, `svc:statuses:<host>/<repository>@<commit>`, with a field per change request, and the head of each change
 * request, `svc:head:<host>/<repository>/<number>`. A status counts only while that key names its head, so that what a killed
 * process left under another head does not count.
 */
export class RedisStatusStore implements StatusStore {
  constructor(private readonly connection: RedisConnection) {}

  async save(status: OwnStatus): Promise<Revision | undefined> {
    const change = headRef(status.change);
    const [key, field] = [statusesKey(change), String(change.number)];
    const record = JSON.stringify({ v: 1, status: { ...status, change } });
    const head = JSON.stringify({ v: 1, head: change.headRevision });
    const before = await this.#headOf(change);
    await this.connection.run(async (redis) =>
      answersOf(await redis.multi().hset(key, field, record).pexpire(key, OWN_STATUS_LIFETIME_MS).exec()),
    );
    await this.connection.run((redis) => redis.set(pointerKey(change), head, "PX", OWN_STATUS_LIFETIME_MS));
    if (before === undefined || before === change.headRevision) return undefined;
    await this.#drop({ ...change, headRevision: before });
    return before;
  }

  async remove(change: ChangeRequestRef): Promise<Revision | undefined> {
    const before = await this.#headOf(change);
    if (before !== undefined && (await this.#isOfAnother(change, before))) return undefined;
    await this.connection.run((redis) => redis.del(pointerKey(change)));
    if (before !== undefined) await this.#drop({ ...changeRequestRef(change), headRevision: before });
    return before;
  }

  async ofHead(head: HeadRef): Promise<readonly OwnStatus[]> {
    const statuses = await this.#read(statusesKey(head));
    const heads = await Promise.all(statuses.map(({ change }) => this.#headOf(change)));
    return statuses
      .filter(({ change }, index) => heads[index] === head.headRevision && sameRepositoryOf(change, head))
      .sort((left, right) => left.change.number - right.change.number);
  }

  /** A status that cannot be read is identified by its key and field: it must not keep the others from being listed. */
  async listShared(): Promise<readonly ChangeRequestRef[]> {
    const found = await this.connection.run(async (redis) => {
      const keys = await scanKeys(redis, KEYS.statuses);
      return Promise.all(keys.map(async (key) => ({ key, texts: Object.entries(await redis.hgetall(key)) })));
    });
    const shared = found.filter(({ texts }) => texts.length > 1);
    return shared.flatMap(({ key, texts }) => {
      const [, host, repository] = /^([^/]+)\/(.+)@[^@]+$/.exec(key.slice(KEYS.statuses.length)) ?? [];
      return texts.flatMap(([number, text]) => {
        const read = statusRecord.safeParse(parseJson(text)).data?.status.change;
        const change = stored.change.safeParse(read ?? { host, repository, number: Number(number) }).data;
        return change === undefined ? [] : [changeRequestRef(change)];
      });
    });
  }

  async countWrite(head: HeadRef): Promise<number> {
    const key = KEYS.statusWrites + headKey(head);
    return this.connection.run(async (redis) => {
      const answer = await redis.multi().incr(key).pexpire(key, WRITES_LIFETIME_MS).exec();
      return z.int().parse(answersOf(answer)[0]);
    });
  }

  async exclusively<T>(head: HeadRef, work: (isOurs: () => Promise<boolean>) => Promise<T>): Promise<T> {
    const [key, token] = [KEYS.statusLease + headKey(head), randomUUID()];
    await this.#awaitTurn(key, token);
    try {
      return await work(async () => (await this.connection.run((redis) => redis.get(key))) === token);
    } finally {
      // If this fails, the lease ends by itself.
      await this.connection.run((redis) => END_LEASE.run(redis, [key], [token])).catch(() => undefined);
    }
  }

  async #awaitTurn(key: string, token: string): Promise<void> {
    const start = performance.now();
    while ((await this.connection.run((redis) => redis.set(key, token, "PX", LEASE_MS, "NX"))) === null) {
      if (performance.now() - start > WAIT_MS) throw new StoreUnavailable("other replicas are writing the same status");
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS * (0.5 + Math.random())));
    }
  }

  async #headOf(change: ChangeRequestRef): Promise<Revision | undefined> {
    const key = pointerKey(change);
    const text = await this.connection.run((redis) => redis.get(key));
    return text === null ? undefined : readStored(headRecord, text, "the head of a change request", key).head;
  }

  async #read(key: string): Promise<OwnStatus[]> {
    const texts = await this.connection.run((redis) => redis.hvals(key));
    return texts.map((text) => readStored(statusRecord, text, "the status of a change request", key).status);
  }

  /** Whether the status belongs to another repository that has had the name. */
  async #isOfAnother(change: ChangeRequestRef, headRevision: Revision): Promise<boolean> {
    const key = statusesKey({ ...change, headRevision });
    const text = await this.connection.run((redis) => redis.hget(key, String(change.number)));
    const found = text === null ? undefined : statusRecord.safeParse(parseJson(text)).data?.status.change;
    return found !== undefined && !sameChangeRequest(found, change);
  }

  async #drop(head: HeadRef): Promise<void> {
    await this.connection.run((redis) => redis.hdel(statusesKey(head), String(head.number)));
  }
}

/** A transaction reports the failure of a command in its answer. */
function answersOf(answer: readonly (readonly [Error | null, unknown])[] | null): readonly unknown[] {
  return (answer ?? []).map(([error, value]) => {
    if (error !== null) throw error;
    return value;
  });
}

function statusesKey(head: HeadRef): string {
  return KEYS.statuses + headKey(head);
}

function pointerKey(change: ChangeRequestRef): string {
  return KEYS.head + changeRequestKey(change);
}

const SET = new RedisScript(new URL("set-marks.lua", import.meta.url));
const TAKE = new RedisScript(new URL("take-marks.lua", import.meta.url));
const END = new RedisScript(new URL("end-mark.lua", import.meta.url));

const DUE_KEY = `${KEYS.marks}due`;
const PATIENT_KEY = `${KEYS.marks}patient`;
const RECORDS_KEY = `${KEYS.marks}records`;
const COUNT_KEY = `${KEYS.marks}count`;

const MARK_KEYS = [DUE_KEY, PATIENT_KEY, RECORDS_KEY];

const takenMarks = z.array(z.string());
const markRecord = z.object({ v: z.literal(1), turn: z.int(), change: stored.change });
const concernedRecord = z.object({ v: z.literal(1), change: stored.change });

const noteRecord = z
  .object({ v: z.literal(1), title: z.string(), state: z.enum(["open", "closed", "merged"]), draft: z.boolean() })
  .transform(({ title, state, draft }): ChangeNote => ({ title, state, draft }));

const writtenRecord = z.object({ v: z.literal(1), digest: z.string() });

/** So many marks are set in one call: Redis does nothing else meanwhile. */
const CHUNK = 500;

/** Marks in a sorted set and a hash, by the ids of repositories; a hash per application says whom it concerns. */
export class RedisMarkStore implements MarkStore {
  readonly index = new KeyIndex(KEYS.concerned);

  constructor(private readonly connection: RedisConnection) {}

  async set(changes: readonly ChangeRequestRef[], due: Date, patient = false): Promise<void> {
    for (let start = 0; start < changes.length; start += CHUNK) {
      const part = changes.slice(start, start + CHUNK);
      const fields = part.flatMap((one) => [identityKey(one), JSON.stringify(changeRequestRef(one))]);
      const keys = [patient ? PATIENT_KEY : DUE_KEY, RECORDS_KEY, COUNT_KEY];
      await this.connection.run((redis) => SET.run(redis, keys, [due.getTime(), ...fields]));
    }
  }

  /** What another version wrote is left to it, and the next ones are taken in its place. */
  async take(now: Date, until: Date, most: number): Promise<readonly Mark[]> {
    const args = [now.getTime(), until.getTime(), most];
    const answer = takenMarks.parse(await this.connection.run((redis) => TAKE.run(redis, MARK_KEYS, args)));
    const marks = answer.flatMap((text, index) => {
      const record = index % 2 === 0 ? markRecord.safeParse(parseJson(text)).data : undefined;
      if (record === undefined) return [];
      return [{ change: record.change, turn: record.turn, patient: answer[index + 1] === "1" }];
    });
    const left = answer.length < 2 * most ? 0 : most - marks.length;
    return left > 0 ? [...marks, ...(await this.take(now, until, left))] : marks;
  }

  remove(mark: Mark): Promise<void> {
    return this.#end(mark, "");
  }

  postpone(mark: Mark, until: Date): Promise<void> {
    return this.#end(mark, until.getTime());
  }

  async #end({ change, turn }: Mark, later: number | ""): Promise<void> {
    const args = [identityKey(change), `{"v":1,"turn":${turn},`, later];
    await this.connection.run((redis) => END.run(redis, [...MARK_KEYS, COUNT_KEY], args));
  }

  async concern(change: ChangeRequestRef, applications: readonly ApplicationName[]): Promise<void> {
    const record = JSON.stringify({ v: 1, change: changeRequestRef(change) });
    await this.connection.run((redis) => this.index.enter(redis, applications));
    await this.connection.run((redis) =>
      Promise.all(
        applications.map(async (application) => {
          const key = KEYS.concerned + application;
          await redis.hset(key, identityKey(change), record);
          await redis.pexpire(key, PLAN_LIFETIME_MS);
        }),
      ),
    );
  }

  async forget(change: ChangeRequestRef): Promise<void> {
    const field = identityKey(change);
    const keys = await this.connection.run((redis) => this.index.keys(redis));
    for (let start = 0; start < keys.length; start += CHUNK) {
      const part = keys.slice(start, start + CHUNK);
      await this.connection.run((redis) => Promise.all(part.map((key) => redis.hdel(key, field))));
    }
  }

  async concernedBy(application: ApplicationName): Promise<readonly ChangeRequestRef[]> {
    const records = await this.connection.run((redis) => redis.hvals(KEYS.concerned + application));
    return records.flatMap((text) => concernedRecord.safeParse(parseJson(text)).data?.change ?? []);
  }

  async applications(): Promise<readonly ApplicationName[]> {
    const keys = await this.connection.run(async (redis) => {
      const listed = await this.index.keys(redis);
      const exist = await Promise.all(listed.map((key) => redis.exists(key)));
      return listed.filter((_, at) => exist[at] === 1);
    });
    return keys.map((key) => applicationName(key.slice(KEYS.concerned.length)));
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

  async describe(change: ChangeRequestRef, { title, state, draft }: ChangeNote): Promise<void> {
    const record = JSON.stringify({ v: 1, title, state, draft });
    await this.connection.run((redis) => redis.set(noteKey(change), record, "PX", PLAN_LIFETIME_MS));
  }

  /** What another version wrote is not known. */
  async described(changes: readonly ChangeRequestRef[]): Promise<readonly (ChangeNote | undefined)[]> {
    const found = new Map(await this.connection.run((redis) => readKeys(redis, [...new Set(changes.map(noteKey))])));
    return changes.map((one) => noteRecord.safeParse(parseJson(found.get(noteKey(one)) ?? "")).data);
  }
}

function noteKey(change: ChangeRequestRef): string {
  return KEYS.changeNote + identityKey(change);
}

function writtenKey(change: ChangeRequestRef, surface: Surface): string {
  return `${KEYS.written}${surface}:${identityKey(change)}`;
}
