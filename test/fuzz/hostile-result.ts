import fc from "fast-check";
import { applicationName } from "../../src/core/model/brand.js";
import type { ApplicationSync, CommandResult, Refusal } from "../../src/core/model/result.js";
import { sampleLock } from "../comments/samples.js";
import { hostileReasons } from "./hostile-plan.js";
import { hostileName, hostileText } from "./hostile-text.js";

const application = hostileName().map((name) => applicationName(name));
const applications = fc.array(application, { maxLength: 4 });
const others = applications;
const lock = fc.tuple(hostileName(), hostileName()).map(([name, user]) => sampleLock(name, 3, user));
const otherChange = fc.nat(9).map((number) => ({ ...sampleLock("web", number + 1, "bo").holder }));
const command = fc.constantFrom("sync", "rollback", "plan", "unlock");

const resource = fc.record({
  title: hostileName(),
  status: fc.constantFrom("Synced", "SyncFailed", "Pruned", "PruneSkipped", ""),
  message: hostileText(),
});
const resources = fc.array(resource, { maxLength: 4 });
const outcome = fc.oneof(
  fc.record({
    kind: fc.constant("succeeded" as const),
    message: hostileText(),
    resources,
    revisions: fc.array(hostileText(), { maxLength: 2 }),
    pruneSkipped: fc.nat(3),
    health: hostileName(),
    unhealthy: resources,
  }),
  fc.record({ kind: fc.constant("failed" as const), message: hostileText(), resources }),
  fc.record({
    kind: fc.constantFrom("running" as const, "unknown" as const, "rejected" as const),
    message: hostileText(),
  }),
);
const sync: fc.Arbitrary<ApplicationSync> = fc
  .tuple(outcome, application, fc.array(hostileText(), { maxLength: 3 }))
  .map(([what, name, warnings]) => ({ ...what, application: name, warnings }));
const syncs = fc.array(sync, { minLength: 1, maxLength: 3 });

/** A sentence that an adapter writes around what comes from outside. */
const sentence = hostileText().map((text) => `It needs the approval of ${text}`);
const optionalText = fc.option(hostileText(), { nil: undefined });
const named = fc.array(application, { minLength: 1, maxLength: 4 });

const refusal: fc.Arbitrary<Refusal> = fc.oneof(
  fc.constantFrom<Refusal[]>(
    { reason: "not-a-command" },
    { reason: "nothing-locked" },
    { reason: "conflicts" },
    { reason: "mergeability-unknown" },
    { reason: "head-moved" },
    { reason: "store-unavailable" },
    { reason: "fork" },
    { reason: "closed", state: "merged" },
    { reason: "superseded", by: "pushed" },
  ),
  fc.record({ reason: fc.constant("not-locked" as const), applications: named, held: named }),
  fc.record({ reason: fc.constant("unknown-applications" as const), applications: named }),
  fc.record({ reason: fc.constant("not-approved" as const), applications: named, missing: sentence, others, command }),
  fc.record({
    reason: fc.constant("stale" as const),
    applications: fc.array(fc.record({ application, planFailure: optionalText, moved: optionalText }), {
      minLength: 1,
      maxLength: 3,
    }),
    others,
  }),
  fc.record({
    reason: fc.constant("auto-sync" as const),
    applications: named,
    inSteps: fc.array(fc.record({ application, set: hostileName() }), { maxLength: 3 }),
    others,
    command,
  }),
  fc.record({ reason: fc.constant("not-deployable" as const), applications: hostileReasons, others }),
  fc.record({
    reason: fc.constant("locked-by-other" as const),
    locks: fc.array(lock, { minLength: 1, maxLength: 4 }),
  }),
  fc.record({ reason: fc.constant("no-write-access" as const), login: hostileName() }),
  fc.record({
    reason: fc.constant("not-allowed" as const),
    command,
    login: hostileName(),
    applications: fc.array(
      fc.record({
        application,
        allowed: fc.array(
          fc.record({
            users: fc.array(hostileName(), { maxLength: 5 }),
            teams: fc.array(hostileName(), { maxLength: 5 }),
          }),
          { minLength: 1, maxLength: 2 },
        ),
        problem: optionalText,
      }),
      { minLength: 1, maxLength: 3 },
    ),
    others,
  }),
  fc.record({ reason: fc.constant("repository-file" as const), problems: fc.array(hostileText(), { maxLength: 6 }) }),
  fc.record({ reason: fc.constant("failure" as const), message: hostileText() }),
);

/** What became of a command, with every text that comes from outside written by somebody who wants to break out. */
export const hostileResult: fc.Arbitrary<CommandResult> = fc.oneof(
  { weight: 4, arbitrary: refusal.map((one): CommandResult => ({ kind: "refused", refusal: one })) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("synced" as const),
      dryRun: fc.boolean(),
      applications: syncs,
      announced: fc.constant([]),
      skipped: applications,
      merge: fc.constant(undefined),
      notMerged: hostileReasons,
      replaced: fc.constant([]),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("rolled-back" as const),
      dryRun: fc.boolean(),
      applications: syncs,
      takenOver: fc.constant([]),
    }),
  },
  fc.record({
    kind: fc.constant("unlocked" as const),
    released: applications,
    notHeld: fc.array(fc.record({ application: hostileName(), lock: fc.option(lock, { nil: undefined }) }), {
      maxLength: 4,
    }),
    left: applications,
    next: fc.array(fc.record({ application, change: otherChange }), { maxLength: 4 }),
  }),
  fc.constant<CommandResult>({ kind: "updated", done: undefined }),
  hostileText().map((reason): CommandResult => ({
    kind: "held",
    hold: {
      id: "1",
      applications: [reason],
      reason,
      by: { provider: "hosta", id: "1", login: reason },
      since: "2026-03-01T16:00:00.000Z",
      until: "2026-03-01T18:00:00.000Z",
    },
  })),
  fc.record({ kind: fc.constant("closed" as const), released: applications, stillDeployed: applications }),
  fc.constant<CommandResult>({ kind: "help" }),
);
