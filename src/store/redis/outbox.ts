import * as z from "zod";
import { parseJson } from "../../core/model/json.js";
import {
  afterAttempt,
  brokenAfter,
  type Delivery,
  type Outbox,
  type OutboxOptions,
  type OutgoingMessage,
  type ReceiverState,
} from "../../core/ports/notifications.js";
import { type RedisClient, RedisScript, type StoreConnection, withoutArguments } from "../../http/redis.js";
import { KEYS } from "../../names.js";

const ADD = new RedisScript(new URL("add-message.lua", import.meta.url));
const TAKE_DUE = new RedisScript(new URL("take-due.lua", import.meta.url));

/** How long `add` waits for Redis, in milliseconds; its connection keeps the messages and waits for as long as it takes. */
const ADD_WITHIN_MS = 500;
const CLOSE_WITHIN_MS = 1_000;
/** Messages that are kept while Redis refuses them; later ones are lost. */
const MAX_REFUSED = 1_000;
const IDS_KEPT_MS = 7 * 24 * 60 * 60 * 1000;
/** A hash: why the newest attempt failed, by receiver. */
const BROKEN_KEY = `${KEYS.outbox}:broken`;
/** An attempt takes at most half of the lease, so that no other replica delivers the same message meanwhile. */
const OUTBOX_TIMING = { leaseMs: 30_000, lookEveryMs: 5_000 };

interface DurableOutboxOptions extends OutboxOptions {
  readonly connection: StoreConnection;
  /** How long a replica that stays silent keeps a message, and how often each looks for messages that are due; milliseconds. */
  readonly timing?: { readonly leaseMs: number; readonly lookEveryMs: number };
}

type StoredMessage = z.infer<typeof storedMessage>;

/** An outbox in Redis, shared by all replicas: a message outlives each of them, and each of them delivers what is due. */
export function createDurableOutbox(options: DurableOutboxOptions): Outbox {
  return new DurableOutbox(options);
}

class DurableOutbox implements Outbox {
  readonly #options: DurableOutboxOptions;
  readonly #timing: { readonly leaseMs: number; readonly lookEveryMs: number };
  readonly #redis: RedisClient;
  readonly #lines: ReadonlyMap<string, Line>;
  readonly #timer: NodeJS.Timeout;
  readonly #stopping = new AbortController();
  /** Messages that Redis did not take and that are offered again. */
  readonly #refused = new Set<OutgoingMessage>();
  #isClosing = false;
  #late = false;

