import { expect, test } from "@jest/globals";
import { failureToCreate } from "../../../src/core/survey/sets/set-failure.js";
import { sampleApplication } from "../sample-application.js";

// What `ValidateObjectMeta` of Kubernetes 1.34 says to each.
test.each<[string, Record<string, string>, string | undefined]>([
  [
    "labels",
    { tier: "web", "app.kubernetes.io/name": "A_b.c-9", empty: "", [`x.y/${"k".repeat(63)}`]: "v" },
    undefined,
  ],
  ["labels", { path: "apps/web" }, "the label path"],
  ["labels", { version: "v1.2-" }, "the label version"],
  ["labels", { team: "<no value>" }, "the label team"],
  ["labels", { long: "x".repeat(64) }, "the label long"],
  ["labels", { line: "x\n" }, "the label line"],
  ["labels", { "a/b/c": "" }, "the label a/b/c"],
  ["labels", { "/b": "" }, "the label /b"],
  ["labels", { "Example.com/b": "" }, "the label Example.com/b"],
  ["labels", { "": "" }, "the label "],
  ["annotations", { note: "any text / at all\n", "Example.com/B": "" }, undefined],
  ["annotations", { "a b": "" }, "the annotation a b"],
  ["annotations", { ["k".repeat(64)]: "" }, `the annotation ${"k".repeat(64)}`],
])("of generated %s %j Kubernetes refuses: %s", (kind, members, refused) => {
  const failure = failureToCreate([sampleApplication("good", {}), sampleApplication("web", {}, { [kind]: members })]);
  expect(failure?.why).toBe(refused && `Kubernetes refuses ${refused} of the application web`);
});
