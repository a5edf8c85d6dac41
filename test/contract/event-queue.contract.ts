import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { applicationName, repositoryName, revision } from "../../src/core/model/brand.js";
import { changeRequestKey } from "../../src/core/model/change-request.js";
import type { HostEvent } from "../../src/core/model/event.js";
import { type EventQueue, type RunEnd, type RunTicket, Stopped } from "../../src/core/ports/event-queue.js";
import type { QueueOptions } from "../../src/queue/in-process.js";
import type { ManualClock } from "../manual-clock.js";
import type { LogLine } from "../recording-log.js";

export interface QueueUnderTest {
  readonly queue: EventQueue;
  readonly clock: ManualClock;
  readonly lines: readonly LogLine[];
}

/** Failed runs are not retried automatically. */
export type StartQueue = (concurrency: number, run: QueueOptions["run"]) => QueueUnderTest;

let deliveries = 0;
const user = { id: "1", login: "ana", bot: false };

function origin(number: number) {
  deliveries += 1;
  const change = { host: "hosta", repository: repositoryName("acme/deploy"), number } as const;
  return { delivery: `hosta-${deliveries}`, change };
}
export const updated = (number: number, reason: "opened" | "pushed" | "retargeted" = "pushed"): HostEvent => ({
  ...origin(number),
  kind: "updated",
  reason,
});
export const closed = (number: number): HostEvent => ({ ...origin(number), kind: "closed" });
export const commented = (number: number, body = "svc plan"): HostEvent => {
  const from = origin(number);
  return { ...from, kind: "commented", commentId: from.delivery, body, author: user };
};
const reviewed = (number: number): HostEvent => ({ ...origin(number), kind: "reviewed" });

/** Runs that end when the test says so. */
export class Runs {
  readonly started: HostEvent[] = [];
  readonly tickets: RunTicket[] = [];
  readonly #ends: ((end: RunEnd) => void)[] = [];
  #watchers: (() => void)[] = [];

  get signals(): readonly AbortSignal[] {
    return this.tickets.map(({ signal }) => signal);
  }

