import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { parseRepositoryConfig } from "../../src/config/repository/repository-schema.js";
import { describeProblem } from "../../src/config/yaml-tree.js";
import { shareOf } from "../share-of.js";

function problemsOf(text: string): readonly string[] {
  const result = parseRepositoryConfig(text, ".svc.yaml");
  return result.kind === "invalid" ? result.problems.map(describeProblem) : [];
}

test("every key is read", () => {
  const text = `
version: 1
autoplan: false
skip_no_changes: true
auto_merge: true
merge_method: rebase
delete_source_branch: true
require_approval: true
require_up_to_date: false
require_healthy: true
health_timeout: 1h
on_failure: rollback
applications:
  - name: team-a/web
    paths: [charts/web/**, "{a,b}/*.yaml"]
cr_paths: [argocd/**]
sync_requirements:
  - {name: prod-*, require_approval: true}
  - {name: web, require_up_to_date: true}
  - {name: slow, require_healthy: false, health_timeout: 10m, on_failure: keep}
  - {name: api, allowed_users: [Ana, "renovate[bot]"], allowed_teams: [acme/platform, group], commands: [plan, sync]}
`;
  expect(parseRepositoryConfig(text, ".svc.yaml")).toEqual({
    kind: "valid",
    config: {
      version: 1,
      autoplan: false,
      skipNoChanges: true,
      autoMerge: true,
      mergeMethod: "rebase",
      deleteSourceBranch: true,
      requireApproval: true,
      requireUpToDate: false,
      requireHealthy: true,
      healthTimeout: 3_600_000,
      onFailure: "rollback",
      applications: [{ name: "team-a/web", paths: ["charts/web/**", "{a,b}/*.yaml"] }],
      crPaths: ["argocd/**"],
      syncRequirements: [
        { name: "prod-*", requireApproval: true },
        { name: "web", requireUpToDate: true },
        { name: "slow", requireHealthy: false, healthTimeout: 600_000, onFailure: "keep" },
        {
          name: "api",
          allowedUsers: ["Ana", "renovate[bot]"],
          allowedTeams: ["acme/platform", "group"],
          commands: ["plan", "sync"],
        },
      ],
    },
  });
});

test.each(["", "\n", "# nothing\n", "---\n", "{}", "null", "\uFEFF"])("%j sets nothing", (text) => {
  expect(parseRepositoryConfig(text, ".svc.yaml")).toEqual({
    kind: "valid",
    config: { applications: [], syncRequirements: [] },
  });
});

