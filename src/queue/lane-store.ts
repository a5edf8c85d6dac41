import * as z from "zod";
import type { RepositoryName } from "../core/model/brand.js";
import { type ChangeRequestRef, identityKey } from "../core/model/change-request.js";
import { StoreUnavailable } from "../core/model/errors.js";
import { EVENT_KINDS, type HostEvent } from "../core/model/event.js";
import { parseJson } from "../core/model/json.js";
import { type QueueBacklog, IDS_KEPT_MS, idsOf, UNTOLD_KEPT_MS } from "../core/ports/event-queue.js";
import { RedisScript, type StoreConnection, vouched } from "../http/redis.js";
import { HOST_IDS, KEYS } from "../names.js";

interface EventRecord {
  readonly event: HostEvent;
  /** The event failed before and was delivered again. */
  readonly again: boolean;
  /** When it was accepted: milliseconds since 1970 by Redis's clock, as the accepting replica estimates it. */
  readonly at: number;
}

const PUSH = new RedisScript(new URL("push.lua", import.meta.url));
const TAKE = new RedisScript(new URL("take.lua", import.meta.url));
const RENEW = new RedisScript(new URL("renew.lua", import.meta.url));
const END = new RedisScript(new URL("end.lua", import.meta.url));
const ANNOUNCE = new RedisScript(new URL("announce.lua", import.meta.url));

const answer = z.array(z.string());

/** Longer than a run that lost its lease can live. */
const STATE_KEPT_MS = 24 * 60 * 60 * 1000;
/** Longer than anybody waits for a confirmation. */
const CONFIRMED_KEPT_MS = 60_000;
const MAX_LANES = 1000;

const LANES_KEY = `${KEYS.queue}:lanes`;
const READY_KEY = `${KEYS.queue}:ready`;
/** A hash: the records of events that failed after they had done something, by the keys of their journals. */
export const UNTOLD_KEY = `${KEYS.queue}:untold`;
/** Rung when a change request is announced: all replicas listen. */
export const BELL_CHANNEL = `${KEYS.queue}:bell`;

/** `isFirst`: another event than before is the next one of the change request, so the caller announces it. */
export type Pushed = { readonly lane: string } & (
  | { readonly kind: "accepted"; readonly isFirst: boolean; readonly superseded: readonly HostEvent[] }
  | { readonly kind: "known" }
);

/** An event that was started under a lease. */
export interface Taken extends EventRecord {
  readonly kind: "taken";
  readonly change: string;
  readonly text: string;
  readonly fence: string;
  readonly starts: number;
  /** How many of those runs never recorded an end: their process was killed, or lost its lease. */
  readonly kills: number;
  /** How many of those runs failed. Runs that were handed back are neither. */
  readonly failures: number;
  readonly ageMs: number;
}

type Attempt =
  | Taken
  | { readonly kind: "held" | "empty" }
  /** Another version of this service wrote the event; the lease was taken all the same. */
  | { readonly kind: "unreadable"; readonly text: string; readonly fence: string };

type Renewed = { readonly kind: "lost" } | { readonly kind: "kept"; readonly stop: string };
/**
 * What becomes of an event after its run: `again` and `retry` run it once more, and only `retry` counts as a failure. The other
 * failures end it: `failed` may be found and run again, `untold` is kept to be pushed again, and `dropped` is neither.
 */
type Ending = "done" | "failed" | "untold" | "dropped" | "again" | "retry";
/** After "more" the caller announces the change request. */
type Ended = "lost" | "empty" | "more";

/** The events in Redis, by change request. All methods throw `StoreUnavailable`. */
export class LaneStore {
  /** How far Redis's clock is ahead of this machine's, in milliseconds; undefined before the first answer. */
  #ahead: number | undefined;

  constructor(private readonly connection: StoreConnection) {}

