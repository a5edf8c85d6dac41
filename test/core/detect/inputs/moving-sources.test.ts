import { describe, expect, test } from "@jest/globals";
import { movingPositions, notMovingReason } from "../../../../src/core/detect/inputs/moving-sources.js";
import { CHANGE, OWN_URL } from "../memory-snapshot.js";

const RELEASE = { ...CHANGE, baseBranch: "release/1.x" };
const single = (targetRevision?: string, more = {}) => ({
  source: { repoURL: OWN_URL, path: "a", targetRevision, ...more },
});

describe("which sources get the change request's commit", () => {
  test.each([
    ["absent, base is the default branch", single(), CHANGE, [1]],
    ["empty", single(""), CHANGE, [1]],
    ["HEAD", single("HEAD"), CHANGE, [1]],
    ["the branch's name", single("main"), CHANGE, [1]],
    ["the branch's full ref", single("refs/heads/main"), CHANGE, [1]],
    ["absent, base is another branch", single(), RELEASE, []],
    ["HEAD, base is another branch", single("HEAD"), RELEASE, []],
    ["the name of another base", single("release/1.x"), RELEASE, [1]],
    ["the full ref of another base", single("refs/heads/release/1.x"), RELEASE, [1]],
    ["the last part of the base only", single("1.x"), RELEASE, []],
    ["the default branch, base is another", single("main"), RELEASE, []],
    ["a tag", single("v1.2.3"), CHANGE, []],
    ["a tag's ref with the branch's name", single("refs/tags/main"), CHANGE, []],
    ["other letters", single("Main"), CHANGE, []],
    ["a commit", single("b".repeat(40)), CHANGE, []],
    ["a chart", single("main", { chart: "web" }), CHANGE, []],
    ["an OCI registry", { source: { repoURL: "oci://git.example.com/acme/deploy" } }, CHANGE, []],
    ["another repository", { source: { repoURL: "https://git.example.com/acme/other" } }, CHANGE, []],
    ["a hydrator", { sourceHydrator: { drySource: single("main").source } }, CHANGE, []],
    [
      "several sources, the ref source included",
      {
        sources: [
          { repoURL: "https://charts.example.com", chart: "web", targetRevision: "1.x" },
          { repoURL: "git@git.example.com:acme/deploy.git", ref: "values" },
          { repoURL: OWN_URL, path: "extra", targetRevision: "v1" },
          { repoURL: OWN_URL, path: "extra", targetRevision: "main" },
        ],
      },
      CHANGE,
      [2, 4],
    ],
  ])("%s", (_, spec, change, positions) => {
    expect(movingPositions(spec, change)).toEqual(positions);
  });
});

test.each([
  [single("main"), CHANGE, undefined],
  [single("v1"), CHANGE, "it follows v1, not main"],
  [single(), RELEASE, "it follows HEAD (main), not release/1.x"],
  [{ source: { repoURL: "https://x.example/y" } }, CHANGE, "none of its sources is in acme/deploy"],
  [
    {
      sources: [
        { repoURL: OWN_URL, path: "a" },
        { repoURL: OWN_URL, path: "b", targetRevision: "v1" },
      ],
    },
    CHANGE,
    "source 2 follows v1, not main",
  ],
  [{ sourceHydrator: { drySource: single().source } }, CHANGE, "source hydrator"],
  [
    { sourceHydrator: { drySource: single().source, syncSource: { targetBranch: "env/prod", path: "web" } } },
    RELEASE,
    "it follows HEAD (main), it follows env/prod, not release/1.x",
  ],
  [
    { sourceHydrator: { drySource: single("v1").source, syncSource: { targetBranch: "main", path: "web" } } },
    CHANGE,
    "source hydrator",
  ],
])("the reason for %j", (spec, change, text) => {
  const reason = notMovingReason(spec, change);
  if (text === undefined) expect(reason).toBeUndefined();
  else expect(reason).toContain(text);
});