describe("mistakes are named with line, column, key and what is allowed", () => {
  test.each([
    ["version: 2", ".svc.yaml:1:10 version: expected 1, the only version of this file; found a number"],
    ['version: "1"', ".svc.yaml:1:10 version: expected 1, the only version of this file; found other text"],
    ["autoplan: yes", ".svc.yaml:1:11 autoplan: expected true or false; found other text"],
    ["skip_no_changes: 1", ".svc.yaml:1:18 skip_no_changes: expected true or false; found a number"],
    ["auto_merge: []", ".svc.yaml:1:1 auto_merge: expected true or false; found a list"],
    ["merge_method: fast", ".svc.yaml:1:15 merge_method: expected one of squash, merge, rebase; found other text"],
    ["delete_source_branch:", "delete_source_branch: expected true or false; found nothing"],
    ["\n\nrequire_approval: {}", ".svc.yaml:3:1 require_approval: expected true or false; found a section"],
    ['require_up_to_date: "true"', "require_up_to_date: expected true or false; found other text"],
    [
      "health_timeout: 2h",
      "health_timeout: expected a duration such as 30s, 10m or 1h30m, 1h at most; found other text",
    ],
    ["on_failure: retry", "on_failure: expected one of keep, rollback; found other text"],
    ["applications: web", "applications: expected a list; found other text"],
    ["applications: [web]", ".svc.yaml:1:16 applications[0]: expected a section with name, paths; found other text"],
    ["applications:\n  - paths: [a]", ".svc.yaml:2:5 applications[0].name: is required: an exact name, or a pattern"],
    ["applications:\n  - name: a", "applications[0].paths: is required: a list"],
    ["applications:\n  - {name: a, paths: []}", "applications[0].paths: at least one pattern is needed"],
    ["applications:\n  - {name: a, paths: [3]}", ".svc.yaml:2:23 applications[0].paths[0]: expected an exact name"],
    ["applications:\n  - {name: '', paths: [a]}", "applications[0].name: the pattern is empty"],
    ["cr_paths: a/**", "cr_paths: expected a list; found other text"],
    ["cr_paths:\n  - /a\n  - +(a)", ".svc.yaml:3:5 cr_paths[1]: patterns such as `+(…)` are not supported"],
    ["cr_paths: ['a*a*a*a*a']", "cr_paths[0]: more than 3 `*`"],
    ["stages: []", "stages: at least one stage is needed"],
    ["stages:\n  - {applications: a}", ".svc.yaml:2:5 stages[0].name: is required"],
    ["stages:\n  - {name: dev}", "stages[0].applications: is required"],
    ["stages:\n  - {name: a b, applications: a}", "stages[0].name: expected a name of up to 40 letters"],
    [
      "stages:\n  - {name: a, applications: a}\n  - {name: a, applications: b}",
      "stages[1].name: an earlier stage has this name",
    ],
    ["stages:\n  - {name: a, applications: a, soak: 10m}", "stages[0].soak: nothing comes before the first stage"],
    ["stages:\n  - {name: a, applications: a, wait: manual}", "stages[0].wait: nothing comes before the first stage"],
    [
      "stages:\n  - {name: a, applications: a}\n  - {name: b, applications: b, soak: 25h}",
      "stages[1].soak: expected a duration such as 30s, 10m or 1h30m, 24h at most",
    ],
    ["stages:\n  - {name: a, applications: a, wait: never}", "stages[0].wait: expected one of healthy, manual"],
    ["sync_requirements: {a: 1}", "sync_requirements: expected a list; found a section"],
    ["sync_requirements:\n  - {name: a}", ".svc.yaml:2:5 sync_requirements[0]: the entry requires nothing"],
    [
      "sync_requirements:\n  - {require_approval: true}",
      "sync_requirements[0].name: is required, or project or destination",
    ],
    [
      "sync_requirements:\n  - {destination: {}, require_approval: true}",
      "[0].destination: set cluster, namespace or both",
    ],
    [
      "sync_requirements:\n  - {project: a, require_approval: true}\n  - {project: a, require_approval: false}",
      ".svc.yaml:3:15 sync_requirements[1].project: an earlier entry has this project; merge the two",
    ],
    [
      "sync_requirements:\n  - {destination: {cluster: 'https://a//b'}, require_approval: true}",
      "sync_requirements[0].destination.cluster: the pattern contains an empty part",
    ],
    ["sync_requirements:\n  - {destination: {server: a}, require_approval: true}", "server: unknown key"],
    ["sync_requirements:\n  - {name: a, require_approval: on}", "sync_requirements[0].require_approval: expected true"],
    [
      "sync_requirements:\n  - {name: a, require_approval: true}\n  - {name: a, require_approval: false}",
      ".svc.yaml:3:12 sync_requirements[1].name: an earlier entry has this name",
    ],
    [
      "sync_requirements:\n  - {name: 'prod-*, web', require_approval: true}",
      "sync_requirements[0].name: no name has white space in it",
    ],
    [
      "sync_requirements:\n  - {name: '{prod, staging}-*', require_approval: true}",
      "sync_requirements[0].name: no name has white space in it",
    ],
    [
      "sync_requirements:\n  - {name: 'web,api', require_approval: true}",
      "sync_requirements[0].name: no name has a comma in it: write several entries, or `{a,b}`",
    ],
    [
      "sync_requirements:\n  - {project: 'a,{b,c}', destination: {namespace: ' x'}, require_approval: true}",
      "sync_requirements[0].project: no name has a comma",
    ],
    ["stages:\n  - {name: dev, applications: 'dev-*,qa-*'}", "stages[0].applications: no name has a comma in it"],
    [
      "sync_requirements:\n  - {name: 'prod-{eu}', require_approval: true}",
      "sync_requirements[0].name: no name has braces in it: `{a,b}` stands for two names or more",
    ],
    [
      "sync_requirements:\n  - {name: 'web-${ENV}', require_approval: true}",
      "sync_requirements[0].name: no name has braces",
    ],
    ["applications:\n  - {name: 'a b', paths: [a]}", "applications[0].name: no name has white space in it"],
    ["sync_requirements:\n  - {name: a, allowed_users: ana}", "sync_requirements[0].allowed_users: expected a list"],
    ["sync_requirements:\n  - {name: a, allowed_users: ['@ana']}", "allowed_users[0]: expected a login without `@`"],
    ["sync_requirements:\n  - {name: a, allowed_users: [acme/team]}", "allowed_users[0]: expected a login"],
    ["sync_requirements:\n  - {name: a, allowed_teams: [acme//x]}", "allowed_teams[0]: expected a team as <org>/"],
    ["sync_requirements:\n  - {name: a, allowed_teams: ['@acme/x']}", "allowed_teams[0]: expected a team as <org>/"],
    [
      `sync_requirements:\n  - {name: a, allowed_teams: [${"acme/x, ".repeat(21)}]}`,
      "sync_requirements[0].allowed_teams: at most 20 entries",
    ],
    [
      "sync_requirements:\n  - {name: a, allowed_users: [ana], commands: [deploy]}",
      ".svc.yaml:2:48 sync_requirements[0].commands[0]: expected one of plan, sync, rollback, unlock; found other text",
    ],
    [
      "sync_requirements:\n  - {name: a, allowed_users: [ana], commands: []}",
      "sync_requirements[0].commands: at least one command is needed",
    ],
    [
      "sync_requirements:\n  - {name: a, require_approval: true, commands: [sync]}",
      "sync_requirements[0].commands: commands says what allowed_users and allowed_teams restrict; set at least one",
    ],
    ["sync_requirements:\n  - {name: a, alowed_users: [ana]}", "unknown key; did you mean `allowed_users`?"],
    ["require_aproval: true", ".svc.yaml:1:1 require_aproval: unknown key; did you mean `require_approval`?"],
    ["autoPlan: true", "unknown key; did you mean `autoplan`?"],
    ["frobnicate: true", "frobnicate: unknown key; allowed here: version, autoplan, "],
    ["prune: true", "prune: unknown key; allowed here:"],
    ["__proto__: true", "__proto__: unknown key"],
    ["? [a, b]\n: 1", ".svc.yaml:1:3 a key must be a plain text"],
    ["autoplan: true\nautoplan: false", ".svc.yaml:2:1 autoplan: the key is set twice, first on line 1"],
    ["require_approval: true\n---\nrequire_approval: false", ".svc.yaml:2:1 not valid YAML: only one document"],
    ["- a", ".svc.yaml:1:1 the file must hold keys with values"],
    ["just text", "the file must hold keys with values"],
    ["\tautoplan: true", ".svc.yaml:1:1 not valid YAML: indent with spaces, not with tabs"],
    ["cr_paths: [a", "not valid YAML:"],
    ["cr_paths: *nothing", "cr_paths: the alias names no anchor above it"],
    ["cr_paths: !odd a", "not valid YAML: the parser says TAG_RESOLVE_FAILED"],
    ["a".repeat(200 * 1024), "the file is larger than 64 KiB"],
  ])("%j", (text, expected) => {
    const problems = problemsOf(text);
    expect(problems.some((problem) => problem.includes(expected)) ? expected : problems).toBe(expected);
  });

  test("all at once, in the order of the lines", () => {
    expect(problemsOf("autoplan: 1\ncr_paths: 2\nfoo: 3\nmerge_method: 4")).toEqual([
      expect.stringContaining(":1:11 autoplan:"),
      expect.stringContaining(":2:11 cr_paths:"),
      expect.stringContaining(":3:1 foo:"),
      expect.stringContaining(":4:15 merge_method:"),
    ]);
  });

  test.each(["autoplan: [\nfoo: }\nmerge_method: 4", "a: b: c\n\td: [\ne: 'f", "autoplan: 1\nx: @y\nz: `"])(
    "nothing is guessed behind the first mistake in the syntax: %j",
    (text) => {
      expect(problemsOf(text)).toEqual([expect.stringMatching(/ not valid YAML: .+\. What follows was not checked$/)]);
    },
  );

  test("a flood of mistakes is counted", () => {
    const problems = problemsOf(Array.from({ length: 300 }, (_, index) => `key${index}: 1`).join("\n"));
    expect(problems).toHaveLength(51);
    expect(problems.at(-1)).toBe(".svc.yaml:51:1 250 more mistakes from here on");
  });

  test("an odd key is shown on one line and shortened", () => {
    const [problem] = problemsOf(`"a\\nb${"c".repeat(100)}": 1`);
    expect(problem).toContain('["a\\nbccc');
    expect(problem?.split(" unknown key")[0]?.length).toBeLessThan(100);
  });
});

