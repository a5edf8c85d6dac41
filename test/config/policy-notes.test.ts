import { describe, expect, test } from "@jest/globals";
import { policyNotes } from "../../src/config/policy-notes.js";
import { parseRepositoryConfig } from "../../src/config/repository.js";

const LATER = ".svc.yaml: takes effect only after the merge, because rules come from the base branch: ";
const NOW = ".svc.yaml: acts on this PR already: ";

function notes(base: string, head: string): readonly string[] {
  return policyNotes(parseRepositoryConfig(base, "base"), parseRepositoryConfig(head, "head"));
}

const rule = (entry: string) => `sync_requirements: [${entry}]`;
const mapping = (name: string, ...paths: readonly string[]) =>
  `applications: [{ name: ${name}, paths: [${paths.join(", ")}] }]`;

describe("what a PR changes in .svc.yaml, and when it takes effect", () => {
  test.each<[string, string, string, readonly string[]]>([
    ["nothing", "auto_merge: true", "# a comment\nauto_merge: true", []],
    ["the version", "", "version: 1", []],
    ["rules", "auto_merge: true", "require_approval: false", [`${LATER}auto_merge, require_approval`]],
    [
      "every rule, by taking the file away",
      "autoplan: false\nrequire_approval: true",
      "",
      [`${LATER}autoplan, require_approval`],
    ],
    [
      "one requirement of one entry",
      rule("{ name: prod-*, require_approval: true, allowed_users: [bo] }"),
      rule("{ name: prod-*, require_approval: true, allowed_users: [bo, ana] }"),
      [`${LATER}sync_requirements prod-*: allowed_users`],
    ],
    [
      "a whole entry",
      "",
      rule("{ name: web, require_approval: false, commands: [plan], allowed_teams: [acme/all] }"),
      [
        `${LATER}sync_requirements web: require_approval, sync_requirements web: allowed_teams, sync_requirements web: commands`,
      ],
    ],
    [
      "the order of entries, which decides among patterns",
      rule("{ name: a*, require_approval: true }, { name: '*b', require_approval: false }"),
      rule("{ name: '*b', require_approval: false }, { name: a*, require_approval: true }"),
      [`${LATER}the order of sync_requirements`],
    ],
    ["a path more", mapping("web", "a/**"), mapping("web", "a/**", "b/**"), [`${NOW}applications web (b/**)`]],
    ["a path less", mapping("web", "a/**"), "", [`${LATER}removal of applications web (a/**)`]],
    ["cr_paths more", "cr_paths: [a/**]", "cr_paths: [a/**, b/**]", [`${NOW}cr_paths b/**`]],
    ["cr_paths less", "cr_paths: [a/**, b/**]", "cr_paths: [a/**]", [`${LATER}removal of cr_paths b/**`]],
    ["cr_paths for the first time", "", "cr_paths: [a/**]", [`${LATER}cr_paths`]],
    ["cr_paths no more", "cr_paths: [a/**]", "", [`${NOW}removal of cr_paths (all files are scanned)`]],
    [
      "both kinds",
      "auto_merge: true",
      `auto_merge: false\n${mapping("web", "x/**")}`,
      [`${LATER}auto_merge`, `${NOW}applications web (x/**)`],
    ],
  ])("%s", (_what, base, head, expected) => {
    expect(notes(base, head)).toEqual(expected);
  });

  test("a file that is broken on the base branch and put right here", () => {
    expect(notes("auto_merge: [", "auto_merge: true")).toEqual([
      expect.stringContaining("until the merge every application requires approval"),
    ]);
  });

  test.each(["auto_merge: true", "auto_merge: ["])("a file that is broken here says so elsewhere (base %j)", (base) => {
    expect(notes(base, "auto_merge: maybe")).toEqual([]);
  });
});
