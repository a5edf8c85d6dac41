import { z } from "zod";

const texts = z.array(z.string()).default([]);

/** `case.yaml`: what the case shows, and what is unusual about its world. */
export const caseFile = z.strictObject({
  /** One sentence: what somebody does, and what must follow. */
  title: z.string(),
  /** Where the expectations come from: Argo CD's documentation, or what was seen on a running server. */
  why: z.string(),
  /** By the case's number when absent: odd ones on the first host, even ones on the second. */
  host: z.enum(["hosta", "hostb", "both"]).optional(),
  base_branch: z.string().default("main"),
  /** Branches that start where the base branch stands. */
  branches: texts,
  /** Commit ids by path, on each side; a folder of files cannot hold them. */
  submodules: z
    .strictObject({
      base: z.record(z.string(), z.string()).default({}),
      head: z.record(z.string(), z.string()).default({}),
    })
    .default({ base: {}, head: {} }),
  /** Logins that approve the change request before the commands. */
  approvals: texts,
  /** Sections of `svc.yaml`. */
  settings: z.record(z.string(), z.record(z.string(), z.unknown())).default({}),
  argocd: z
    .strictObject({
      /** Rights of the service's account; everything when absent. */
      permissions: z
        .union([
          z.enum(["all", "get+sync", "readonly"]),
          z.array(z.strictObject({ resource: z.string(), action: z.string(), object: z.string() })),
        ])
        .optional(),
      tracking: z.enum(["annotation", "label", "annotation+label"]).optional(),
      application_namespaces: z.array(z.string()).optional(),
      /** The cluster stores objects as Kubernetes does, with defaults and canonical quantities. */
      stores_defaults: z.boolean().optional(),
    })
    .default({}),
  commands: z.array(z.string()).default(["svc sync"]),
});

const plannedApplication = z.strictObject({
  verdict: z.enum(["changed", "unchanged", "unknown", "unevaluated", "new", "deleted"]),
  /** Titles such as `apps/Deployment guestbook/web`. */
  create: texts,
  update: texts,
  delete: texts,
  /** Action and title: `update batch/Job guestbook/migrate`. */
  hooks: texts,
  /** What the cluster already differs by, with `diff_mode: both`: `update ConfigMap guestbook/web`. */
  drift: texts,
  /** Every line that the hunks of updates take away or add, trimmed behind its sign; the order is free. */
  lines: texts,
  /** Texts that stand somewhere in its section. */
  says: texts,
  /** Texts that must not stand in it. */
  never: texts,
  /** Whether this change request has the application locked after the plan. */
  locked: z.boolean().default(true),
});

const plannedSet = z.strictObject({ added: texts, removed: texts, changed: texts, says: texts });

/** An application that an ApplicationSet or a parent adds, changes or removes at the merge. */
const previewed = z.strictObject({
  change: z.enum(["added", "changed", "removed"]),
  /** The ApplicationSet or the parent. */
  of: z.string(),
  create: texts,
  update: texts,
  delete: texts,
  hooks: texts,
  lines: texts,
  says: texts,
  never: texts,
});

/** `expected/plan.yaml`. What is not listed must not be in the plan. */
export const planFile = z.strictObject({
  applications: z.record(z.string(), plannedApplication).default({}),
  /** A text of the reason by application. */
  not_deployed: z.record(z.string(), z.string()).default({}),
  sets: z.record(z.string(), plannedSet).default({}),
  previews: z.record(z.string(), previewed).default({}),
  /** Texts of notes; other notes may stand beside them. */
  notes: texts,
  /** Every render that Argo CD is asked for, as `argocd-calls.ts` writes it; the order is free. */
  renders: z.array(z.string()),
});

const content = z.record(z.string(), z.unknown());

const effect = z.strictObject({
  answer: texts,
  syncs: texts,
  /** Objects without what their title says already. */
  created: z.record(z.string(), content).default({}),
  changed: z.record(z.string(), content).default({}),
  deleted: texts,
  /** Whole specs of Applications that were written; null for one that was deleted. */
  specs: z.record(z.string(), content.nullable()).default({}),
});

/** `expected/effect.yaml`: the last answer, every sync, and everything in the cluster that is different afterwards. */
export const effectFile = z.union([
  z.strictObject({ refused: z.array(z.string()).min(1) }).transform(({ refused }) => effect.parse({ answer: refused })),
  effect,
]);

export type CaseFile = z.infer<typeof caseFile>;
export type ExpectedPlan = z.infer<typeof planFile>;
export type ExpectedEffect = z.infer<typeof effectFile>;
