import { describe, expect, test } from "@jest/globals";
import { expectedRefusals } from "../../../src/core/commands/sync.js";
import { type OrderedTrial, withTrials, type Tried } from "../../../src/core/diff/live/trial-order.js";
import { NO_DIFFERENCE, secretSentences } from "../../../src/core/diff/manifest-diff.js";
import type { RefusalCause, Trial } from "../../../src/core/ports/deployer.js";

const TITLE = "apps/Deployment shop/web";

function asked(changes: Partial<OrderedTrial> = {}): OrderedTrial {
  const manifest = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web", namespace: "shop" },
    spec: { replicas: 1 },
  };
  return {
    object: { group: "apps", kind: "Deployment", namespace: "shop", name: "web", manifest },
    title: TITLE,
    serverSide: false,
    unvalidated: false,
    skippedWithoutKind: false,
    removes: false,
    ...changes,
  };
}

type Refused = Extract<Trial, { kind: "refused" }>;
function refused(cause: RefusalCause, changes: Partial<Refused> = {}): Refused {
  return { kind: "refused", cause, message: "spec.x: no", created: false, lastApplied: undefined, ...changes };
}

function tried(
  one: OrderedTrial,
  trial: Trial,
  more: Partial<Tried> = {},
  changesPolicies = false,
  diff = NO_DIFFERENCE,
) {
  return withTrials(diff, {
    order: { objects: [one], untried: [], changesPolicies },
    trials: [trial],
    spec: {},
    redact: [],
    ...more,
  });
}

/** The cure behind what Kubernetes says. */
const CURES: readonly (readonly [RefusalCause, string])[] = [
  [
    "immutable",
    "Let the sync replace it (argocd.argoproj.io/sync-options: Replace=true,Force=true), delete it first, or give it another name",
  ],
  ["invalid", "Correct the manifest"],
  ["unknown-field", "Correct the manifest"],
  ["denied", "Change it so that it is allowed, or ask those who run the cluster"],
  ["no-namespace", "Create the namespace first, or set the sync option CreateNamespace=true"],
  ["no-kind", "Install its custom resource definition first"],
];

test.each(CURES)("a refusal that is sure, %s, is a caution with its cure, and a danger", (cause, cure) => {
  const { diff, cluster } = tried(asked(), refused(cause));
  expect(diff.cautions).toEqual([`Kubernetes will refuse ${TITLE}: spec.x: no. ${cure}`]);
  expect(diff.dangers).toEqual([{ what: `Kubernetes refuses to change ${TITLE}`, pruning: false, effect: "refused" }]);
  expect(cluster).toEqual({ accepted: 0, refused: [{ title: TITLE, message: "spec.x: no", sure: true }], untried: [] });
  expect(expectedRefusals(cluster)).toEqual([`the plan said that Kubernetes will refuse ${TITLE}: spec.x: no`]);
});

test("one object more than is named is counted as one", () => {
  const refusals = Array.from({ length: 6 }, () => ({ title: TITLE, message: "spec.x: no", sure: true }));
  const cluster = { accepted: 0, refused: refusals, untried: [] };
  expect(expectedRefusals(cluster).at(-1)).toBe("the plan said so of 1 more object");
  const secrets = Array.from({ length: 21 }, () => ({ name: "shop/payments", keys: undefined, files: [] }));
  const shown = (name: string) => name;
  expect(secretSentences({ secrets }, shown).at(-1)).toBe("1 more Secret changes or may change");
  const two = { secrets: [...secrets, ...secrets.slice(0, 1)] };
  expect(secretSentences(two, shown).at(-1)).toBe("2 more Secrets change or may change");
});

test("nobody is told to delete what holds data", () => {
  const { object } = asked();
  const spec = { volumeClaimTemplates: [{}], persistentVolumeClaimRetentionPolicy: { whenDeleted: "Delete" } };
  const claim = { ...object, group: "", kind: "PersistentVolumeClaim" };
  const set = { ...object, kind: "StatefulSet", manifest: { ...object.manifest, spec } };
  for (const holding of [claim, set]) {
    const { diff } = tried(asked({ object: holding }), refused("immutable"));
    expect(diff.cautions[0]).toMatch(
      /Undo the change, or give it another name: replacing it would delete what it holds$/,
    );
  }
});

const lastApplied = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web" },
  spec: { replicas: 1, paused: true },
};
const ignoring = {
  syncPolicy: { syncOptions: ["RespectIgnoreDifferences=true"] },
  ignoreDifferences: [{ kind: "Deployment" }],
};

