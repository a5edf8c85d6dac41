import { changeRequestKey } from "../core/model/change-request.js";
import { StoreUnavailable } from "../core/model/errors.js";
import type { HostEvent } from "../core/model/event.js";
import { isJsonObject } from "../core/model/json.js";
import type { QueueBacklog } from "../core/ports/event-queue.js";
import { eventRecordOf, readEventRecord, type EventRecord } from "./event-record.js";
import { withQueueCommands, type QueueConnection } from "./queue-commands.js";
import { journalKey, laneKeys, LANES_KEY, nameKey } from "./queue-keys.js";
import { idsOf } from "./queue-options.js";

const DAY_MS = 24 * 60 * 60 * 1000;
/** Hosts repeat a delivery for up to three days (https://docs.github.com/en/webhooks/testing-and-troubleshooting-webhooks/redelivering-webhooks). */
export const NAMES_KEPT_MS = 4 * DAY_MS;
/** Longer than a run that lost its lease can live. */
const STATE_KEPT_MS = DAY_MS;
/** Looked at in one go. */
const MOST_LANES = 1000;

/** `generation` names the job that is to be added; undefined when one is there already. */
export type Pushed =
  | { readonly kind: "accepted"; readonly generation: string | undefined; readonly superseded: readonly HostEvent[] }
  | { readonly kind: "known" };

/** An event whose run has begun. */
export interface Taken extends EventRecord {
  readonly kind: "taken";
  readonly change: string;
  /** The record as it stands in Redis. */
  readonly text: string;
  readonly fence: string;
  /** How often the event was begun, this time included. */
  readonly starts: number;
  /** Time since it was accepted, in milliseconds. */
  readonly ageMs: number;
}

export type Attempt =
  | Taken
  | { readonly kind: "held" | "empty" }
  /** Written by another version of this service; the lease is taken all the same. */
  | { readonly kind: "unreadable"; readonly text: string; readonly fence: string };

export type Renewed = { readonly kind: "lost" } | { readonly kind: "kept"; readonly stop: string };
export type Ended = { readonly kind: "lost" | "empty" } | { readonly kind: "more"; readonly generation: string };

/** A change request with work that nobody has a lease of. */
export interface FreeLane {
  readonly change: string;
  readonly generation: string;
}

/** The events in Redis, by change request. Methods throw `StoreUnavailable`. */
export class LaneStore {
  /** Redis's clock less this machine's, in milliseconds; undefined before the first answer. */
  #ahead: number | undefined;

  constructor(private readonly connection: QueueConnection) {}

  /**
   * Safe to repeat: an event that the first call accepted is "known" to the second. Redis takes nothing when it comes to
   * it later than after so many milliseconds: the sender is told otherwise by then.
   */
  async push(event: HostEvent, withinMs: number): Promise<Pushed> {
    const change = changeRequestKey(event.change);
    const { events, state } = laneKeys(change);
    const began = performance.now();
    const at = await this.#now();
    const latest = Math.round(at - (performance.now() - began) + withinMs);
    const keys = [events, state, LANES_KEY, ...idsOf(event).map(nameKey)];
    const stop = event.kind === "closed" ? "closed" : event.kind === "updated" ? "pushed" : "";
    const args = [
      eventRecordOf({ event, again: false, at }),
      change,
      stop,
      nameValue("accepted"),
      NAMES_KEPT_MS,
      latest,
    ];
    const [outcome, now, generation, ...dropped] = await this.connection.run((redis) =>
      withQueueCommands(redis).queuePush(keys.length, ...keys, ...args),
    );
    this.#learn(now);
    if (outcome === "known") return { kind: "known" };
    if (outcome === "late") throw new StoreUnavailable("the store answered too late");
    const superseded = dropped.map((text) => readEventRecord(text)?.event).filter((one) => one !== undefined);
    return { kind: "accepted", generation: generation === "" ? undefined : generation, superseded };
  }

  /** Writes down that the replica that took an event knows that it was accepted. */
  async confirm({ delivery }: HostEvent): Promise<void> {
    const states = [nameValue("accepted"), nameValue("confirmed")];
    await this.connection.run((redis) => withQueueCommands(redis).queueConfirm(1, nameKey(delivery), ...states));
  }

  async isConfirmed({ delivery }: HostEvent): Promise<boolean> {
    return stateOfName(await this.connection.run((redis) => redis.get(nameKey(delivery)))) === "confirmed";
  }

