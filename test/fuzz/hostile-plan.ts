import fc from "fast-check";
import { applicationName } from "../../src/core/model/brand.js";
import type { ClusterCheck } from "../../src/core/model/plan/cluster-check.js";
import type { DiffBasis, NameChanges } from "../../src/core/model/plan/manifest-diff.js";
import type {
  ApplicationPlan,
  ApplicationSetPreview,
  Plan,
  Preview,
  PreviewContent,
} from "../../src/core/model/plan/plan.js";
import { evaluated, resource, sampleApplication, sampleLock, samplePlan } from "../comments/samples.js";
import { hostileName, hostileText } from "./hostile-text.js";

const names = fc.oneof(
  { weight: 12, arbitrary: fc.array(hostileName(), { maxLength: 2 }) },
  { weight: 1, arbitrary: fc.array(hostileName(), { minLength: 21, maxLength: 22 }) },
);
const applications = names.map((list) => list.map((name) => applicationName(name)));
const nameChanges: fc.Arbitrary<NameChanges> = fc.record({ created: names, changed: names, deleted: names });

const objectNotes = fc.array(fc.record({ what: hostileText(), objects: names }), { maxLength: 4 });
const againstCluster = { approximate: objectNotes, alreadyThere: names, kept: objectNotes };

/** Unified hunks whose lines hold anything: each line of hostile text begins as a line of a diff does. */
const hunks = fc
  .tuple(
    hostileText(20),
    fc.constantFrom("+", "-", " "),
    fc.oneof({ weight: 20, arbitrary: fc.constant(1) }, { weight: 1, arbitrary: fc.integer({ min: 2, max: 400 }) }),
  )
  .map(([text, sign, times]) => {
    const lines = text.split(/\r\n|\r|\n/).map((line) => `${sign}${line}\n`);
    return `@@ -1 +1 @@\n${lines.join("").repeat(times)}`;
  });
const changed = fc
  .tuple(hostileName(), fc.constantFrom("create", "update", "delete"), hunks, fc.boolean())
  .map(([name, action, diff, hook]) => resource(`ConfigMap ns/${name}`, action, diff, hook));

const basis: fc.Arbitrary<DiffBasis> = fc.oneof(
  fc.constant<DiffBasis>({ kind: "branch" }),
  fc.record({ kind: fc.constant("live-failed" as const), reason: hostileText() }),
  fc.record({ kind: fc.constant("live" as const), ...againstCluster, drifted: names }),
  fc.record({ kind: fc.constant("both" as const), ...againstCluster, drift: fc.array(changed, { maxLength: 2 }) }),
);

const diffRecord = fc
  .record({
    resources: fc.array(changed, { maxLength: 4 }),
    cautions: fc.array(
      hostileText().map((text) => `pruning ${text}`),
      { maxLength: 3 },
    ),
    hiddenSecrets: fc.boolean(),
    secrets: fc.array(
      fc.record({
        name: hostileName(),
        keys: fc.option(nameChanges, { nil: undefined }),
        files: fc.array(hostileText(), { maxLength: 5 }),
      }),
      { maxLength: 3 },
    ),
    onlyCommit: fc.array(
      hostileName().map((name) => `ConfigMap ${name}`),
      { maxLength: 3 },
    ),
    children: nameChanges,
    sets: nameChanges,
    basis,
  })
  .map(({ resources, ...diff }) => evaluated(resources, diff));
const clusterCheck: fc.Arbitrary<ClusterCheck> = fc.record({
  accepted: fc.nat(3),
  refused: fc.array(fc.record({ title: hostileName(), message: hostileText(), sure: fc.boolean() }), { maxLength: 3 }),
  untried: fc.array(
    fc.record({ titles: fc.array(hostileName(), { minLength: 1, maxLength: 5 }), reason: hostileText() }),
    { maxLength: 5 },
  ),
  asking: fc.option(fc.array(hostileName(), { minLength: 1, maxLength: 5 }), { nil: undefined }),
});
const evaluatedPlan = fc
  .record({
    planned: diffRecord,
    verdict: fc.constantFrom("changed", "unchanged", "unknown"),
    writesDefinition: fc.boolean(),
    cluster: fc.option(clusterCheck, { nil: undefined }),
  })
  .map(({ planned, ...more }) => ({ ...planned, ...more }));
