import { describe, expect, test } from "@jest/globals";
import { compareGenerated } from "../../../src/core/detect/scan/application-sets.js";
import type { Application, ApplicationSet } from "../../../src/core/model/application.js";
import { applicationName } from "../../../src/core/model/brand.js";
import type { Json, JsonObject } from "../../../src/core/model/json.js";
import { notesOf, policyOf } from "../../../src/core/survey/sets/application-set-notes.js";
import { changedSettings } from "../../../src/core/survey/sets/set-settings.js";
import { CHANGE, OWN_URL } from "../detect/memory-snapshot.js";
import { sampleApplication } from "../sample-application.js";

function set(spec: Json | undefined): ApplicationSet {
  return { name: "s", namespace: undefined, resource: { spec } };
}

const policy = (applicationsSync: string, more: JsonObject = {}): ApplicationSet =>
  set({ syncPolicy: { applicationsSync, ...more } });

describe("policyOf", () => {
  test.each<[string, ApplicationSet, string]>([
    ["no spec", set(undefined), "sync updates deletes"],
    ["no policy", set({}), "sync updates deletes"],
    ["an empty policy", policy(""), "sync updates deletes"],
    ["sync", policy("sync"), "sync updates deletes"],
    ["create-only", policy("create-only"), "create-only"],
    ["create-update", policy("create-update"), "create-update updates"],
    ["create-delete", policy("create-delete"), "create-delete deletes"],
  ])("%s", (_, one, expected) => {
    const { name, ...flags } = policyOf(one);
    const set = Object.entries(flags).flatMap(([flag, value]) => (value ? [flag] : []));
    expect([name, ...set].join(" ")).toBe(expected);
  });
});

const TWELVE = Array.from({ length: 12 }, (_, index) => `shop-${index + 10}`);

describe("notesOf", () => {
  const application = (name: string, path = name) => sampleApplication(name, { source: { path } });
  const all = (...names: string[]) => names.map((name) => application(name));

  interface Case {
    readonly base?: readonly Application[];
    readonly head?: readonly Application[];
    readonly live?: readonly string[];
    readonly before?: ApplicationSet;
    readonly after?: ApplicationSet | undefined;
    readonly alsoIn?: readonly string[];
    readonly baseChanges?: readonly string[];
  }

  function notes(one: Case): readonly string[] {
    const { base = [], head = [], live = [], before = set({}) } = one;
    const after = "after" in one ? one.after : before;
    const { alsoIn = [], baseChanges = [] } = one;
    const known = { name: "s", sourceFile: "s.yaml", base: before, alsoIn, problem: undefined };
    const changed = { ...known, ...(after === undefined ? {} : { head: after }) };
    const comparison = compareGenerated(base, head);
    return notesOf(
      { set: changed, base, head, comparison, settings: changedSettings(changed) },
      {
        live: new Set(live.map(applicationName)),
        change: CHANGE,
        baseChanges,
      },
    );
  }

  test.each<[string, Case, readonly string[]]>([
    ["nothing differs", { base: all("a"), head: all("a"), live: ["a"] }, []],
    ["a new application", { head: all("a") }, []],
    [
      "a new application that is there already",
      { head: all("a"), live: ["a"] },
      ["a runs in Argo CD already: the ApplicationSet takes it over or fails on it"],
    ],
    [
      "a changed application that is not there",
      { base: all("a"), head: [application("a", "other")] },
      ["a is not in Argo CD, or svc's token may not see it"],
    ],
    [
      "a name that comes twice",
      { head: all("a", "b", "a") },
      ["a is generated more than once: Argo CD takes the first at most, and reports an error"],
    ],
    [
      "a set that is removed",
      { base: all("a"), live: ["a"], after: undefined },
      [
        "when the ApplicationSet is deleted, removed applications are deleted, with everything that they have deployed if they have Argo CD's finalizer",
      ],
    ],
    [
      "the policy that holds after the merge decides over removals",
      { base: all("a"), live: ["a"], before: policy("create-update"), after: policy("sync") },
      [
        "its own settings change (spec.syncPolicy): Argo CD may treat every application that it owns differently, so this change needs the approvals that they need",
        "removed applications are deleted, with everything that they have deployed if they have Argo CD's finalizer",
      ],
    ],
    [
      "many names",
      { head: all(...TWELVE), live: TWELVE },
      [
        ...TWELVE.slice(0, 10).map(
          (name) => `${name} runs in Argo CD already: the ApplicationSet takes it over or fails on it`,
        ),
        "the same holds for 2 more applications",
      ],
    ],
  ])("%s", (_, one, expected) => {
    expect(notes(one)).toEqual(expected);
  });

  const KEPT = "what removed applications have deployed stays in the cluster";
  const DELETED =
    "removed applications are deleted, with everything that they have deployed if they have Argo CD's finalizer";
  const FINALIZER = "resources-finalizer.argocd.argoproj.io";
  const preserved = (applicationsSync: string) => policy(applicationsSync, { preserveResourcesOnDeletion: true });

  test.each<[string, readonly string[] | undefined, ApplicationSet, string]>([
    ["nothing", [], set({}), KEPT],
    ["others", ["example.com/x"], set({}), KEPT],
    ["Argo CD's", [FINALIZER], set({}), DELETED],
    ["Argo CD's, with a way to delete", [`${FINALIZER}/background`], set({}), DELETED],
    ["Argo CD's by a patch of the template, in spite of its policy", [FINALIZER], preserved("sync"), DELETED],
    ["nothing to new applications, and leaves those that run as they are", [], preserved("create-delete"), DELETED],
    ["nobody knows what", undefined, preserved("sync"), DELETED],
  ])("what a removed application leaves, whose set gives it as finalizers: %s", (_, finalizers, before, expected) => {
    const alsoGiven = finalizers && { finalizers, operation: null };
    const base = [sampleApplication("a", { source: { path: "a" } }, { alsoGiven })];
    expect(notes({ base, live: ["a"], before })).toEqual([expected]);
  });

  test("what gets only other labels or annotations is named", () => {
    const owned = (annotations: Record<string, string>) =>
      sampleApplication("a", { source: { path: "a" } }, { annotations });
    const b = application("b");
    expect(notes({ base: [owned({ "svc.dev/repository": "acme/other" }), b], head: [owned({}), b] })).toEqual([
      "a gets other labels, annotations or finalizers, or an operation, and keeps its definition",
      expect.stringContaining("a is not in Argo CD"),
    ]);
  });

  test("another file that defines the same set is named", () => {
    expect(notes({ alsoIn: ["prod/s.yaml"] })).toEqual([
      expect.stringMatching(/^prod\/s.yaml defines a set of the same name/),
    ]);
  });

  test.each<[string, readonly string[], boolean]>([
    ["its own file", ["s.yaml"], true],
    ["a file that its generator reads", ["envs/de.json"], true],
    ["another file", ["envs/de.yaml"], false],
  ])("the base branch changed %s meanwhile", (_, baseChanges, noted) => {
    const before = set({ generators: [{ git: { repoURL: OWN_URL, files: [{ path: "envs/*.json" }] } }] });
    const expected = noted
      ? [expect.stringContaining("the base branch main changed what it generates since this branch left it")]
      : [];
    expect(notes({ before, baseChanges })).toEqual(expected);
  });

  test("a templated git generator is noted, also where only the old side has it", () => {
    const templated = set({ generators: [{ git: { repoURL: OWN_URL, revision: "{{ .x }}" } }] });
    expect(notes({ before: templated, after: set({}) })).toEqual([
      expect.stringContaining("its own settings change (spec.generators)"),
      expect.stringContaining("has a template"),
    ]);
  });
});