  /** Accepts an event, unless Redis gets to it more than `withinMs` from now. Repeated after success, it answers "known". */
  async push(event: HostEvent, withinMs: number): Promise<Pushed> {
    const began = performance.now();
    const lane = identityKey(event.change);
    const { events, state } = laneKeys(lane);
    const at = await this.#now();
    const deadline = Math.round(at - (performance.now() - began) + withinMs);
    const stop = event.kind === "closed" ? "closed" : event.kind === "updated" ? "pushed" : "";
    // push.lua relies on `again` coming before the event.
    const record = JSON.stringify({ v: 1, again: false, at, event });
    const [outcome, now, first, ...superseded] = await this.#call(
      PUSH,
      [events, state, LANES_KEY, ...idsOf(event).map(idKey)],
      [record, lane, stop, idValue("accepted"), IDS_KEPT_MS, deadline],
    );
    this.#learn(now);
    if (outcome === "known") return { kind: "known", lane };
    if (outcome === "late") throw new StoreUnavailable("the store answered too late");
    return {
      kind: "accepted",
      lane,
      isFirst: first === "1",
      superseded: superseded.map((text) => readEventRecord(text)?.event).filter((one) => one !== undefined),
    };
  }

  async confirm({ delivery }: HostEvent): Promise<void> {
    await this.connection.run((redis) =>
      redis.set(confirmedKey(delivery), JSON.stringify({ v: 1 }), "PX", CONFIRMED_KEPT_MS),
    );
  }

  async isConfirmed({ delivery }: HostEvent): Promise<boolean> {
    return (await this.connection.run((redis) => redis.exists(confirmedKey(delivery)))) === 1;
  }

  /** Whether one of the event's ids was accepted. One that failed does not count, unless it was dropped or is pushed again by itself. */
  async knows(event: HostEvent): Promise<boolean> {
    const values = await this.connection.run((redis) => Promise.all(idsOf(event).map((id) => redis.get(idKey(id)))));
    return values.some((value) => value !== null && value !== idValue("failed"));
  }

  async isBusy(change: ChangeRequestRef): Promise<boolean> {
    const { events } = laneKeys(identityKey(change));
    return (await this.connection.run((redis) => redis.exists(events))) === 1;
  }

  async take(change: string, leaseMs: number): Promise<Attempt> {
    const { events, state, lease } = laneKeys(change);
    const [outcome, now, fence = "", text = "", ...counts] = await this.#call(
      TAKE,
      [events, state, LANES_KEY, lease],
      [change, leaseMs, STATE_KEPT_MS],
    );
    this.#learn(now);
    if (outcome === "held" || outcome === "empty") return { kind: outcome };
    const record = readEventRecord(text);
    if (record === undefined) return { kind: "unreadable", text, fence };
    const [starts = 1, kills = 0, failures = 0] = counts.map(Number);
    return { kind: "taken", ...record, change, text, fence, starts, kills, failures, ageMs: Number(now) - record.at };
  }

  async renew(change: string, fence: string, leaseMs: number): Promise<Renewed> {
    const { state, lease } = laneKeys(change);
    const [outcome, stop = ""] = await this.#call(RENEW, [state, lease], [fence, leaseMs]);
    return outcome === "kept" ? { kind: "kept", stop } : { kind: "lost" };
  }

  /**
   * Safe to repeat; "lost" may then mean that the first call was executed.
   * @param delayMs The next run should not start before.
   */
  async end(taken: Taken, how: Ending, delayMs = 0): Promise<Ended> {
    const { change, event, fence, text } = taken;
    const keys = [journalKey(event.delivery), ...idsOf(event).map(idKey)];
    const ending = how === "dropped" ? "failed" : how;
    const state = ending === "again" || ending === "retry" ? "accepted" : ending === "done" ? "done" : "failed";
    const value = how === "dropped" || how === "untold" ? UNFINDABLE : idValue(state);
    return this.#end(change, keys, [fence, ending, text, value], delayMs);
  }

  /** Releases the lease and leaves the event, which did not run, where it is. */
  async leave(change: string, fence: string): Promise<void> {
    await this.#end(change, [journalKey("")], [fence, "left", "", ""]);
  }

  /** Tells all replicas that these change requests have events that may start; those announced already keep their place. */
  async announce(changes: readonly string[]): Promise<void> {
    if (changes.length === 0) return;
    await this.connection.run((redis) => ANNOUNCE.run(redis, [READY_KEY], [BELL_CHANNEL, ...changes]));
  }

  /** Takes the change requests that were announced first, at most so many: nobody else gets them. */
  async next(most: number): Promise<readonly string[]> {
    const popped = await this.connection.run((redis) => redis.zpopmin(READY_KEY, most));
    return popped.filter((_value, index) => index % 2 === 0);
  }

  /** Announces those again that have waited longer than this (ms) with a free lease: a replica may have ended before it did. */
  async announceLost(waitingForMs: number): Promise<void> {
    const before = (await this.#now()) - waitingForMs;
    const lost = await this.connection.run(async (redis) => {
      const changes = await redis.zrangebyscore(LANES_KEY, "-inf", before, "LIMIT", 0, MAX_LANES);
      const held = await Promise.all(changes.map((change) => redis.exists(laneKeys(change).lease)));
      return changes.filter((_change, index) => held[index] === 0);
    });
    await this.announce(lost);
  }

  async backlog(): Promise<QueueBacklog> {
    const now = await this.#now();
    const lanes = await this.connection.run(async (redis) => {
      const changes = await redis.zrangebyscore(LANES_KEY, "-inf", "+inf", "LIMIT", 0, MAX_LANES);
      return Promise.all(
        changes.map(async (change) => {
          const { events, state } = laneKeys(change);
          const [length, running] = await Promise.all([redis.llen(events), redis.hexists(state, "running")]);
          return { length, running, next: await redis.lindex(events, running) };
        }),
      );
    });
    const ages = lanes.map(({ next }) => now - (readEventRecord(next ?? "")?.at ?? now));
    return {
      waiting: lanes.reduce((sum, { length, running }) => sum + length - running, 0),
      running: lanes.reduce((sum, { running }) => sum + running, 0),
      oldestMs: Math.max(0, ...ages),
    };
  }

  async count(): Promise<number> {
    return this.connection.run((redis) => redis.zcard(LANES_KEY));
  }

  async #end(change: string, keys: readonly string[], args: readonly string[], delayMs = 0): Promise<Ended> {
    const { events, state, lease } = laneKeys(change);
    const [outcome] = await this.#call(
      END,
      [events, state, LANES_KEY, lease, UNTOLD_KEY, ...keys],
      [change, ...args, STATE_KEPT_MS, delayMs, IDS_KEPT_MS - UNTOLD_KEPT_MS],
    );
    return outcome === "more" || outcome === "empty" ? outcome : "lost";
  }

  async #call(
    script: RedisScript,
    keys: readonly string[],
    args: readonly (string | number)[],
  ): Promise<readonly string[]> {
    return answer.parse(await this.connection.run((redis) => script.run(redis, keys, args)));
  }

  /** Redis's time in milliseconds since 1970: the clocks of replicas may differ, and a test's stands still. */
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

