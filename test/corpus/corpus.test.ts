import { describe, expect, test } from "@jest/globals";
import type { ExpectedPlan } from "./case-schema.js";
import { caseNames, loadCase } from "./load-case.js";
import type { PlanFacts } from "./plan-facts.js";
import { runCase, type Outcome } from "./run-case.js";

const cases = caseNames().map(loadCase);
const plays = cases.flatMap((one) => one.hosts.map((host) => ({ name: one.name, host, title: one.title, one })));

describe("the corpus", () => {
  test("every case has a number of its own", () => {
    const numbers = cases.map(({ name }) => /^\d+(?=-)/.exec(name)?.[0]);
    expect(new Set(numbers).size).toBe(numbers.length);
    expect(numbers.length).toBeGreaterThan(0);
  });

  test.each(plays)("$name on $host: $title", async ({ one, host }) => {
    const outcome = await runCase(one, host);
    expect(planOf(outcome)).toEqual(expectedPlan(one.plan, outcome.plan));
    expect([...outcome.renders].sort()).toEqual([...one.plan.renders].sort());
    expect(missingTexts(outcome.answer, one.effect.answer)).toEqual([]);
    const { syncs, created, changed, deleted, specs } = one.effect;
    const { cluster } = outcome;
    expect({ syncs: [...outcome.syncs].sort(), ...cluster, deleted: [...cluster.deleted].sort() }).toEqual({
      syncs: [...syncs].sort(),
      created,
      changed,
      deleted: [...deleted].sort(),
    });
    expect(outcome.specs).toEqual(specs);
  });
});

/** Both sides in one shape, so that a failure shows everything that is different at once. */
function planOf({ plan, locked }: Outcome) {
  return {
    applications: mapped(plan.applications, (one, name) => ({
      verdict: one.verdict,
      counts: one.counts,
      ...ordered(one),
      locked: locked.includes(name),
      missing: [] as readonly string[],
      forbidden: [] as readonly string[],
    })),
    previews: mapped(plan.previews, (one) => ({
      change: one.change,
      of: one.of,
      counts: one.counts,
      ...ordered(one),
      missing: [] as readonly string[],
      forbidden: [] as readonly string[],
    })),
    sets: mapped(plan.sets, ({ added, removed, changed }) => ({
      added,
      removed,
      changed,
      missing: [] as readonly string[],
    })),
    notDeployed: mapped(plan.notDeployed, () => [] as readonly string[]),
    missingNotes: [] as readonly string[],
    lockedUnplanned: locked.filter((name) => !(name in plan.applications)),
  };
}

/** What the case expects; of texts that may stand anywhere it carries those that the plan does not say. */
function expectedPlan(expected: ExpectedPlan, seen: PlanFacts): ReturnType<typeof planOf> {
  return {
    applications: mapped(expected.applications, ({ says, never, ...one }, name) => ({
      verdict: one.verdict,
      ...ordered(one),
      locked: one.locked,
      counts: [one.create.length, one.update.length, one.delete.length, one.hooks.length] as const,
      missing: missingTexts(seen.applications[name]?.text ?? "", says),
      forbidden: never.filter((text) => seen.applications[name]?.text.includes(text)),
    })),
    previews: mapped(expected.previews, ({ says, never, change, of, ...one }, name) => ({
      change,
      of,
      ...ordered(one),
      counts: [one.create.length, one.update.length, one.delete.length, one.hooks.length] as const,
      missing: missingTexts(seen.previews[name]?.text ?? "", says),
      forbidden: never.filter((text) => seen.previews[name]?.text.includes(text)),
    })),
    sets: mapped(expected.sets, ({ says, ...one }, name) => ({
      ...one,
      missing: missingTexts(seen.sets[name]?.text ?? "", says),
    })),
    notDeployed: mapped(expected.not_deployed, (text, name) => missingTexts(seen.notDeployed[name] ?? "", [text])),
    missingNotes: missingTexts(seen.notes.join("\n"), expected.notes),
    lockedUnplanned: [],
  };
}

interface Lists {
  readonly create: readonly string[];
  readonly update: readonly string[];
  readonly delete: readonly string[];
  readonly hooks: readonly string[];
  readonly drift?: readonly string[];
  readonly lines: readonly string[];
}

/** Lists whose order is free. */
function ordered(one: Lists): Lists {
  return {
    create: [...one.create].sort(),
    update: [...one.update].sort(),
    delete: [...one.delete].sort(),
    hooks: [...one.hooks].sort(),
    drift: [...(one.drift ?? [])].sort(),
    lines: [...one.lines].sort(),
  };
}

function mapped<T, U>(record: Readonly<Record<string, T>>, map: (value: T, name: string) => U): Record<string, U> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value, name)]));
}

function missingTexts(text: string, wanted: readonly string[]): readonly string[] {
  return wanted.filter((one) => !text.includes(one));
}
