import { expect, test } from "@jest/globals";
import { digestOf } from "../../../src/core/model/application.js";
import { applicationName } from "../../../src/core/model/brand.js";
import type { LiveSubject } from "../../../src/core/model/subject.js";
import { differingFrom, directMember } from "../../../src/core/survey/members.js";
import { sampleApplication, sampleChange, samplePlan } from "../../comments/samples.js";

const NAME = applicationName("web");
const CHILD = applicationName("child");
const BASE = {
  project: "default",
  source: { repoURL: "https://git.test/deploy", path: "web", targetRevision: "main" },
  destination: { server: "https://kubernetes.default.svc", namespace: "web" },
};
const HEAD_SPEC = { ...BASE, source: { ...BASE.source, path: "other" } };

function application(name: typeof NAME, spec: object) {
  const names = { name, resourceName: name, namespace: undefined, project: "default", labels: {}, annotations: {} };
  return { ...names, spec: spec as typeof BASE, parent: undefined };
}

function subject(live: object, head: object = HEAD_SPEC): LiveSubject {
  const status = { owningSet: undefined, sourceTypes: [], comparedRevisions: [], deleting: false, cascades: false };
  return {
    kind: "live",
    name: NAME,
    sourceFile: undefined,
    live: { ...application(NAME, live), ...status },
    head: { spec: head as typeof BASE, positions: [1], fixed: [] },
    base: { spec: BASE, positions: [1], fixed: [] },
    ownRecord: undefined,
    foreignRecords: [],
    autoSynced: false,
    hasChildren: false,
    notDriven: undefined,
    warnings: [],
  };
}

const change = sampleChange();
const effect = {
  members: [directMember(subject(BASE), change)],
  applies: [{ application: CHILD, digest: digestOf(BASE) }],
};
const plan = samplePlan([{ ...sampleApplication("web", { kind: "unevaluated", reason: "" }), effect }]);
const running = [application(CHILD, BASE)];

function difference(one: LiveSubject, live = running): string | undefined {
  return differingFrom(plan, [one], live, change).get(NAME);
}

test("what was planned is deployed, also after a parent wrote the definition", () => {
  expect(difference(subject(BASE))).toBeUndefined();
  const written = { ...subject(HEAD_SPEC), base: { spec: HEAD_SPEC, positions: [1], fixed: [] } };
  expect(difference(written)).toBeUndefined();
});

test.each<[string, LiveSubject, string]>([
  ["the project", subject(BASE, { ...HEAD_SPEC, project: "prod" }), "the project and definition of web"],
  ["the source", subject(BASE, BASE), "the definition of web"],
  ["what it replaces", subject({ ...BASE, project: "prod" }), "the definition of web"],
  ["the commit", { ...subject(BASE), head: { spec: HEAD_SPEC, positions: [], fixed: [] } }, "the sources of web"],
])("%s differs", (_what, one, text) => {
  expect(difference(one)).toContain(text);
});

test("a child that changed meanwhile, or is gone, would be written", () => {
  expect(difference(subject(BASE), [application(CHILD, HEAD_SPEC)])).toContain(
    "the definition of child changed in Argo CD",
  );
  expect(difference(subject(BASE), [])).toContain("the definition of child changed in Argo CD");
});

test("the plan of another commit is stale in any case", () => {
  const moved = { ...change, headRevision: change.baseRevision };
  expect(differingFrom(plan, [subject(BASE)], running, moved).size).toBe(0);
});