/** The list of a lane's events. */
export function eventsKey(change: string): string {
  return `${KEYS.queue}:events:${change}`;
}

/** The keys of a lane: its events in order, its state, and the lease of the running event. */
function laneKeys(change: string) {
  return {
    events: eventsKey(change),
    state: `${KEYS.queue}:state:${change}`,
    lease: `${KEYS.queue}:lease:${change}`,
  } as const;
}

function idKey(id: string): string {
  return `${KEYS.queue}:delivery:${id}`;
}

function idValue(state: "accepted" | "done" | "failed"): string {
  return JSON.stringify({ v: 1, state });
}

/** The state of an event that failed: it is accepted if it is delivered again, and no search looks for it. */
const UNFINDABLE = JSON.stringify({ v: 1, state: "failed", dropped: true });

function confirmedKey(delivery: string): string {
  return `${KEYS.queue}:confirmed:${delivery}`;
}

const change = z.object({ host: z.enum(HOST_IDS), repository: z.custom<RepositoryName>(isText), number: z.int() });
/** An event of another kind is left to the version that knows it. */
const hostEvent = vouched<HostEvent>(z.object({ kind: z.enum(EVENT_KINDS), delivery: z.string(), change }));

function isText(value: unknown): value is string {
  return typeof value === "string";
}

const record = z.object({ v: z.literal(1), again: z.boolean(), at: z.number(), event: hostEvent });

/** Returns undefined for a damaged record and for one of another version. */
export function readEventRecord(text: string): EventRecord | undefined {
  return record.safeParse(parseJson(text)).data;
}

export function journalKey(delivery: string): string {
  return `${KEYS.queue}:journal:${delivery}`;
}
