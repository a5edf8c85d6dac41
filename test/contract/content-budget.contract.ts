import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import type { ContentBudget, ContentLimit, Taken } from "../../src/core/ports/stores.js";

export interface BudgetUnderTest {
  /** As two replicas see it. */
  readonly replicas: readonly [ContentBudget, ContentBudget];
  /** Lets time pass. */
  pass(ms: number): Promise<void>;
  clear(): Promise<void>;
  stop(): Promise<void>;
}

/** At most so many of each rank and those below it in an hour. */
function hourly(...most: readonly number[]): readonly ContentLimit[] {
  return most.map((max, rank) => ({ windowMs: 3_600_000, max, rank }));
}

export function contentBudgetContract(start: () => Promise<BudgetUnderTest>): void {
  let under: BudgetUnderTest;

  beforeAll(async () => {
    under = await start();
  });
  afterEach(() => under.clear());
  afterAll(() => under.stop());

  /** Takes by turns from both replicas. @returns How many were taken. */
  async function takeMany(
    count: number,
    rank: number,
    limits: readonly ContentLimit[],
    account = "a",
  ): Promise<number> {
    let taken = 0;
    for (let at = 0; at < count; at += 1) {
      const { kind } = await under.replicas[at % 2 === 0 ? 0 : 1].take(account, rank, limits);
      if (kind === "taken") taken += 1;
    }
    return taken;
  }

  test("all replicas together take as many as the limit allows, each account for itself", async () => {
    const limits = hourly(50);
    expect(await takeMany(60, 0, limits)).toBe(50);
    expect(await takeMany(10, 0, limits, "b")).toBe(10);
  });

  test("calls at the same moment do not take more", async () => {
    const limits = hourly(25);
    const answers = await Promise.all(
      Array.from({ length: 80 }, (_, at) => under.replicas[at % 2 === 0 ? 0 : 1].take("a", 0, limits)),
    );
    expect(answers.filter(({ kind }) => kind === "taken")).toHaveLength(25);
  });

  test("what is less urgent leaves the rest to what is more urgent, which counts for nobody below", async () => {
    const limits = hourly(2, 4, 10);
    expect(await takeMany(5, 0, limits)).toBe(2);
    expect(await takeMany(5, 1, limits.slice(1))).toBe(2);
    expect(await takeMany(20, 2, limits.slice(2))).toBe(6);
    await under.clear();
    expect(await takeMany(4, 2, limits.slice(2))).toBe(4);
    expect(await takeMany(5, 0, limits)).toBe(2);
  });

  test("says when there is room again, and then there is; only the last of several windows counts", async () => {
    const limits = [
      { windowMs: 200, max: 2, rank: 0 },
      { windowMs: 400, max: 3, rank: 0 },
    ];
    const [one, two] = under.replicas;
    expect([await one.take("a", 0, limits), await two.take("a", 0, limits)]).toEqual(Array(2).fill({ kind: "taken" }));
    const first = waitOf(await two.take("a", 0, limits));
    expect(first).toBeLessThanOrEqual(200);
    await under.pass(first);
    expect(await one.take("a", 0, limits)).toEqual({ kind: "taken" });
    const second = waitOf(await one.take("a", 0, limits));
    expect(second).toBeLessThanOrEqual(200);
    await under.pass(second);
    expect(await two.take("a", 0, limits)).toEqual({ kind: "taken" });
  });
}

function waitOf(taken: Taken): number {
  if (taken.kind === "taken") throw new Error("there was room");
  expect(taken.freeInMs).toBeGreaterThan(0);
  return taken.freeInMs;
}
