import { describe, expect, test } from "@jest/globals";
import { compareGenerated } from "../../../src/core/detect/scan/application-sets.js";
import type { Application, ApplicationSet } from "../../../src/core/model/application.js";
import { changesToPreview } from "../../../src/core/survey/sets/generated-applications.js";
import { sampleApplication } from "../sample-application.js";

/** `name` or `name=path`. */
function application(text: string): Application {
  const [name = "", path = name] = text.split("=");
  return sampleApplication(name, { source: { path } });
}

interface Case {
  readonly name?: string;
  readonly base?: readonly string[];
  readonly head?: readonly string[];
  readonly policy?: string;
  readonly deleted?: boolean;
  readonly alsoIn?: readonly string[];
}

function expansion({ name = "s", base = [], head = [], policy = "sync", deleted, alsoIn = [] }: Case) {
  const set: ApplicationSet = {
    name,
    namespace: undefined,
    resource: { spec: { syncPolicy: { applicationsSync: policy } } },
  };
  const sides = { base: base.map(application), head: head.map(application) };
  return {
    ...sides,
    set: {
      name,
      sourceFile: `${name}.yaml`,
      base: set,
      ...(deleted === true ? {} : { head: set }),
      alsoIn,
      problem: undefined,
    },
    comparison: compareGenerated(sides.base, sides.head),
  };
}

describe("changesToPreview", () => {
  const all: Case = { base: ["kept", "gone", "other=1"], head: ["kept", "new", "other=2"] };

  test.each<[string, readonly Case[], readonly string[], readonly string[]]>([
    ["nothing", [{ base: ["a"], head: ["a"] }], ["a"], []],
    [
      "all that differs, of which what runs and changes is planned",
      [all],
      ["kept", "gone", "other"],
      ["removed gone", "added new"],
    ],
    [
      "a change of what Argo CD does not list, with both sides",
      [all],
      ["kept"],
      ["changed other from 1 to 2", "added new"],
    ],
    ["create-only", [{ ...all, policy: "create-only" }], ["gone"], ["added new"]],
    ["create-update", [{ ...all, policy: "create-update" }], ["gone"], ["changed other from 1 to 2", "added new"]],
    ["create-delete", [{ ...all, policy: "create-delete" }], ["gone"], ["removed gone", "added new"]],
    [
      "a set that goes takes its applications along, whatever its policy was",
      [{ base: ["a", "b"], policy: "create-only", deleted: true }],
      ["a", "b"],
      ["removed a", "removed b"],
    ],
    ["what is added and runs already as it is", [{ head: ["a", "b"] }], ["a"], ["added b"]],
    [
      "what is added and runs already with another definition, whatever the policy",
      [{ head: ["a", "b"], policy: "create-only" }],
      ["a=old"],
      ["changed a from old to a", "added b"],
    ],
    ["what is removed and does not run", [{ base: ["a", "b"] }], ["a"], ["removed a"]],
    [
      "what is generated twice, as it is first",
      [{ base: ["a=1"], head: ["a=2", "b", "a=1", "b"] }],
      [],
      ["changed a from 1 to 2", "added b"],
    ],
    [
      "what moves to another set",
      [
        { name: "s", base: ["a", "b"] },
        { name: "t", head: ["a"] },
      ],
      ["a", "b"],
      ["removed a", "removed b"],
    ],
    [
      "a set of which nobody knows which one runs, with what runs and changes",
      [{ ...all, alsoIn: ["copy.yaml"] }],
      ["gone", "other"],
      ["removed gone", "changed other from 1 to 2", "added new"],
    ],
    [
      "what another file with a set of this name generates",
      [
        { base: ["a"], alsoIn: ["copy.yaml"] },
        { head: ["a"], alsoIn: ["s.yaml"] },
      ],
      ["a"],
      [],
    ],
  ])("%s", (_, sets, live, expected) => {
    const found = changesToPreview(sets.map(expansion), new Map(live.map(application).map((one) => [one.name, one])));
    const path = (one: Application | undefined) => (one?.spec.source as { path: string } | undefined)?.path;
    const text = found.map(({ application: name, origin, base, head }) => {
      const sides = origin.change === "changed" ? ` from ${path(base) ?? ""} to ${path(head) ?? ""}` : "";
      return `${origin.change} ${name}${sides}`;
    });
    expect(text).toEqual(expected);
  });
});