test("names are read in any case, since Kubernetes has no capital letters in them", () => {
  const text = `
applications: [{ name: Web, paths: ["Deploy/**"] }]
sync_requirements:
  - { name: Prod-*, project: Payments, destination: { cluster: Prod-EU, namespace: Shop }, require_approval: true }
`;
  const result = parseRepositoryConfig(text, ".svc.yaml");
  expect(result.kind === "valid" && result.config).toMatchObject({
    applications: [{ name: "web", paths: ["Deploy/**"] }],
    // Argo CD's names of clusters may have them.
    syncRequirements: [{ name: "prod-*", project: "payments", destination: { cluster: "Prod-EU", namespace: "shop" } }],
  });
});

test("variables stay plain text", () => {
  const text = "applications:\n  - {name: web, paths: ['${HOME}/**']}";
  const result = parseRepositoryConfig(text, ".svc.yaml");
  expect(result.kind === "valid" && result.config.applications).toEqual([{ name: "web", paths: ["${HOME}/**"] }]);
});

test("an alias stands for the anchor above it, also where another alias repeats either", () => {
  const text = `
applications:
  - { name: one, paths: &all [&dir "a/**"] }
  - { name: two, paths: &own [&dir "b/**"] }
  - { name: three, paths: *all }
  - { name: four, paths: &last [*dir] }
  - { name: five, paths: [&dir "c/**"] }
  - { name: six, paths: *last }
`;
  const result = parseRepositoryConfig(text, ".svc.yaml");
  const paths = result.kind === "valid" && result.config.applications.map((one) => one.paths.join());
  expect(paths).toEqual(["a/**", "b/**", "a/**", "b/**", "c/**", "b/**"]);
});

