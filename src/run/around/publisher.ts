import { randomUUID } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { ApplicationName } from "../../core/model/brand.js";
import {
  type ChangeNote,
  changeRequestKey,
  type ChangeRequestRef,
  changeRequestRef,
  identityKey,
  sameChangeRequest,
} from "../../core/model/change-request.js";
import { StoreUnavailable, only } from "../../core/model/errors.js";
import type { HostEvent } from "../../core/model/event.js";
import type { Clock } from "../../core/ports/clock.js";
import type { EventQueue } from "../../core/ports/event-queue.js";
import type { Log } from "../../core/ports/log.js";
import type { Mark, MarkStore, Surface } from "../../core/ports/stores.js";

/** More marks may follow: they are worked off together. */
const WAIT_MS = 1_000;
/** A mark whose replica was killed before it was in the queue is taken again after this time. */
const LEASE_MS = 60_000;
/** The pause after a failure. It doubles while attempts fail in a row, since the reason may last. */
const RETRY_MS = 60_000;
const LONGEST_RETRY_MS = 10 * 60_000;
/** For how many change requests the last failure is remembered. */
const MAX_FAILING = 10_000;
/** Change requests per second and replica, and as many at once: the rest is for what people ask for, and the host has a limit. */
const MOST = 5;
/** How long a patient mark waits if its change request has other events. */
const BUSY_MS = 10_000;
/** How often to look for the marks of other replicas. */
const LOOK_EVERY_MS = 5_000;

interface PublisherParts {
  readonly marks: MarkStore;
  readonly queue: Pick<EventQueue, "push" | "isBusy">;
  readonly clock: Clock;
  readonly log: Log;
}

interface UnderWay {
  readonly change: ChangeRequestRef;
  readonly until: Date;
  /** Its change request has other events. Behind a sync it may wait for an hour, so it takes no room from others. */
  readonly isBehind: boolean;
}

