import { setMaxListeners } from "node:events";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { HostFailure } from "../../src/core/model/errors.js";
import { URGENCIES, type Urgency } from "../../src/core/ports/code-host.js";
import { type ContentWindow, type ContentWrite, createContentPace } from "../../src/hosts/content-pace.js";
import { MERGE_WRITE } from "../../src/hosts/github/merge.js";
import { GITHUB } from "../../src/hosts/github/words.js";
import { refusalOf } from "../../src/hosts/host-answer.js";
import { createLimitWaits } from "../../src/hosts/limit-waits.js";
import { MemoryContentBudget } from "../../src/store/memory/outbox.js";
import { JumpClock } from "../jump-clock.js";
import { recordingLog } from "../recording-log.js";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const GITHUB_WINDOWS = [
  { windowMs: MINUTE, max: 80 },
  { windowMs: HOUR, max: 500 },
];

function paceUnder(windows: readonly ContentWindow[]) {
  const clock = new JumpClock(Date.parse("2026-03-02T10:00:00.000Z"));
  const log = recordingLog();
  const waits = createLimitWaits(clock, log);
  const budget = new MemoryContentBudget(() => clock.now().getTime());
  const pace = createContentPace({ host: "hosta", budget, waits, clock, windows: () => windows });
  const start = clock.now().getTime();
  const elapsed = () => clock.now().getTime() - start;
  /** When the write was sent, in milliseconds from the start; undefined if it was given up. */
  const send = (write: ContentWrite | Urgency, account = "1"): Promise<number | undefined> =>
    pace
      .send(account, typeof write === "string" ? { urgency: write } : write, async () => elapsed())
      .catch((error: unknown) => {
        if (error instanceof HostFailure && error.reason === "rate-limited") return undefined;
        throw error;
      });
  return { pace, clock, log, waits, send, elapsed };
}

async function sendMany(send: (urgency: Urgency) => Promise<number | undefined>, urgency: Urgency, count: number) {
  return Promise.all(Array.from({ length: count }, () => send(urgency)));
}