  constructor(options: DurableOutboxOptions) {
    const { connection, receivers, timing = OUTBOX_TIMING, log } = options;
    this.#options = options;
    this.#timing = timing;
    this.#redis = connection.patient();
    // The store's own connection reports outages.
    this.#redis.on("error", (error: unknown) =>
      log.debug({ err: withoutArguments(error) }, "the outbox's connection failed"),
    );
    this.#lines = new Map(receivers.map((receiver) => [receiver, new Line()]));
    this.#timer = setInterval(() => this.#look(), timing.lookEveryMs);
    this.#timer.unref();
    this.#deliverAll();
  }

  async add(messages: readonly OutgoingMessage[]): Promise<void> {
    const { log } = this.#options;
    const adding = Promise.all(messages.map((message) => this.#addOrKeep(message))).then(() => {
      this.#late = false;
    });
    if ((await within(ADD_WITHIN_MS, adding)) !== "late" || this.#late) return;
    this.#late = true;
    log.warn({}, "notifications stay in this process until the store answers");
  }

  async states(): Promise<readonly ReceiverState[]> {
    return this.#options.connection.run(async (redis) => {
      const broken = await redis.hgetall(BROKEN_KEY);
      return Promise.all(
        [...this.#lines.keys()].map(async (receiver) => {
          const waiting = await redis.zcard(keysOf(receiver).due);
          return { receiver, waiting, broken: readBroken(broken[receiver]) };
        }),
      );
    });
  }

  async close(graceMs: number): Promise<void> {
    const { clock } = this.#options;
    this.#isClosing = true;
    clearInterval(this.#timer);
    const ended = Promise.all([...this.#lines.values()].map(async ({ delivering }) => delivering));
    const timer = new AbortController();
    await Promise.race([ended, clock.sleep(graceMs, timer.signal).catch(() => undefined)]);
    timer.abort();
    this.#stopping.abort(new Error("the outbox is closed"));
    const last = [...this.#refused].map((message) => this.#addOrKeep(message, true));
    await within(CLOSE_WITHIN_MS, Promise.all([ended, ...last]));
    this.#redis.disconnect();
  }

  /** If the server refuses the connection or is no longer the primary, every message that waits fails. The next look tries again. */
  async #addOrKeep(message: OutgoingMessage, again = false): Promise<void> {
    try {
      await this.#add(message);
    } catch (error) {
      if (this.#refused.size < MAX_REFUSED) this.#refused.add(message);
      if (!again) this.#options.log.warn({ err: withoutArguments(error) }, "could not queue a notification");
    }
  }

  async #add({ receiver, id, body }: OutgoingMessage): Promise<void> {
    const line = this.#lines.get(receiver);
    if (line === undefined) return;
    const { due, messages } = keysOf(receiver);
    const record: StoredMessage = { v: 1, id, body, attempts: 0 };
    const args = [id, JSON.stringify(record), IDS_KEPT_MS];
    await ADD.run(this.#redis, [`${KEYS.outbox}:${receiver}:id:${id}`, due, messages], args);
    this.#deliver(receiver, line);
  }

  #look(): void {
    const refused = [...this.#refused];
    this.#refused.clear();
    for (const message of refused) void this.#addOrKeep(message, true);
    this.#deliverAll();
  }

  #deliverAll(): void {
    for (const [receiver, line] of this.#lines) this.#deliver(receiver, line);
  }

  /** Delivers what is due for a receiver, one message after another; a call meanwhile makes it look once more. */
  #deliver(receiver: string, line: Line): void {
    line.isRung = true;
    line.delivering ??= this.#deliverDue(receiver, line).finally(() => {
      line.delivering = undefined;
    });
  }

  /** Never rejects: the next look tries again. */
  async #deliverDue(receiver: string, line: Line): Promise<void> {
    try {
      while (line.isRung && !this.#isClosing) {
        line.isRung = false;
        const text = await this.#take(receiver);
        if (text === undefined) continue;
        line.isRung = true;
        // What another version wrote is left to it.
        const message = storedMessage.safeParse(parseJson(text)).data;
        if (message !== undefined) await this.#attempt(receiver, message);
      }
    } catch (error) {
      const err = withoutArguments(error);
      this.#options.log.debug({ err, notification: receiver }, "could not look for notifications");
    }
  }

  /** The record of the message that is due first, for as long as the lease lasts. */
  async #take(receiver: string): Promise<string | undefined> {
    const { due, messages } = keysOf(receiver);
    const args = [this.#timing.leaseMs];
    const taken = await this.#options.connection.run((redis) => TAKE_DUE.run(redis, [due, messages], args));
    return z.array(z.string()).parse(taken)[0];
  }

  async #attempt(receiver: string, message: StoredMessage): Promise<void> {
    const { deliver, onAttempt, retryAfterMs } = this.#options;
    const { id, body } = message;
    const delivery = await deliver({ receiver, id, body }, this.#stopping.signal);
    // Handed back: another replica may take it at once.
    if (this.#stopping.signal.aborted && delivery.kind === "failed") return this.#keep(receiver, message, 0);
    await this.#note(receiver, delivery);
    const attempts = message.attempts + 1;
    // On the connection that waits for Redis: what is not recorded would be sent again.
    const { pause, outcome } = afterAttempt(attempts, delivery, retryAfterMs);
    if (pause === undefined) await this.#remove(receiver, id);
    else await this.#keep(receiver, { ...message, attempts }, pause);
    onAttempt(receiver, outcome, delivery);
  }

  async #keep(receiver: string, message: StoredMessage, pauseMs: number): Promise<void> {
    const { due, messages } = keysOf(receiver);
    const [seconds, micros] = await this.#redis.time();
    const from = Number(seconds) * 1000 + Math.floor(Number(micros) / 1000) + pauseMs;
    await this.#redis.multi().hset(messages, message.id, JSON.stringify(message)).zadd(due, from, message.id).exec();
  }

  async #remove(receiver: string, id: string): Promise<void> {
    const { due, messages } = keysOf(receiver);
    await this.#redis.multi().zrem(due, id).hdel(messages, id).exec();
  }

  /** Records the state of a receiver, for the status page only. */
  async #note(receiver: string, delivery: Delivery): Promise<void> {
    const { connection, clock, log } = this.#options;
    try {
      await connection.run(async (redis) => {
        const before = readBroken((await redis.hget(BROKEN_KEY, receiver)) ?? undefined);
        const broken = brokenAfter(delivery, before, clock.now());
        if (broken !== undefined) await redis.hset(BROKEN_KEY, receiver, JSON.stringify({ v: 1, ...broken }));
        else if (before !== undefined) await redis.hdel(BROKEN_KEY, receiver);
      });
    } catch (error) {
      log.debug({ err: error, notification: receiver }, "could not note the state of a receiver");
    }
  }
}

/** The messages of one receiver, which gets one at a time from each replica. */
class Line {
  isRung = false;
  delivering: Promise<void> | undefined;
}

/** A sorted set of the ids of messages, scored by when each may be taken, and a hash of their records. */
function keysOf(receiver: string) {
  const prefix = `${KEYS.outbox}:${receiver}`;
  return { due: `${prefix}:due`, messages: `${prefix}:messages` } as const;
}

const storedMessage = z.object({ v: z.literal(1), id: z.string(), body: z.string(), attempts: z.int() });
const storedBroken = z
  .object({ v: z.literal(1), problem: z.string(), since: z.iso.datetime() })
  .transform(({ problem, since }) => ({ problem, since }));

function readBroken(text: string | undefined): ReceiverState["broken"] {
  return text === undefined ? undefined : storedBroken.safeParse(parseJson(text)).data;
}

/** What the promise resolves to, or "late" after `ms`. The work behind it goes on: a patient connection may wait for Redis forever. */
async function within<T>(ms: number, work: Promise<T>): Promise<T | "late"> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<"late">((resolve) => {
    timer = setTimeout(() => resolve("late"), ms);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}