/** Keeps what change requests show true: whoever changes a fact marks them, and a mark becomes an event of their lane. */
export class Publisher {
  readonly #kept = new Map<string, () => Promise<void>>();
  /** Marks that this replica made events of, which wait or run, and how long they count. */
  readonly #underWay = new Map<string, UnderWay>();
  /** When each change request failed last, and the pause that followed, in milliseconds. */
  readonly #failing = new LRUCache<string, { readonly at: number; readonly pause: number }>({
    maxSize: MAX_FAILING,
    sizeCalculation: () => 1,
  });
  readonly #closing = new AbortController();
  #next: Promise<void> | undefined;
  #looking = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly parts: PublisherParts) {}

  /** Looks for marks of other replicas, and for those that a killed one has left. */
  start(): void {
    this.#timer = setInterval(() => void this.look(), LOOK_EVERY_MS);
    this.#timer.unref();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#closing.abort();
  }

  /** Resolves once no mark of this replica waits. */
  async idle(): Promise<void> {
    while (this.#next !== undefined) await this.#next;
  }

  get isIdle(): boolean {
    return this.#next === undefined;
  }

  /** Marks a change request, now or for a time at which what it shows changes; `patient` because of what others did. Never throws. */
  async mark(change: ChangeRequestRef, { at, patient = false }: { at?: Date; patient?: boolean } = {}): Promise<void> {
    const afterMs = at && Math.max(WAIT_MS, at.getTime() - this.parts.clock.now().getTime());
    const key = `change ${identityKey(change)} ${at?.getTime()} ${patient}`;
    await this.#do(key, () => this.#set([change], { afterMs, patient }));
  }

  /** Marks whoever shows the state of one of these applications. Never throws. */
  async touchedAll(isTouched: (application: ApplicationName) => boolean): Promise<void> {
    await this.#do(`applications ${randomUUID()}`, async () => {
      for (const application of (await this.parts.marks.applications()).filter(isTouched)) {
        await this.#set(await this.parts.marks.concernedBy(application), { patient: true });
      }
    });
  }

  /** Marks whoever shows the state of an application, but for the change request whose own run goes on. Never throws. */
  async touched(application: ApplicationName, by?: ChangeRequestRef, whose?: ChangeRequestRef): Promise<void> {
    const key = [application, ...[by, whose].map((one) => one && identityKey(one))].join(" ");
    await this.#do(`application ${key}`, async () => {
      const isOther = (one: ChangeRequestRef) => by === undefined || !sameChangeRequest(one, by);
      const concerned = await this.parts.marks.concernedBy(application);
      await this.#set(concerned.filter(isOther), { patient: true });
      if (whose !== undefined && isOther(whose)) await this.#set([whose]);
    });
  }

  /** Notes whose state a change request shows. Never throws. */
  async concern(change: ChangeRequestRef, applications: readonly ApplicationName[]): Promise<void> {
    await this.#do(`plan ${identityKey(change)}`, () => this.parts.marks.concern(change, applications));
  }

  /** The change request is closed. Never throws. */
  async forget(change: ChangeRequestRef): Promise<void> {
    await this.#do(`plan ${identityKey(change)}`, () => this.parts.marks.forget(change));
  }

  /** The digest of what a surface shows; undefined if that is not known. */
  async written(change: ChangeRequestRef, surface: Surface): Promise<string | undefined> {
    return await this.parts.marks.written(change, surface).catch(only(StoreUnavailable, () => undefined));
  }

  /** Notes what a surface shows, or that it is not known any more: before it is written. Never throws. */
  async wrote(change: ChangeRequestRef, surface: Surface, digest: string | undefined): Promise<void> {
    await this.#do(`${surface} ${identityKey(change)}`, () => this.parts.marks.wrote(change, surface, digest));
  }

  /** Notes what the host says of a change request, for the pages. Never throws. */
  async describe(change: ChangeRequestRef & ChangeNote): Promise<void> {
    await this.#do(`note ${identityKey(change)}`, () => this.parts.marks.describe(change, change));
  }

  /** Removes a mark whose run begins: its lease would cut the pause after a failure short, and the queue has the event. Never throws. */
  async begin(mark: Mark): Promise<void> {
    await this.#do(`done ${identityKey(mark.change)}`, () => this.parts.marks.remove(mark));
  }

  /** Makes room for the next mark. */
  done({ change }: Pick<Mark, "change">): void {
    const wereMost = this.#count(false) >= MOST;
    if (this.#underWay.delete(identityKey(change)) && wereMost) this.#passSoon();
  }

  /** Leaves a patient mark until then. Never throws. */
  async postpone(mark: Mark, until: Date): Promise<void> {
    await this.#do(`postponed ${identityKey(mark.change)}`, () => this.parts.marks.postpone(mark, until));
    this.done(mark);
  }

  /** It could not be brought up to date. Never throws. */
  async retry(change: ChangeRequestRef, patient = false): Promise<void> {
    const afterMs = this.#pauseAfterFailure(identityKey(change));
    await this.#do(`retry ${identityKey(change)} ${patient}`, () => this.#set([change], { afterMs, patient }));
  }

  #pauseAfterFailure(key: string): number {
    const now = this.parts.clock.now().getTime();
    const { at, pause } = this.#failing.get(key) ?? { at: -Infinity, pause: RETRY_MS };
    // Several things may fail in one attempt.
    if (now - at < pause / 2) return pause;
    const next = now - at < 2 * pause ? Math.min(2 * pause, LONGEST_RETRY_MS) : RETRY_MS;
    this.#failing.set(key, { at: now, pause: next });
    return next;
  }

  /** Pushes an event once the store is available again. Its run asks whether it still holds, such as a recent approval. */
  later(event: HostEvent): void {
    this.#kept.set(`event ${event.delivery}`, async () => void (await this.parts.queue.push(event)));
  }

  async #set(
    changes: readonly ChangeRequestRef[],
    { afterMs = WAIT_MS, patient }: { readonly afterMs?: number | undefined; readonly patient?: boolean } = {},
  ): Promise<void> {
    if (changes.length === 0) return;
    await this.parts.marks.set(changes, new Date(this.parts.clock.now().getTime() + afterMs), patient);
    if (afterMs === WAIT_MS) this.#passSoon();
  }

  /** What the store cannot do now is done again at the next look. @param key Work replaces what waits under the same one. */
  async #do(key: string, work: () => Promise<void>): Promise<void> {
    this.#kept.delete(key);
    try {
      await work();
    } catch (error) {
      if (error instanceof StoreUnavailable) this.#kept.set(key, work);
      else this.parts.log.warn({ mark: key, err: error }, "could not store a mark");
    }
  }

  #passSoon(): void {
    const { clock } = this.parts;
    this.#next ??= clock
      .sleep(WAIT_MS, this.#closing.signal)
      .then(() => {
        this.#next = undefined;
        return this.look();
      })
      .catch(() => {
        this.#next = undefined;
      });
  }

  /** Makes events of the marks that are due. Waits for earlier calls. Logs a failure: the next call tries again. */
  look(): Promise<void> {
    this.#looking = this.#looking.then(() => this.#look());
    return this.#looking;
  }

  async #look(): Promise<void> {
    const { marks, clock, log } = this.parts;
    try {
      const now = clock.now();
      await this.#dropEnded(now);
      const room = MOST - this.#count(false);
      const until = new Date(now.getTime() + LEASE_MS);
      const taken = room > 0 ? await marks.take(now, until, room) : [];
      for (const [key, work] of [...this.#kept]) await this.#do(key, work);
      for (const mark of taken) await this.#push(mark, until);
      if (room > 0 && taken.length === room) this.#passSoon();
    } catch (error) {
      log.debug({ err: error }, "could not bring change requests up to date; it is tried again");
    }
  }

  #count(isBehind: boolean): number {
    return [...this.#underWay.values()].filter((one) => one.isBehind === isBehind).length;
  }

  /** Another replica may have ended some. */
  async #dropEnded(now: Date): Promise<void> {
    const ended = [...this.#underWay].map(async ([key, { change, until }]) => {
      if (until <= now || !(await this.parts.queue.isBusy(change))) this.#underWay.delete(key);
    });
    await Promise.all(ended);
  }

  async #push(mark: Mark, until: Date): Promise<void> {
    const { marks, queue, log } = this.parts;
    const { change, turn, patient } = mark;
    const delivery = `marked-${identityKey(change)}-${turn}`;
    const isBehind = await queue.isBusy(change);
    if (isBehind && patient && this.#count(true) >= MOST) {
      await marks.postpone(mark, new Date(this.parts.clock.now().getTime() + BUSY_MS));
      return;
    }
    this.#underWay.set(identityKey(change), { change, until, isBehind });
    const isNew = await queue.push({ kind: "marked", delivery, change: changeRequestRef(change), turn, patient });
    if (isNew || (await queue.isBusy(change))) return;
    // Its event ended without it each time that it was run.
    log.warn({ change: changeRequestKey(change) }, "gave up bringing a change request up to date");
    this.#underWay.delete(identityKey(change));
    await marks.remove(mark);
  }
}
