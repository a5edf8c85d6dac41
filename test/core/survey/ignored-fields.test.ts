import { expect, test } from "@jest/globals";
import type { ApplicationSpec } from "../../../src/core/model/application.js";
import type { Json } from "../../../src/core/model/json.js";
import { ignoredFieldsNotes, regenerated } from "../../../src/core/survey/ignored-fields.js";
import { sampleApplication } from "../sample-application.js";

const set = (ignoreApplicationDifferences?: Json) => ({
  name: "shops",
  namespace: undefined,
  resource: { spec: { ignoreApplicationDifferences } },
});

const application = (spec: ApplicationSpec) => sampleApplication("team/web", spec, { namespace: "team" });

const REVISION = { jsonPointers: ["/spec/source/targetRevision"] };
const LIVE = { project: "a", source: { path: "old", targetRevision: "v1", helm: { values: "live" } } };
const GENERATED = { project: "a", source: { path: "new", targetRevision: "main" } };

test.each<[string, Json | undefined, ApplicationSpec, ApplicationSpec, ApplicationSpec]>([
  ["nothing is ignored", undefined, GENERATED, LIVE, GENERATED],
  ["no list", "x", GENERATED, LIVE, GENERATED],
  ["a rule for another application", [{ ...REVISION, name: "api" }], GENERATED, LIVE, GENERATED],
  ["jq expressions alone", [{ jqPathExpressions: [".spec.source.targetRevision"] }], GENERATED, LIVE, GENERATED],
  [
    "a field is kept, and everything else is written",
    [REVISION],
    GENERATED,
    LIVE,
    { project: "a", source: { path: "new", targetRevision: "v1" } },
  ],
  [
    "a rule for the application by its resource's name",
    [{ ...REVISION, name: "web" }],
    { source: { targetRevision: "main" } },
    { source: { targetRevision: "v1" } },
    { source: { targetRevision: "v1" } },
  ],
  [
    "a field that only the live application has",
    [{ jsonPointers: ["/spec/syncPolicy"] }],
    { project: "b" },
    { project: "a", syncPolicy: { automated: {} } },
    { project: "b", syncPolicy: { automated: {} } },
  ],
  [
    "a field that only the generated one has is not written",
    [{ jsonPointers: ["/spec/syncPolicy"] }],
    { project: "a", syncPolicy: { automated: {} } },
    { project: "a" },
    { project: "a" },
  ],
  [
    "an ignored field inside a list stays as long as the rest of the list is the same",
    [{ jsonPointers: ["/spec/sources/0/targetRevision"] }],
    { sources: [{ path: "a", targetRevision: "main" }] },
    { sources: [{ path: "a", targetRevision: "v1" }] },
    { sources: [{ path: "a", targetRevision: "v1" }] },
  ],
  [
    "a list that differs is replaced as a whole, without the ignored field",
    [{ jsonPointers: ["/spec/sources/0/targetRevision"] }],
    { sources: [{ path: "b", targetRevision: "main" }] },
    { sources: [{ path: "a", targetRevision: "v1" }] },
    { sources: [{ path: "b" }] },
  ],
  [
    "a block with nothing else but an ignored field, which is kept where the block gets something",
    [REVISION],
    { source: { path: "new" } },
    { source: { targetRevision: "v1" } },
    { source: { path: "new", targetRevision: "v1" } },
  ],
  [
    "a block that goes, and its ignored field with it",
    [REVISION],
    { sources: [] },
    { source: { path: "old", targetRevision: "v1" } },
    { sources: [] },
  ],
  // What `CreateOrUpdate` of Argo CD 3.5 writes: it drops empty blocks of the template first, so that they differ from what is live.
  [
    "an empty block of the template takes a live one with nothing else but an ignored field with it",
    [{ jsonPointers: ["/spec/syncPolicy/automated", "/spec/source/helm/parameters"] }],
    { source: { path: "a", helm: {} }, syncPolicy: {} },
    { source: { path: "a", helm: { parameters: [{ name: "tag" }] } }, syncPolicy: { automated: {} } },
    { source: { path: "a" } },
  ],
  [
    "a block of the template that Argo CD answers with an empty one in it is empty",
    [{ jsonPointers: ["/spec/source/directory/jsonnet/libs"] }],
    { source: { path: "a", directory: { jsonnet: {} } } },
    { source: { path: "a", directory: { jsonnet: { libs: ["lib"] } } } },
    { source: { path: "a" } },
  ],
  [
    "an empty block of one of several sources stays",
    [{ jsonPointers: ["/spec/sources/0/helm/parameters"] }],
    { sources: [{ path: "a", helm: {} }] },
    { sources: [{ path: "a", helm: { parameters: [{ name: "tag" }] } }] },
    { sources: [{ path: "a", helm: { parameters: [{ name: "tag" }] } }] },
  ],
  [
    "pointers to something else, or to nothing",
    [{ jsonPointers: ["", "/", "spec", "/metadata/labels", "/specs", 7] }],
    GENERATED,
    LIVE,
    GENERATED,
  ],
  ["a pointer to the whole definition", [{ jsonPointers: ["/spec"] }], GENERATED, LIVE, LIVE],
])("%s", (_, rules, generated, live, expected) => {
  expect(regenerated(application(generated), live, set(rules))).toEqual(expected);
});

test("very many fields are taken out in no time, those of a list one after the other", () => {
  const names = Array.from({ length: 5000 }, (_, at) => `k${at}`);
  const rules = [{ jsonPointers: names.map((name) => `/spec/source/helm/valuesObject/${name}`) }];
  const valuesObject = Object.fromEntries(names.map((name, at): readonly [string, Json] => [name, at]));
  const before = performance.now();
  const found = regenerated(application({ source: { helm: { valuesObject } } }), { source: { path: "a" } }, set(rules));
  expect(performance.now() - before).toBeLessThan(2000);
  expect(found).toEqual({ source: { helm: { valuesObject: {} } } });
  const first = [{ jsonPointers: ["/spec/sources/0", "/spec/sources/1", "/spec/sources/length", "/spec/sources/01"] }];
  const sources = ["a", "b", "c", "d"].map((path) => ({ path }));
  expect(regenerated(application({ sources }), {}, set(first))).toEqual({ sources: [{ path: "b" }, { path: "d" }] });
});

test.each<[string, Json | undefined, Json | undefined, boolean, readonly string[]]>([
  ["nothing", undefined, undefined, true, []],
  ["ignored fields and no change", [REVISION], [REVISION], false, []],
  ["ignored fields", [REVISION], [REVISION], true, ["a change of those has no effect"]],
  [
    "jq",
    [{ jqPathExpressions: ["."] }],
    [{ jqPathExpressions: ["."] }],
    true,
    ["what they ignore is shown as changed"],
  ],
  ["a rule less", [REVISION], undefined, false, ["may be overwritten"]],
])("notes on %s", (_, before, after, changes, expected) => {
  const notes = ignoredFieldsNotes(set(before), set(after), changes);
  expect(notes).toEqual(expected.map((end): unknown => expect.stringMatching(new RegExp(`${end}$`))));
});