  readonly run = (event: HostEvent, ticket: RunTicket): Promise<RunEnd> => {
    this.started.push(event);
    this.tickets.push(ticket);
    for (const tell of this.#watchers.splice(0)) tell();
    return new Promise((resolve) => this.#ends.push(resolve));
  };

  /** Resolves when this many runs have started. */
  async haveStarted(count: number): Promise<void> {
    while (this.started.length < count) await new Promise<void>((resolve) => this.#watchers.push(resolve));
  }

  /** Ends the run at this position once it has started, and lets its immediate effects happen. */
  async end(position: number, how: RunEnd = "done"): Promise<void> {
    await this.haveStarted(position + 1);
    this.#ends[position]?.(how);
    await settled();
  }

  /** Ends every run, including those that start meanwhile, until nothing waits. */
  async endAll(queue: EventQueue): Promise<void> {
    const state = { idle: false };
    const done = queue.idle().then(() => (state.idle = true));
    let position = 0;
    while (!state.idle) {
      if (position < this.started.length) this.#ends[position++]?.("done");
      else await Promise.race([done, new Promise<void>((resolve) => this.#watchers.push(resolve))]);
    }
  }
}

export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

export function aborted(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal === undefined) reject(new Error("no run has started"));
    else if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** What every `EventQueue` must do. */
export function eventQueueContract(name: string, start: StartQueue, numRuns: number): void {
  describe(`event queue: ${name}`, () => {
    test("an event and its comment are known once accepted", async () => {
      const runs = new Runs();
      const { queue } = start(10, runs.run);
      const [event, other] = [commented(1), commented(1)];
      expect(await queue.knows(event)).toBe(false);
      await queue.push(event);
      expect(await queue.knows(event)).toBe(true);
      expect(await queue.knows({ ...event, delivery: "found" })).toBe(true);
      expect(await queue.knows(other)).toBe(false);
      await runs.endAll(queue);
      expect(await queue.knows(event)).toBe(true);
    });

    test.each([
      ["an update", updated(1)],
      ["a command that has done nothing", commented(1)],
    ])("%s that failed is not known any more: whoever finds it again gives it once more", async (_what, event) => {
      const runs = new Runs();
      const { queue } = start(10, runs.run);
      await queue.push(event);
      await runs.end(0, "failed");
      await queue.idle();
      expect(await queue.knows(event)).toBe(false);
      expect(await queue.push(event)).toBe(true);
      expect(await queue.knows(event)).toBe(true);
      await runs.end(1);
      await queue.idle();
      expect(runs.tickets[1]?.again).toBe(true);
      expect(await queue.knows(event)).toBe(true);
    });

    test("every kind of event comes out as it went in", async () => {
      const runs = new Runs();
      const { queue } = start(20, runs.run);
      const web = applicationName("web");
      const at = (digit: string) => revision(digit.repeat(40));
      const events: { readonly [K in HostEvent["kind"]]: Extract<HostEvent, { readonly kind: K }> } = {
        updated: { ...origin(11), kind: "updated", reason: "ready" },
        "plan-wanted": { ...origin(12), kind: "plan-wanted" },
        closed: { ...origin(13), kind: "closed" },
        commented: { ...origin(14), kind: "commented", commentId: "14", body: "svc help", author: user },
        reviewed: { ...origin(15), kind: "reviewed" },
        turn: { ...origin(17), kind: "turn", applications: [web], after: origin(18).change },
        "lock-lost": { ...origin(19), kind: "lock-lost", applications: [web], by: "olga", waits: [web] },
        marked: { ...origin(21), kind: "marked", turn: 3 },
        rollout: { ...origin(23), kind: "rollout", moved: [{ application: web, line: "Synced Healthy" }] },
        "stage-due": {
          ...origin(24),
          kind: "stage-due",
          next: {
            id: "run",
            by: user,
            applications: [web],
            prune: true,
            stage: "prod",
            due: "2026-03-01T14:05:00.000Z",
          },
        },
        "merge-group": {
          ...origin(22),
          kind: "merge-group",
          headRevision: at("a"),
          baseRevision: at("b"),
          baseBranch: "main",
        },
        approved: {
          ...origin(25),
          kind: "approved",
          headRevision: at("a"),
          plannedAt: "2026-01-01T00:00:00.000Z",
          by: user,
        },
      };
      for (const event of Object.values(events)) await queue.push(event);
      await runs.haveStarted(Object.keys(events).length);
      expect(runs.started).toEqual(expect.arrayContaining(Object.values(events)));
      await runs.endAll(queue);
    });

    test("a change request is busy while an event of it waits or runs", async () => {
      const runs = new Runs();
      const { queue } = start(10, runs.run);
      const [one, two] = [commented(1), commented(2)];
      expect(await queue.isBusy(one.change)).toBe(false);
      await queue.push(one);
      await runs.haveStarted(1);
      expect(await queue.isBusy(one.change)).toBe(true);
      expect(await queue.isBusy(two.change)).toBe(false);
      await runs.endAll(queue);
      expect(await queue.isBusy(one.change)).toBe(false);
    });

    test("events of one change request run one after the other, in order", async () => {
      const runs = new Runs();
      const { queue } = start(10, runs.run);
      const events = [commented(1), reviewed(1), commented(1)];
      for (const event of events) expect(await queue.push(event)).toBe(true);
      await runs.haveStarted(1);
      expect(runs.started).toEqual(events.slice(0, 1));
      await runs.end(0);
      await runs.haveStarted(2);
      expect(runs.started).toEqual(events.slice(0, 2));
      await runs.endAll(queue);
      expect(runs.started).toEqual(events);
    });

    test("a change request has one lane under all names of its repository, and another one that gets a name has its own", async () => {
      const runs = new Runs();
      const { queue } = start(10, runs.run);
      const under = (name: string, repositoryId: string, event = commented(1)): HostEvent => ({
        ...event,
        change: { ...event.change, repository: repositoryName(name), repositoryId },
      });
      const [before, after] = [under("acme/old", "1", updated(1)), under("acme/new", "1", updated(1))];
      await queue.push(before);
      await runs.haveStarted(1);
      await queue.push(after);
      expect(runs.signals.map(({ aborted: isAborted }) => isAborted)).toEqual([true]);
      expect(await queue.isBusy(after.change)).toBe(true);
      const late = under("acme/old", "1");
      await queue.push(late);
      await runs.end(0, "stopped");
      await runs.haveStarted(2);
      expect(runs.started).toEqual([before, after]);
      const other = under("acme/old", "2", updated(1));
      await queue.push(other);
      await runs.haveStarted(3);
      expect(runs.signals[1]?.aborted).toBe(false);
      await runs.end(1);
      await runs.haveStarted(4);
      expect(runs.started).toEqual([before, after, other, late]);
      await runs.endAll(queue);
      expect(await queue.isBusy(before.change)).toBe(false);
    });

    test("change requests run side by side, as many as allowed", async () => {
      const runs = new Runs();
      const { queue } = start(2, runs.run);
      for (const number of [1, 2, 3]) await queue.push(commented(number));
      await runs.haveStarted(2);
      expect(runs.started.map((event) => event.change.number)).toEqual([1, 2]);
      await runs.end(1);
      await runs.haveStarted(3);
      expect(runs.started.map((event) => event.change.number)).toEqual([1, 2, 3]);
      await runs.endAll(queue);
    });

    test("a run that steps aside lets another one start, keeps its change request, and gives its place away once", async () => {
      const runs = new Runs();
      const { queue } = start(1, runs.run);
      const events = [commented(1), commented(2), commented(1), commented(3)];
      for (const event of events) await queue.push(event);
      await runs.haveStarted(1);
      runs.tickets[0]?.stepAside();
      runs.tickets[0]?.stepAside();
      await runs.haveStarted(2);
      expect(runs.started.map((event) => event.change.number)).toEqual([1, 2]);
      expect(await queue.backlog()).toMatchObject({ running: 2, waiting: 2 });
      await runs.end(1);
      await runs.haveStarted(3);
      expect(runs.started.map((event) => event.change.number)).toEqual([1, 2, 3]);
      await runs.end(2);
      await runs.end(0);
      await runs.haveStarted(4);
      expect(runs.started).toEqual([events[0], events[1], events[3], events[2]]);
      await runs.endAll(queue);
    });

    test("a busy change request does not keep others waiting", async () => {
      const runs = new Runs();
      const { queue } = start(1, runs.run);
      for (const number of [1, 1, 1, 2]) await queue.push(commented(number));
      await runs.endAll(queue);
      expect(runs.started.map((event) => event.change.number).indexOf(2)).toBeLessThan(2);
    });

    test("the same delivery runs once", async () => {
      const runs = new Runs();
      const { queue } = start(1, runs.run);
      const event = commented(1);
      expect(await queue.push(event)).toBe(true);
      expect(await queue.push(event)).toBe(false);
      await runs.endAll(queue);
      expect(await queue.push(event)).toBe(false);
      expect(runs.started).toEqual([event]);
    });

    test("the same comment runs once, whichever delivery brings it", async () => {
      const ran: string[] = [];
      const { queue } = start(2, async (event) => {
        ran.push(event.delivery);
        return "done";
      });
      const first = commented(1);
      expect(await queue.push(first)).toBe(true);
      expect(await queue.push({ ...first, delivery: "hosta-again" })).toBe(false);
      expect(await queue.push({ ...first, ...updated(2), delivery: "hosta-other" })).toBe(true);
      await queue.idle();
      // The two are of different change requests, and may run in any order.
      expect(ran.toSorted()).toEqual([first.delivery, "hosta-other"].toSorted());
    });

    test("only the newest of several waiting updates runs, after the comments before it", async () => {
      const runs = new Runs();
      const { queue } = start(1, runs.run);
      const [running, opened, comment, retargeted, newest] = [
        commented(1),
        updated(1, "opened"),
        commented(1, '"kind":"updated"'),
        updated(1, "retargeted"),
        updated(1),
      ];
      await queue.push(running);
      await runs.haveStarted(1);
      for (const event of [opened, comment, retargeted, newest]) await queue.push(event);
      await runs.endAll(queue);
      expect(runs.started).toEqual([running, comment, newest]);
    });

    test("an update leaves those of other change requests alone", async () => {
      const runs = new Runs();
      const { queue } = start(1, runs.run);
      const events = [commented(1), updated(2), updated(3)];
      for (const event of events) await queue.push(event);
      await runs.endAll(queue);
      expect(runs.started).toEqual(events);
    });

    test("a close drops the updates that wait before it, and no comment", async () => {
      const runs = new Runs();
      const { queue } = start(1, runs.run);
      const [running, update, comment, close, reopened] = [
        commented(1),
        updated(1),
        commented(1),
        closed(1),
        updated(1),
      ];
      await queue.push(running);
      await runs.haveStarted(1);
      for (const event of [update, comment, close, reopened]) await queue.push(event);
      await runs.endAll(queue);
      expect(runs.started).toEqual([running, comment, close, reopened]);
    });

    test.each([
      ["an update", updated(1), "pushed"],
      ["a close", closed(1), "closed"],
    ] as const)("%s tells the running one of its change request to stop", async (_name, event, reason) => {
      const runs = new Runs();
      const { queue } = start(2, runs.run);
      await queue.push(commented(1));
      await queue.push(commented(2));
      await runs.haveStarted(2);
      await queue.push(event);
      await aborted(runs.signals[0]);
      expect(runs.signals[0]?.reason).toEqual(new Stopped(reason));
      expect(runs.signals[1]?.aborted).toBe(false);
      await runs.endAll(queue);
      expect(runs.signals[2]?.aborted).toBe(false);
    });

    test("a comment or a review stops nothing", async () => {
      const runs = new Runs();
      const { queue } = start(1, runs.run);
      await queue.push(updated(1));
      await runs.haveStarted(1);
      await queue.push(commented(1));
      await queue.push(reviewed(1));
      expect(runs.signals[0]?.aborted).toBe(false);
      await runs.endAll(queue);
    });

    test("a run that fails is logged and the next one runs", async () => {
      const started: HostEvent[] = [];
      const { queue, lines } = start(1, async (event) => {
        started.push(event);
        throw new Error("broken");
      });
      const events = [commented(1), commented(1)];
      for (const event of events) await queue.push(event);
      await queue.idle();
      expect(started).toEqual(events);
      const errors = lines.filter((line) => line.level === "error");
      expect(errors.map((line) => line.fields.delivery)).toEqual(events.map((event) => event.delivery));
    });

    test("a run that heeds its signal is no failure", async () => {
      const runs = new Runs();
      const begun = runs.haveStarted(1);
      const { queue, lines } = start(1, async (event, ticket) => {
        if (event.kind !== "commented") return "done";
        void runs.run(event, ticket);
        await aborted(ticket.signal);
        ticket.signal.throwIfAborted();
        return "done";
      });
      await queue.push(commented(1));
      await begun;
      await queue.push(updated(1));
      await queue.idle();
      expect(lines.filter((line) => line.level === "error" || line.level === "warn")).toEqual([]);
    });

    test("idle waits for running and waiting events, and resolves at once without any", async () => {
      const runs = new Runs();
      const { queue } = start(1, runs.run);
      await queue.idle();
      await queue.push(commented(1));
      await queue.push(commented(1));
      let idle = false;
      const waiting = queue.idle().then(() => (idle = true));
      await runs.end(0);
      await runs.haveStarted(2);
      expect(idle).toBe(false);
      await runs.end(1);
      await waiting;
    });

    test("a failed event is accepted again, marked as such, and finds its notes", async () => {
      const runs = new Runs();
      const { queue } = start(1, runs.run);
      const event = commented(1);
      await queue.push(event);
      await runs.haveStarted(1);
      expect(runs.tickets[0]?.again).toBe(false);
      const notes = {
        started: [
          {
            application: applicationName("web"),
            lastOperation: undefined,
            pins: [{ position: 2, revision: revision("a".repeat(40)) }],
            revision: revision("b".repeat(40)),
            destination: { cluster: "https://kubernetes.default.svc", namespace: "web" },
            after: [applicationName("root")],
          },
        ],
        skipped: [applicationName("api")],
        takenOver: [
          {
            application: applicationName("web"),
            holder: event.change,
            user: "bo",
            timestamp: "2026-03-01T10:00:00.000Z",
            planRevision: revision("a".repeat(40)),
            sourceFile: undefined,
          },
        ],
      };
      await runs.tickets[0]?.journal.write(notes);
      await runs.end(0, "failed");
      await queue.idle();
      expect(await queue.push(event)).toBe(true);
      await runs.haveStarted(2);
      expect(runs.tickets[1]?.again).toBe(true);
      expect(await runs.tickets[1]?.journal.read()).toEqual(notes);
      await runs.end(1);
      await queue.idle();
      expect(await queue.push(event)).toBe(false);
    });

    test("what failed after it had done something is pushed again on demand, until it is told; nothing else is", async () => {
      const runs = new Runs();
      const { queue } = start(1, runs.run);
      const [done, refused, blank] = [commented(1), commented(2), commented(3)];
      for (const event of [done, refused, blank]) await queue.push(event);
      const notes = { result: { kind: "unlocked", released: [], notHeld: [], left: [], next: [] } } as const;
      const refusal = { result: { kind: "refused", refusal: { reason: "head-moved" } } } as const;
      for (const [position, noted] of [notes, refusal, undefined].entries()) {
        await runs.haveStarted(position + 1);
        if (noted !== undefined) await runs.tickets[position]?.journal.write(noted);
        if (position === 0) await queue.pushUntold();
        await runs.end(position, "failed");
      }
      await queue.idle();
      for (const [position, end] of [
        [3, "failed"],
        [4, "done"],
      ] as const) {
        expect(await queue.knows({ ...done, delivery: "found" })).toBe(true);
        await queue.pushUntold();
        await runs.haveStarted(position + 1);
        expect(runs.tickets[position]?.again).toBe(true);
        expect(await runs.tickets[position]?.journal.read()).toEqual(notes);
        await runs.end(position, end);
        await queue.idle();
      }
      await queue.pushUntold();
      await queue.idle();
      const isOld = { found: { writtenAt: expect.any(String), overtaken: false } };
      const late = expect.objectContaining({ ...done, ...isOld });
      expect(runs.started).toEqual([done, refused, blank, late, late]);
      expect(runs.started[4]).toEqual(runs.started[3]);
    });

    test("a run may act for its change request", async () => {
      const runs = new Runs();
      const { queue } = start(1, runs.run);
      await queue.push(commented(1));
      await runs.haveStarted(1);
      await expect(runs.tickets[0]?.confirm()).resolves.toBeUndefined();
      await runs.endAll(queue);
    });

    test("the backlog counts what waits and what runs", async () => {
      const runs = new Runs();
      const { queue } = start(1, runs.run);
      expect(await queue.backlog()).toEqual({ waiting: 0, running: 0, oldestMs: 0 });
      await queue.push(commented(1));
      await runs.haveStarted(1);
      for (const number of [1, 2]) await queue.push(commented(number));
      const { waiting, running, oldestMs } = await queue.backlog();
      expect([waiting, running]).toEqual([2, 1]);
      expect(oldestMs).toBeGreaterThanOrEqual(0);
      expect(oldestMs).toBeLessThan(20_000);
      await runs.endAll(queue);
    });

    test("close waits for what runs", async () => {
      const runs = new Runs();
      const { queue } = start(1, runs.run);
      await queue.push(commented(1));
      await runs.haveStarted(1);
      const closing = queue.close(10_000);
      await runs.end(0);
      await closing;
      expect(runs.signals.every((signal) => !signal.aborted)).toBe(true);
      await queue.close(0);
    });

    test("close does not wait forever for a run that does not end", async () => {
      const runs = new Runs();
      const { queue, clock } = start(1, runs.run);
      await queue.push(commented(1));
      await runs.haveStarted(1);
      const state = { over: false };
      const closing = queue.close(0).then(() => (state.over = true));
      while (!state.over) {
        clock.advance(60_000);
        await settled();
      }
      await closing;
      expect(runs.signals[0]?.aborted).toBe(true);
    });

    test("whatever arrives: in order, one at a time per change request, nothing lost", async () => {
      const kind = fc.constantFrom("updated", "closed", "commented", "reviewed");
      const step = fc.oneof(
        { weight: 2, arbitrary: fc.record({ push: kind, number: fc.integer({ min: 1, max: 4 }) }) },
        { weight: 1, arbitrary: fc.record({ end: fc.nat(5) }) },
      );
      await fc.assert(
        fc.asyncProperty(
          fc.integer({ min: 1, max: 3 }),
          fc.array(step, { maxLength: 40 }),
          async (concurrency, steps) => {
            const make = { updated, closed, commented, reviewed };
            const pushed: HostEvent[] = [];
            const finished: HostEvent[] = [];
            const running = new Map<HostEvent, () => void>();
            const broken: string[] = [];
            const { queue } = start(concurrency, (event) => {
              const key = changeRequestKey(event.change);
              if ([...running.keys()].some((other) => changeRequestKey(other.change) === key)) {
                broken.push(`${key} twice`);
              }
              if (running.size >= concurrency) broken.push("too many at once");
              return new Promise((resolve) => {
                running.set(event, () => {
                  running.delete(event);
                  finished.push(event);
                  resolve("done");
                });
              });
            });
            for (const one of steps) {
              if ("push" in one) {
                const event = make[one.push](one.number);
                pushed.push(event);
                await queue.push(event);
              } else [...running.values()][one.end % Math.max(running.size, 1)]?.();
              await settled();
            }
            const state = { idle: false };
            const done = queue.idle().then(() => (state.idle = true));
            while (!state.idle) {
              for (const end of [...running.values()]) end();
              await settled();
            }
            await done;
            expect(broken).toEqual([]);
            expectInOrderAndComplete(pushed, finished);
          },
        ),
        { numRuns },
      );
    });
  });
}

/** An event may be missing only if it is an update and a later update or close of its change request was pushed. */
function expectInOrderAndComplete(pushed: readonly HostEvent[], finished: readonly HostEvent[]): void {
  for (const number of [1, 2, 3, 4]) {
    const of = (events: readonly HostEvent[]) => events.filter((event) => event.change.number === number);
    const mine = of(pushed);
    const ran = of(finished).map(({ delivery }) => delivery);
    expect(ran).toEqual(mine.map(({ delivery }) => delivery).filter((delivery) => ran.includes(delivery)));
    for (const [index, event] of mine.entries()) {
      if (ran.includes(event.delivery)) continue;
      expect(event.kind).toBe("updated");
      expect(mine.slice(index + 1).some(({ kind }) => kind === "updated" || kind === "closed")).toBe(true);
    }
  }
}