  /** Begins the next event of a change request. */
  async take(change: string, leaseMs: number): Promise<Attempt> {
    const { events, state, lease } = laneKeys(change);
    const keys = [events, state, LANES_KEY, lease];
    const [outcome, now = "", fence = "", starts, text = ""] = await this.connection.run((redis) =>
      withQueueCommands(redis).queueTake(keys.length, ...keys, change, leaseMs, STATE_KEPT_MS),
    );
    this.#learn(now);
    if (outcome === "held" || outcome === "empty") return { kind: outcome };
    const record = readEventRecord(text);
    if (record === undefined) return { kind: "unreadable", text, fence };
    const ageMs = Number(now) - record.at;
    return { kind: "taken", ...record, change, text, fence, starts: Number(starts), ageMs };
  }

  async renew(change: string, fence: string, leaseMs: number): Promise<Renewed> {
    const { state, lease } = laneKeys(change);
    const [outcome, stop = ""] = await this.connection.run((redis) =>
      withQueueCommands(redis).queueRenew(2, state, lease, fence, leaseMs),
    );
    return outcome === "kept" ? { kind: "kept", stop } : { kind: "lost" };
  }

  /** Safe to repeat; "lost" may then mean that the first call did it. */
  async end(taken: Taken, how: "done" | "failed" | "again"): Promise<Ended> {
    const { change, event, fence, text } = taken;
    const { events, state, lease } = laneKeys(change);
    const keys = [events, state, LANES_KEY, lease, journalKey(event.delivery), ...idsOf(event).map(nameKey)];
    return this.#end(keys, [change, fence, how, text, nameValue(how === "again" ? "accepted" : how), STATE_KEPT_MS]);
  }

  /** Leaves an event of another version where it is. */
  async leave(change: string, fence: string): Promise<void> {
    const { events, state, lease } = laneKeys(change);
    await this.#end([events, state, LANES_KEY, lease, journalKey("")], [change, fence, "left", "", "", STATE_KEPT_MS]);
  }

  /** Change requests that wait for longer than this although nobody works on them: their job was lost, or waits as well. */
  async free(waitingForMs: number): Promise<readonly FreeLane[]> {
    const before = (await this.#now()) - waitingForMs;
    return this.connection.run(async (redis) => {
      const changes = await redis.zrangebyscore(LANES_KEY, "-inf", before, "LIMIT", 0, MOST_LANES);
      const lanes = await Promise.all(
        changes.map(async (change) => {
          const { state, lease } = laneKeys(change);
          const [held, generation] = await Promise.all([redis.exists(lease), redis.hget(state, "scheduled")]);
          return held === 1 || generation === null ? [] : [{ change, generation }];
        }),
      );
      return lanes.flat();
    });
  }

  /** Of the change requests that have waited longest. */
  async backlog(): Promise<QueueBacklog> {
    const now = await this.#now();
    const lanes = await this.connection.run(async (redis) => {
      const changes = await redis.zrangebyscore(LANES_KEY, "-inf", "+inf", "LIMIT", 0, MOST_LANES);
      return Promise.all(
        changes.map(async (change) => {
          const { events, state } = laneKeys(change);
          const [length, begun] = await Promise.all([redis.llen(events), redis.hexists(state, "running")]);
          return { length, begun, next: await redis.lindex(events, begun) };
        }),
      );
    });
    const ages = lanes.map(({ next }) => now - (readEventRecord(next ?? "")?.at ?? now));
    return {
      waiting: lanes.reduce((sum, { length, begun }) => sum + length - begun, 0),
      running: lanes.reduce((sum, { begun }) => sum + begun, 0),
      oldestMs: Math.max(0, ...ages),
    };
  }

  /** How many change requests have work, the running ones included. */
  async count(): Promise<number> {
    return this.connection.run((redis) => redis.zcard(LANES_KEY));
  }

  async #end(keys: readonly string[], args: readonly (string | number)[]): Promise<Ended> {
    const [outcome, generation = ""] = await this.connection.run((redis) =>
      withQueueCommands(redis).queueEnd(keys.length, ...keys, ...args),
    );
    if (outcome === "more") return { kind: "more", generation };
    return { kind: outcome === "empty" ? "empty" : "lost" };
  }

  /** Redis's time, in milliseconds since 1970: replicas' clocks may differ, and a test's stands still. */
  async #now(): Promise<number> {
    if (this.#ahead === undefined) {
      const [seconds, micros] = await this.connection.run((redis) => redis.time());
      this.#learn(String(Number(seconds) * 1000 + Math.floor(Number(micros) / 1000)));
    }
    return Math.round(Date.now() + (this.#ahead ?? 0));
  }

  #learn(now: string | undefined): void {
    this.#ahead = Number(now) - Date.now();
  }
}

function nameValue(state: string): string {
  return JSON.stringify({ v: 1, state });
}

/** Whichever version wrote it; undefined for what is none of ours. */
function stateOfName(text: string | null): unknown {
  try {
    const value: unknown = JSON.parse(text ?? "");
    return isJsonObject(value) ? value.state : undefined;
  } catch {
    return undefined;
  }
}