test("anchors and aliases within reason are read", () => {
  const text = "cr_paths: &all [a/**]\napplications: [{name: web, paths: *all}]";
  const result = parseRepositoryConfig(text, ".svc.yaml");
  expect(result.kind === "valid" && result.config.applications).toEqual([{ name: "web", paths: ["a/**"] }]);
});

describe("hostile files are refused in bounded time", () => {
  const size = 60 * 1024;
  const fill = (text: string) => text.repeat(Math.floor(size / text.length));
  const bomb = ["a: &a0 [x, x, x, x, x, x, x, x, x, x]"];
  for (let level = 1; level < 12; level++) {
    bomb.push(`b${level}: &a${level} [${Array.from({ length: 10 }, () => `*a${level - 1}`).join(", ")}]`);
  }
  test.each([
    ["an alias bomb", bomb.join("\n"), "more than 20000 values"],
    ["an alias of itself", "cr_paths: &a [*a, *a]", "nested deeper than 20 levels"],
    ["aliases by the thousand", `a: &a 1\ncr_paths: [${fill("*a,")}]`, "more than 20000 values"],
    [
      "keys by the thousand",
      Array.from({ length: size / 10 }, (_, index) => `k${index}: 1`).join("\n"),
      "more mistakes",
    ],
    ["the same key by the thousand", fill("a: 1\n"), "more mistakes"],
    ["open brackets", fill("["), "nested too deeply"],
    ["open braces", fill("{a: "), "nested too deeply"],
    ["brackets that close", "[".repeat(size / 2) + "]".repeat(size / 2), "nested too deeply"],
    ["keys of keys", fill("? "), "nested too deeply"],
    ["nested lists", fill("- "), "nested too deeply"],
    ["closed brackets", fill("]"), "not valid YAML"],
    ["commas", `[${fill(",")}`, "not valid YAML"],
    ["quotes", fill('"'), "not valid YAML"],
    ["documents", fill("---\n"), "only one document"],
    ["tags", fill("!a "), "not valid YAML"],
    ["patterns by the thousand", `cr_paths: [${fill("a,")}]`, "more than 20000 values"],
    ["a pattern made to hang", `cr_paths: ["${"{a,aa}".repeat(40)}"]`, "more than 16 patterns"],
  ])("%s", (_, text, expected) => {
    const before = process.cpuUsage();
    const problems = problemsOf(text);
    expect(process.cpuUsage(before).user / 1e6).toBeLessThan(15); // seconds of our own, however busy the machine is
    expect(problems.join("\n")).toContain(expected);
  });

  test("any text is answered, never thrown at", () => {
    const yaml = fc.stringMatching(/^[a:\-\s{}[\]&*!|>'"#,?%~$1.]{0,60}$/);
    const keyed = fc
      .array(
        fc.tuple(
          fc.constantFrom("version", "autoplan", "applications", "cr_paths", "sync_requirements", "merge_method"),
          fc.oneof(yaml, fc.json()),
        ),
      )
      .map((pairs) => pairs.map(([key, value]) => `${key}: ${value}`).join("\n"));
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: "binary" }), yaml, keyed, fc.json()), (text) => {
        const result = parseRepositoryConfig(text, ".svc.yaml");
        if (result.kind === "invalid") {
          expect(result.problems.length).toBeGreaterThan(0);
          for (const problem of result.problems) {
            expect(problem.line).toBeGreaterThanOrEqual(1);
            expect(problem.column).toBeGreaterThanOrEqual(1);
            expect(describeProblem(problem)).not.toMatch(/[\n\r]/);
          }
        }
      }),
      { numRuns: shareOf(3000) },
    );
  });
});