test.each<[string, Partial<OrderedTrial>, Trial, Partial<Tried>, boolean]>([
  ["a removed member may be the cause", { removes: true }, refused("invalid"), {}, false],
  ["one that only the cluster still has, too", {}, refused("invalid", { lastApplied }), {}, false],
  ["server-side apply does what was tried", { removes: true, serverSide: true }, refused("invalid"), {}, true],
  ["there is nothing to remove from what is new", { removes: true }, refused("invalid", { created: true }), {}, true],
  ["an immutable field stays one", { removes: true }, refused("immutable", { lastApplied }), {}, true],
  ["members exclude each other where a sync merges otherwise", {}, refused("conflict"), {}, false],
  ["members of a new object exclude each other", {}, refused("conflict", { created: true }), {}, true],
  ["an unknown field is not looked for", { unvalidated: true }, refused("unknown-field"), {}, false],
  ["a policy may refuse what is removed", { removes: true }, refused("denied"), {}, false],
  ["ignored members keep their values", {}, refused("immutable"), { spec: ignoring }, false],
])("%s", (_, changes, trial, more, sure) => {
  const { diff, cluster } = tried(asked(changes), trial, more);
  expect(cluster.refused.map((one) => one.sure)).toEqual([sure]);
  expect(diff.dangers).toHaveLength(sure ? 1 : 0);
  expect(diff.cautions).toHaveLength(1);
  expect(diff.cautions[0]).toMatch(
    sure ? /^Kubernetes will refuse/ : /^Kubernetes may refuse .*, so the sync may still work$/,
  );
  expect(expectedRefusals(cluster)).toHaveLength(sure ? 1 : 0);
});

test("a policy that the sync changes as well may allow it then", () => {
  expect(tried(asked(), refused("denied"), {}, true).cluster.refused[0]?.sure).toBe(false);
});

describe("what the sync itself takes care of is no refusal", () => {
  test.each([
    [
      { spec: { syncPolicy: { syncOptions: ["CreateNamespace=true"] } } },
      {},
      refused("no-namespace"),
      "this sync creates its namespace",
    ],
    [{}, { skippedWithoutKind: true }, refused("no-kind"), "its custom resource definition is missing"],
  ])("%j", (more, changes, trial, reason) => {
    const { diff, cluster } = tried(asked(changes), trial, more);
    expect(cluster).toEqual({ accepted: 0, refused: [], untried: [{ reason, titles: [TITLE] }] });
    expect([diff.cautions, diff.dangers]).toEqual([[], []]);
  });
});

describe("beside what our own rules say", () => {
  const rule = `Kubernetes refuses to change spec.selector of ${TITLE}: the sync will fail unless it is replaced (argocd.argoproj.io/sync-options: Replace=true,Force=true)`;
  const deletion =
    "pruning PersistentVolumeClaim shop/data: its data is lost unless the volume's reclaim policy is Retain";
  const diff = {
    ...NO_DIFFERENCE,
    cautions: [deletion, rule, "changes Namespace shop"],
    dangers: [
      { what: "deletes PersistentVolumeClaim shop/data", pruning: true },
      { what: `Kubernetes refuses to change ${TITLE}`, pruning: false, effect: "refused" as const },
      { what: "changes Namespace shop", pruning: false },
    ],
  };

  test("Kubernetes' own words take their place, behind the deletions", () => {
    const { cautions, dangers } = tried(asked(), refused("immutable"), {}, false, diff).diff;
    expect(cautions).toEqual([deletion, expect.stringMatching(/^Kubernetes will refuse/), "changes Namespace shop"]);
    expect(dangers).toEqual(diff.dangers);
  });

  test("what may be refused is not told a second time", () => {
    expect(tried(asked({ removes: true }), refused("invalid"), {}, false, diff).diff).toEqual(diff);
  });

  test("what is accepted takes nothing back", () => {
    expect(tried(asked(), { kind: "accepted" }, {}, false, diff).diff).toEqual(diff);
  });
});

test("messages are short, on one line, and without what must not be seen", () => {
  const { cluster } = tried(asked(), refused("invalid", { message: `spec.x:\n hunter2 ${"x".repeat(300)}` }), {
    redact: ["hunter2"],
  });
  expect(cluster.refused[0]?.message).toMatch(/^spec\.x: \(redacted\) x{100,}…$/);
  const untried = tried(asked(), { kind: "untried", reason: "because of hunter2" }, { redact: ["hunter2"] }).cluster
    .untried;
  expect(untried).toEqual([{ reason: "because of (redacted)", titles: [TITLE] }]);
});

test("an answer that is missing is none", () => {
  expect(tried(asked(), { kind: "accepted" }, { trials: [] }).cluster).toEqual({
    accepted: 0,
    refused: [],
    untried: [{ reason: "no answer", titles: [TITLE] }],
  });
});