const content: fc.Arbitrary<PreviewContent> = fc.oneof(
  diffRecord.map(({ diff }) => ({ kind: "compared" as const, diff })),
  fc.record({ kind: fc.constant("left-behind" as const), objects: names }),
  fc.record({ kind: fc.constant("failed" as const), reason: hostileText(), withheld: fc.boolean() }),
  fc.constant({ kind: "beyond-limit" as const, limit: 100 }),
);
const preview: fc.Arbitrary<Preview> = fc
  .record({
    name: hostileName(),
    of: hostileName(),
    kind: fc.constantFrom("generated" as const, "child" as const),
    change: fc.constantFrom("added" as const, "changed" as const, "removed" as const),
    content,
  })
  .map(({ name, of, kind, change, content: shown }) => ({
    application: applicationName(name),
    origin: { kind, of, change },
    content: shown,
  }));
const otherPlan = fc.oneof(
  fc.record({ kind: fc.constant("unevaluated" as const), reason: hostileText() }),
  fc.record({
    kind: fc.constantFrom("new" as const, "deleted" as const),
    preview: fc.option(content, { nil: undefined }),
  }),
  fc.constant({ kind: "unplanned" as const }),
);
const lock: fc.Arbitrary<ApplicationPlan["lock"]> = fc.oneof(
  fc.constant({ kind: "ours" as const }),
  fc.constant({ kind: "not-needed" as const }),
  fc.constant({ kind: "free" as const }),
  fc
    .tuple(hostileName(), hostileName(), fc.option(fc.integer({ min: 1, max: 100 }), { nil: undefined }))
    .map(([name, user, place]) => ({ kind: "held" as const, by: sampleLock(name, 3, user), place })),
);
const application: fc.Arbitrary<ApplicationPlan> = fc
  .record({
    name: hostileName(),
    what: fc.oneof({ weight: 2, arbitrary: evaluatedPlan }, { weight: 1, arbitrary: otherPlan }),
    lock,
    sourceFile: fc.option(hostileName(), { nil: undefined }),
    atMerge: fc.option(hostileText(), { nil: undefined }),
    warnings: fc.array(hostileText(), { maxLength: 4 }),
  })
  .map(({ name, what, ...more }) => sampleApplication(name, { ...what, ...more }));

const applicationSet: fc.Arbitrary<ApplicationSetPreview> = fc.record({
  name: hostileName(),
  sourceFile: hostileName(),
  added: applications,
  removed: applications,
  changed: applications,
  members: fc.constant([]),
  notes: fc.array(hostileText(), { maxLength: 3 }),
  problem: fc.option(hostileText(), { nil: undefined }),
  owned: applications,
});

/** Applications with a reason each, as plans and answers list them. */
export const hostileReasons = fc.array(
  fc.tuple(hostileName(), hostileText()).map(([name, reason]) => ({ application: applicationName(name), reason })),
  { maxLength: 4 },
);

/** A plan in which every text that comes from outside was written by somebody who wants to break out of it. */
export const hostilePlan: fc.Arbitrary<Plan> = fc
  .record({
    applications: fc.array(application, { maxLength: 3 }),
    applicationSets: fc.array(applicationSet, { maxLength: 1 }),
    previews: fc.array(preview, { maxLength: 3 }),
    notDeployed: hostileReasons,
    released: applications,
    notes: fc.array(hostileText(), { maxLength: 3 }),
  })
  .map(({ applications: planned, ...more }) => samplePlan(planned, more));
