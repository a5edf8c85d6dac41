import { z } from "zod";
import type { ApplicationPlan, Plan, PlanLock } from "../../core/model/plan.js";
import {
  orUndefined,
  storedApplication,
  storedChange,
  storedHost,
  storedNumber,
  storedRepository,
  storedRevision,
  storedTime,
} from "./scalars.js";
import { readStored } from "./stored-value.js";

const lock = z.object({
  application: storedApplication,
  holder: z.object({ host: storedHost, repository: storedRepository, number: storedNumber }),
  user: z.string(),
  timestamp: storedTime,
  planRevision: orUndefined(storedRevision),
  sourceFile: orUndefined(z.string()),
});

const planLock: z.ZodType<PlanLock> = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("ours") }),
  z.object({ kind: z.literal("held"), by: lock }),
  z.object({ kind: z.literal("not-needed") }),
]);

const count = z.int().nonnegative();

const names = z
  .object({ created: z.array(z.string()), changed: z.array(z.string()), deleted: z.array(z.string()) })
  .default({ created: [], changed: [], deleted: [] });

const basis = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("branch") }),
  z.object({
    kind: z.literal("live"),
    approximate: z.array(z.string()),
    drifted: z.array(z.string()),
    alreadyThere: z.array(z.string()),
  }),
  z.object({ kind: z.literal("live-failed"), reason: z.string() }),
]);

/** Records of earlier versions lack the members with a default. */
const manifestDiff = z.object({
  created: count,
  updated: count,
  deleted: count,
  hooksChanged: count,
  resources: z.array(
    z.object({
      action: z.enum(["create", "update", "delete"]),
      title: z.string(),
      kind: z.string(),
      diff: z.string(),
      hook: z.boolean(),
    }),
  ),
  hiddenSecrets: z.boolean(),
  cautions: z.array(z.string()).default([]),
  children: names,
  sets: names,
  basis: basis.default({ kind: "branch" }),
});

const planned = {
  application: storedApplication,
  lock: planLock,
  sourceFile: orUndefined(z.string()),
  atMerge: orUndefined(z.string()),
  warnings: z.array(z.string()),
};

const applicationPlan: z.ZodType<ApplicationPlan> = z.discriminatedUnion("kind", [
  z.object({
    ...planned,
    kind: z.literal("evaluated"),
    verdict: z.enum(["changed", "unchanged", "unknown"]),
    writesDefinition: z.boolean().default(false),
    diff: manifestDiff,
  }),
  z.object({ ...planned, kind: z.literal("unevaluated"), reason: z.string() }),
  z.object({ ...planned, kind: z.enum(["new", "deleted"]) }),
  z.object({ ...planned, kind: z.literal("unplanned") }),
]);

const plan: z.ZodType<Plan> = z.object({
  change: storedChange,
  head: storedRevision,
  plannedAt: storedTime,
  applications: z.array(applicationPlan),
  applicationSets: z.array(
    z.object({
      name: z.string(),
      sourceFile: orUndefined(z.string()),
      added: z.array(storedApplication),
      removed: z.array(storedApplication),
      changed: z.array(storedApplication),
      notes: z.array(z.string()).default([]),
      problem: orUndefined(z.string()),
      owned: z.array(storedApplication).default([]),
    }),
  ),
  notDeployed: z.array(z.object({ application: storedApplication, reason: z.string() })),
  released: z.array(storedApplication),
  notes: z.array(z.string()),
});

const planRecord = z.object({ v: z.literal(1), plan });

export function planRecordOf(value: Plan): string {
  return JSON.stringify({ v: 1, plan: value });
}

/** @throws {StoredValueUnreadable} */
export function readPlan(text: string, key: string): Plan {
  return readStored(planRecord, text, "a stored plan", key).plan;
}
