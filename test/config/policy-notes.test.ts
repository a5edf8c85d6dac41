import { describe, expect, test } from "@jest/globals";
import { parseRepositoryConfig } from "../../src/config/repository/repository-schema.js";
import { policyNotes } from "../../src/config/rules/settings.js";

const LATER = ".svc.yaml: takes effect only after the merge, because rules come from the base branch: ";
const NOW = ".svc.yaml: takes effect already: ";

function notes(base: string, head: string, earlier?: string): readonly string[] {
  const [before, after] = [parseRepositoryConfig(base, "base"), parseRepositoryConfig(head, "head")];
  const read = before.kind === "valid" || earlier === undefined ? before : parseRepositoryConfig(earlier, "earlier");
  return policyNotes(read.kind === "valid" ? read.config : undefined, before, after);
}

const rule = (entry: string) => `sync_requirements: [${entry}]`;
const mapping = (name: string, ...paths: readonly string[]) =>
  `applications: [{ name: ${name}, paths: [${paths.join(", ")}] }]`;

describe("what a PR changes in .svc.yaml, and when it takes effect", () => {
  test.each<[string, string, string, readonly string[]]>([
    ["nothing", "auto_merge: true", "# a comment\nauto_merge: true", []],
    ["the version", "", "version: 1", []],
    ["rules", "auto_merge: true", "require_approval: false", [`${LATER}approval no longer required, auto_merge`]],
    [
      "every rule, by taking the file away",
      "autoplan: false\nrequire_approval: true",
      "",
      [`${LATER}approval no longer required, autoplan`],
    ],
    [
      "one requirement of one entry",
      rule("{ name: prod-*, require_approval: true, allowed_users: [bo] }"),
      rule("{ name: prod-*, require_approval: true, allowed_users: [bo, ana] }"),
      [`${LATER}prod-*: allowed_users bo, ana instead of bo`],
    ],
    [
      "a whole entry",
      "",
      rule("{ name: web, require_approval: false, commands: [plan], allowed_teams: [acme/all] }"),
      [`${LATER}web: approval no longer required, web: restricted to allowed_teams acme/all, web: commands`],
    ],
    [
      "an entry that goes",
      rule("{ name: prod*, require_approval: true, require_up_to_date: true, allowed_users: [] }"),
      "",
      [
        `${LATER}prod*: approval no longer required, prod*: an up-to-date branch no longer required, prod*: no longer restricted to allowed_users nobody`,
      ],
    ],
    [
      "an entry for a destination",
      rule("{ destination: { cluster: in-cluster, namespace: prod-* }, require_approval: true }"),
      rule("{ destination: { cluster: in-cluster, namespace: prod-* }, require_approval: false }"),
      [`${LATER}cluster in-cluster, namespace prod-*: approval no longer required`],
    ],
    [
      "what no longer holds, first",
      rule("{ name: z, require_approval: true }"),
      rule("{ name: a, require_approval: true }, { name: b, allowed_users: [x] }"),
      [`${LATER}z: approval no longer required, a: approval required, b: restricted to allowed_users x`],
    ],
    [
      "the order of entries, which decides among patterns",
      rule("{ name: a*, require_approval: true }, { name: '*b', require_approval: false }"),
      rule("{ name: '*b', require_approval: false }, { name: a*, require_approval: true }"),
      [`${LATER}the order of sync_requirements`],
    ],
    [
      "the order of entries beside another change",
      rule(
        "{ name: prod-*, require_approval: true }, { name: '*', require_approval: false }, { name: a, sync_on: command }",
      ),
      rule("{ name: '*', require_approval: false, on_failure: keep }, { name: prod-*, require_approval: true }"),
      [`${LATER}*: on_failure, a: sync_on, the order of sync_requirements`],
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
      expect.stringContaining("until the merge every application requires approval by an administrator of svc's pages"),
    ]);
    expect(notes("auto_merge: [", "auto_merge: true", "require_approval: true")).toEqual([
      expect.stringContaining("requires approval, and the rules of the last version that could be read hold"),
      `${LATER}approval no longer required, auto_merge`,
    ]);
  });

  test("a long list of changes hides none of those that loosen", () => {
    const many = Array.from({ length: 60 }, (_, index) => `{ name: application-${index}, require_approval: true }`);
    const found = notes(rule("{ name: prod, require_approval: true }"), rule(many.join(", ")));
    expect(found[0]).toContain(`${LATER}prod: approval no longer required`);
    expect(found.every((note) => note.length <= 500)).toBe(true);
    expect(found.join(" ")).toContain("application-59: approval required");
  });

  test.each(["auto_merge: true", "auto_merge: ["])("a file that is broken here says so elsewhere (base %j)", (base) => {
    expect(notes(base, "auto_merge: maybe")).toEqual([]);
  });
});