describe("new comments and merges", () => {
  test("pass at once as long as the host takes them, each account for itself", async () => {
    const { send } = paceUnder(GITHUB_WINDOWS);
    expect(await sendMany((urgency) => send(urgency), "result", 80)).toEqual(Array(80).fill(0));
    expect(await sendMany((urgency) => send(urgency, "2"), "result", 80)).toEqual(Array(80).fill(0));
  });

  test("wait for a minute after the limit of a minute, and for an hour after the limit of an hour", async () => {
    const { send } = paceUnder(GITHUB_WINDOWS);
    const moments = await sendMany(send, "result", 501);
    expect(moments.slice(79, 81)).toEqual([0, MINUTE]);
    expect(moments[500]).toBe(HOUR);
  });

  test("without a known limit never wait", async () => {
    const { send } = paceUnder([]);
    expect(await sendMany(send, "help", 2000)).toEqual(Array(2000).fill(0));
  });

  test.each<[Urgency, number]>([
    ["help", 100],
    ["refusal", 200],
    ["plan", 400],
  ])(
    "however many of the kind %s there are, they take %i of an hour's 500, and a result passes at once",
    async (urgency, most) => {
      const { send, clock, elapsed } = paceUnder([{ windowMs: HOUR, max: 500 }]);
      const given = new AbortController();
      setMaxListeners(0, given.signal);
      const sent: number[] = [];
      const all = Array.from({ length: 600 }, async () => {
        const at = await send({ urgency, signal: given.signal });
        if (at !== undefined) sent.push(at);
      });
      clock.sleep = (_ms, signal) =>
        new Promise((_, reject) => signal?.addEventListener("abort", () => reject(new Error("woken"))));
      await new Promise((resolve) => setImmediate(resolve));
      const result = await send("result");
      expect({ sent: sent.length, result, elapsed: elapsed() }).toEqual({ sent: most, result: 0, elapsed: 0 });
      given.abort(new Error("over"));
      await Promise.allSettled(all);
    },
  );

  test("help is not posted late, a refusal and a merge wait for a minute at most, plans and results until there is room", async () => {
    const { send } = paceUnder([{ windowMs: 2 * MINUTE, max: 5 }]);
    await sendMany(send, "result", 5);
    expect(await send("help")).toBeUndefined();
    expect(await send("refusal")).toBeUndefined();
    expect(await send(MERGE_WRITE)).toBeUndefined();
    expect(await Promise.all([send("plan"), send("result")])).toEqual([2 * MINUTE, 2 * MINUTE]);
  });

  test("a write that is stopped while it waits lets the others pass", async () => {
    const { send } = paceUnder([{ windowMs: MINUTE, max: 1 }]);
    await send("result");
    const stop = new AbortController();
    const stopped = send({ urgency: "plan", signal: stop.signal });
    stop.abort(new Error("pushed"));
    await expect(stopped).rejects.toThrow("pushed");
    await expect(send({ urgency: "plan", signal: stop.signal })).rejects.toThrow("pushed");
    expect(await send("result")).toBe(MINUTE);
  });

  test("a write that the host's limit refused is sent again after the pause that it asked for, and the others wait", async () => {
    const { pace, clock, elapsed, send, log } = paceUnder([]);
    const limit = (headers: Record<string, string>) =>
      refusalOf(GITHUB, "post", { status: 429, headers, message: "", changing: true, now: clock.now() });
    const refusals = [limit({ "retry-after": "1200" }), limit({})];
    const sent = pace.send("1", { urgency: "result" }, async () => {
      const refusal = refusals.shift();
      if (refusal !== undefined) throw refusal;
      return elapsed();
    });
    expect(await sent).toBe(1200_000 + MINUTE);
    expect(log.lines.map(({ fields }) => fields)).toEqual([
      expect.objectContaining({ host: "hosta", account: "1", reason: "asked", seconds: 1200 }),
      expect.objectContaining({ reason: "asked", seconds: 60 }),
    ]);
    const refused = pace.send("1", { urgency: "help" }, () => Promise.reject(limit({ "retry-after": "5" })));
    await expect(refused).rejects.toMatchObject({ reason: "rate-limited" });
    expect(await send("help")).toBeUndefined();
    expect(await send("plan")).toBe(1200_000 + MINUTE + 5_000);
  });

  test("a wait of more than ten seconds is logged once with its reason, listed while it lasts, and announced once", async () => {
    const { send, log, waits, clock } = paceUnder([{ windowMs: MINUTE, max: 1 }]);
    await send("result");
    let waited = 0;
    const onWait = () => {
      waited += 1;
    };
    const sent = [send({ urgency: "result", onWait }), send({ urgency: "result", onWait })];
    const listed = new Promise((resolve) => {
      const { sleep } = clock;
      clock.sleep = (...given) => {
        resolve(waits.current());
        return sleep.apply(clock, given);
      };
    });
    expect(await listed).toHaveLength(2);
    await Promise.all(sent);
    expect(waited).toBe(2);
    expect(waits.current()).toEqual([]);
    const until = "2026-03-02T10:01:00.000Z";
    expect(log.lines).toEqual(
      [1, 2].map((waiting) =>
        expect.objectContaining({
          level: "warn",
          text: "a write waits for the code host's limit",
          fields: { host: "hosta", account: "1", reason: "budget", until, seconds: 60, waiting },
        }),
      ),
    );
  });

  test("a wait of up to ten seconds is not worth a line", async () => {
    const { send, log } = paceUnder([{ windowMs: 10_000, max: 1 }]);
    expect(await Promise.all([send("result"), send("result")])).toEqual([0, 10_000]);
    expect(log.lines).toEqual([]);
  });

  test("never exceed a limit in any window, go in the order of their urgency, and all arrive that are waited for", async () => {
    const window = fc.record({ windowMs: fc.integer({ min: 1, max: 5_000 }), max: fc.integer({ min: 1, max: 12 }) });
    const writes = fc.array(fc.constantFrom(...URGENCIES), { minLength: 1, maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(fc.array(window, { minLength: 1, maxLength: 2 }), writes, async (windows, urgencies) => {
        const { send } = paceUnder(windows);
        const sent = await Promise.all(urgencies.map(async (urgency) => ({ urgency, at: await send(urgency) })));
        const moments = sent.flatMap(({ at }) => (at === undefined ? [] : [at])).sort((one, other) => one - other);
        for (const { windowMs, max } of windows) {
          for (const at of moments) {
            expect(moments.filter((one) => one >= at && one < at + windowMs).length).toBeLessThanOrEqual(max);
          }
        }
        const last = (urgency: Urgency) =>
          Math.max(-1, ...sent.filter((one) => one.urgency === urgency).map(({ at }) => at ?? -1));
        const missing = sent.filter(({ urgency, at }) => at === undefined && urgency !== "help");
        expect(missing).toEqual([]);
        const firstPlan = Math.min(...sent.filter(({ urgency }) => urgency === "plan").map(({ at }) => at ?? 0));
        if (firstPlan > 0 && firstPlan < Infinity) expect(last("result")).toBeLessThanOrEqual(firstPlan);
      }),
      { numRuns: 60 },
    );
  });
});
