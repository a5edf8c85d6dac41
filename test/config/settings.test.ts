import { describe, expect, test } from "@jest/globals";
import { stringify } from "yaml";
import type { ServerDefaults } from "../../src/config/server/server.js";
import { describeProblem } from "../../src/config/yaml-tree.js";
import { resolveTexts } from "./resolve-texts.js";
import { configOf, SMALLEST } from "./server-file.js";

const DEFAULTS: ServerDefaults = configOf([SMALLEST]).defaults;
const STRICT: ServerDefaults = { ...DEFAULTS, requireApproval: true };

function resolve(base: string | undefined, head = base, defaults = DEFAULTS) {
  return resolveTexts(defaults, { applicationRepositories: [] }, { base, head });
}

describe("approval: per-app sync_requirements (exact match first, then wildcard); repository require_approval; server defaults.require_approval", () => {
  const file = (repository: string, ...entries: readonly string[]) =>
    `${repository}\nsync_requirements: [${entries.join(", ")}]`;
  const entry = (name: string, approval: boolean) => `{name: "${name}", require_approval: ${approval}}`;

  test.each([
    ["server alone", "", false, false],
    ["server alone", "", true, true],
    ["repository over server", "require_approval: true", false, true],
    ["repository over server", "require_approval: false", true, false],
    ["wildcard over repository", file("require_approval: false", entry("prod-*", true)), false, true],
    ["wildcard over repository", file("require_approval: true", entry("prod-*", false)), true, false],
    ["exact over wildcard", file("", entry("prod-*", false), entry("prod-web", true)), false, true],
    ["exact over wildcard, in any order", file("", entry("prod-web", false), entry("*", true)), true, false],
    ["the first wildcard that matches", file("", entry("prod-*", true), entry("*", false)), false, true],
    ["the first wildcard that matches", file("", entry("*", false), entry("prod-*", true)), false, false],
    ["no entry matches", file("require_approval: true", entry("test-*", false), entry("prod", false)), false, true],
    ["a star alone reaches every application", file("", entry("*", true)), false, true],
  ])("%s: %j, server %p", (_, text, server, expected) => {
    const { settings } = resolve(text, text, { ...DEFAULTS, requireApproval: server });
    expect(settings.requirementsFor({ name: "prod-web" }).requireApproval).toBe(expected);
  });

  test("each requirement is looked up on its own", () => {
    const { settings } = resolve(`
require_up_to_date: false
sync_requirements:
  - {name: web, require_approval: false}
  - {name: w*, require_up_to_date: true, require_approval: true}
`);
    expect(settings.requirementsFor({ name: "web" })).toEqual({ requireApproval: false, requireUpToDate: true });
    expect(settings.requirementsFor({ name: "wide" })).toEqual({ requireApproval: true, requireUpToDate: true });
    expect(settings.requirementsFor({ name: "other" })).toEqual({ requireApproval: false, requireUpToDate: false });
  });

  test("up to date: repository over server", () => {
    const defaults = { ...DEFAULTS, requireUpToDate: true };
    expect(resolve("", "", defaults).settings.requirementsFor({ name: "web" }).requireUpToDate).toBe(true);
    const loosened = resolve("require_up_to_date: false", "", defaults).settings;
    expect(loosened.requirementsFor({ name: "web" }).requireUpToDate).toBe(false);
  });
});

describe("what starts a sync", () => {
  const APPROVAL = "sync_on: approval";
  const of = (base: string, floor: readonly Record<string, string>[] = [], defaultBranch?: string) => {
    const { syncRequirements } = configOf([SMALLEST, stringify({ sync_requirements: floor })]);
    const files = { base, head: APPROVAL, ...(defaultBranch === undefined ? {} : { defaultBranch }) };
    const { settings } = resolveTexts(DEFAULTS, { applicationRepositories: [], syncRequirements }, files);
    return settings.requirementsFor({ name: "web" }).onApproval === true;
  };
  const entry = (name: string, sync_on: string) => ({ name, sync_on });

  test.each([
    ["a command alone, if nothing says otherwise", "", false],
    ["the repository's key", APPROVAL, true],
    ["an entry over the key", `${APPROVAL}\nsync_requirements: [{ name: web, sync_on: command }]`, false],
    ["an entry alone", "sync_requirements: [{ name: w*, sync_on: approval }]", true],
    [
      "an exact entry over a pattern",
      "sync_requirements: [{ name: w*, sync_on: approval }, { name: web, sync_on: command }]",
      false,
    ],
    [
      "an entry that may match lets none start",
      `${APPROVAL}\nsync_requirements: [{ project: p, sync_on: command }]`,
      false,
    ],
    ["an entry that may match starts none", "sync_requirements: [{ project: p, sync_on: approval }]", false],
    ["a broken file", "sync_on: sometimes", false],
  ])("%s", (_case, base, expected) => {
    expect(of(base)).toBe(expected);
  });

  test("the server's entry is a default for a file that says nothing, and its command holds for all", () => {
    expect(of("", [entry("web", "approval")])).toBe(true);
    expect(of("sync_on: command", [entry("web", "approval")])).toBe(false);
    expect(of(APPROVAL, [entry("web", "command")])).toBe(false);
    expect(of(APPROVAL, [entry("api", "command")])).toBe(true);
  });

  test("both the base branch and the default branch have to say so", () => {
    expect(of(APPROVAL, [], "")).toBe(false);
    expect(of("", [], APPROVAL)).toBe(false);
    expect(of(APPROVAL, [], APPROVAL)).toBe(true);
  });
});

describe("how healthy an application must get", () => {
  const of = (base: string, more: Partial<ServerDefaults> = {}, defaultBranch: string | null = null) => {
    const files = { base, head: base, defaultBranch };
    const { settings } = resolveTexts({ ...DEFAULTS, ...more }, { applicationRepositories: [] }, files);
    return settings.requirementsFor({ name: "prod-web" }).health;
  };
  const rule = (keys: string) => `sync_requirements: [{name: prod-*, ${keys}}]`;

  test.each<[string, string, Partial<ServerDefaults>, ReturnType<typeof of>]>([
    ["nothing asks for it", "health_timeout: 1m\non_failure: rollback", {}, undefined],
    ["the server", "", { requireHealthy: true }, { timeoutMs: 300_000, onFailure: "keep" }],
    [
      "the server, whatever the repository says",
      "require_healthy: false",
      { requireHealthy: true },
      { timeoutMs: 300_000, onFailure: "keep" },
    ],
    [
      "the server, whatever an entry says",
      rule("require_healthy: false"),
      { requireHealthy: true },
      { timeoutMs: 300_000, onFailure: "keep" },
    ],
    ["the repository", "require_healthy: true\nhealth_timeout: 1m", {}, { timeoutMs: 60_000, onFailure: "keep" }],
    ["not for an entry of the repository", `require_healthy: true\n${rule("require_healthy: false")}`, {}, undefined],
    [
      "an entry, each key on its own",
      `health_timeout: 2m\n${rule("require_healthy: true, on_failure: rollback")}`,
      {},
      { timeoutMs: 120_000, onFailure: "rollback" },
    ],
    [
      "an entry over the server's rollback",
      rule("require_healthy: true, on_failure: keep"),
      { onFailure: "rollback" },
      { timeoutMs: 300_000, onFailure: "keep" },
    ],
    [
      "an entry that may match",
      "sync_requirements: [{name: '*', project: p, require_healthy: true, health_timeout: 1m, on_failure: rollback}]",
      {},
      { timeoutMs: 60_000, onFailure: "keep" },
    ],
  ])("%s", (_case, base, defaults, expected) => {
    expect(of(base, defaults)).toEqual(expected);
  });

  test("the default branch asks for it, and svc rolls back only where both branches say so", () => {
    const [strict, other] = [
      "require_healthy: true\nhealth_timeout: 1m\non_failure: rollback",
      "require_healthy: true",
    ];
    expect(of("", {}, strict)).toEqual({ timeoutMs: 60_000, onFailure: "rollback" });
    expect(of(other, {}, strict)).toEqual({ timeoutMs: 60_000, onFailure: "keep" });
  });
});

describe("what the server's entries say of the health", () => {
  const of = (base: string, entry: Readonly<Record<string, unknown>>, more: Partial<ServerDefaults> = {}) => {
    const text = stringify({ sync_requirements: [{ name: "prod-*", ...entry }] });
    const { syncRequirements } = configOf([SMALLEST, text]);
    const { settings } = resolveTexts({ ...DEFAULTS, ...more }, { syncRequirements }, { base, head: base });
    return settings.requirementsFor({ name: "prod-web" }).health;
  };
  const healthy = "require_healthy: true";

  test.each<[string, ReturnType<typeof of>, ReturnType<typeof of>]>([
    [
      "a shorter time holds for what the repository requires",
      of(`${healthy}\nhealth_timeout: 10m`, { health_timeout: "1m" }),
      { timeoutMs: 60_000, onFailure: "keep" },
    ],
    [
      "a shorter time holds for what the server requires everywhere",
      of("", { health_timeout: "1m" }, { requireHealthy: true }),
      { timeoutMs: 60_000, onFailure: "keep" },
    ],
    [
      "nothing is rolled back that it keeps",
      of(`${healthy}\non_failure: rollback`, { on_failure: "keep" }),
      { timeoutMs: 300_000, onFailure: "keep" },
    ],
    [
      "a longer time and a rollback lift nothing",
      of(healthy, { health_timeout: "1h", on_failure: "rollback" }),
      { timeoutMs: 300_000, onFailure: "keep" },
    ],
    [
      "what they alone require takes as long as the repository says",
      of("health_timeout: 10m\non_failure: rollback", { require_healthy: true }),
      { timeoutMs: 600_000, onFailure: "rollback" },
    ],
    [
      "what they alone require is theirs where the repository says nothing",
      of("", { require_healthy: true, health_timeout: "1m" }),
      { timeoutMs: 60_000, onFailure: "keep" },
    ],
    [
      "what they alone require may take longer than it does by default, and be rolled back",
      of("", { require_healthy: true, health_timeout: "10m", on_failure: "rollback" }),
      { timeoutMs: 600_000, onFailure: "rollback" },
    ],
    ["without anybody who requires it, nothing is required", of("", { health_timeout: "1m" }), undefined],
  ])("%s", (_case, found, expected) => {
    expect(found).toEqual(expected);
  });
});

describe("auto-merge: repository auto_merge; server defaults.auto_merge", () => {
  test.each([
    ["", false, false],
    ["", true, true],
    ["auto_merge: true", false, true],
    ["auto_merge: false", true, false],
  ])("%j, server %p: %p", (text, server, expected) => {
    expect(resolve(text, text, { ...DEFAULTS, autoMerge: server }).settings.autoMerge).toBe(expected);
  });
});

test.each([
  ["autoplan: false", { autoplan: false }],
  ["skip_no_changes: true", { skipNoChanges: true }],
  ["merge_method: rebase", { mergeMethod: "rebase" }],
  ["delete_source_branch: true", { deleteSourceBranch: true }],
  ["update_branch: on_turn", { updateBranch: "on_turn" }],
  ["update_branch: never", { updateBranch: "never" }],
])("the repository's %s wins", (text, expected) => {
  expect(resolve(text).settings).toMatchObject(expected);
});

test("what only the server decides comes from the server", () => {
  const applicationRepositories = [{ application: "a", repositories: ["b/c"] }];
  const defaults: ServerDefaults = {
    ...DEFAULTS,
    prune: true,
    allowForks: true,
    commandAccess: "anyone",
    protectedBranches: ["release", "main"],
  };
  const { settings } = resolveTexts(defaults, { applicationRepositories }, { base: undefined, head: undefined });
  expect(settings).toMatchObject({
    autoplan: true,
    prune: true,
    allowForks: true,
    commandAccess: "anyone",
    protectedBranches: ["main", "master", "develop", "development", "release"],
    applicationRepositories,
    applications: [],
    crPaths: [],
  });
});

describe("policy is read from the base branch", () => {
  const strict = `
require_approval: true
auto_merge: false
autoplan: false
sync_requirements: [{name: web, require_approval: true}]
`;
  const loose = `
require_approval: false
auto_merge: true
autoplan: true
sync_requirements: [{name: web, require_approval: false}, {name: "*", require_approval: false}]
`;
  test.each([
    ["loosened at the head", loose],
    ["removed at the head", undefined],
    ["emptied at the head", ""],
  ])("%s: the base's rules hold", (_, head) => {
    const { settings, brokenAt, repairs } = resolveTexts(
      DEFAULTS,
      { applicationRepositories: [] },
      { base: strict, head },
    );
    expect(settings).toMatchObject({ autoMerge: false, autoplan: false });
    expect(settings.requirementsFor({ name: "web" }).requireApproval).toBe(true);
    expect(settings.requirementsFor({ name: "other" }).requireApproval).toBe(true);
    expect({ brokenAt, repairs }).toEqual({ brokenAt: undefined, repairs: false });
  });

  test("a file that only the head has sets no rule", () => {
    const { settings } = resolveTexts(STRICT, { applicationRepositories: [] }, { base: undefined, head: loose });
    expect(settings.requirementsFor({ name: "web" }).requireApproval).toBe(true);
    expect(settings.autoMerge).toBe(false);
  });
});

describe("the strictest of base branch and default branch holds", () => {
  const both = (base: string | undefined, defaultBranch: string | null, defaults = DEFAULTS) =>
    resolveTexts(defaults, { applicationRepositories: [] }, { base, head: base, defaultBranch }).settings;
  const strict = `
require_approval: true
require_up_to_date: true
cr_paths: [a/**]
applications: [{name: web, paths: [shared/**]}]
sync_requirements: [{name: web, allowed_users: [bo], commands: [sync, unlock]}]
`;
  const weak = `
require_approval: false
require_up_to_date: false
auto_merge: true
skip_no_changes: true
delete_source_branch: true
cr_paths: [nothing/**]
sync_requirements: [{name: web, require_approval: false, require_up_to_date: false, allowed_users: [ana]}]
`;

  test.each([
    ["weak", weak, strict],
    ["without a file", undefined, strict],
    ["strict", strict, weak],
    ["strict, where the default branch has no file", strict, null],
  ])("a base branch that is %s", (_how, base, standard) => {
    const settings = both(base, standard);
    expect(settings.requirementsFor({ name: "web" })).toEqual({ requireApproval: true, requireUpToDate: true });
    expect(settings).toMatchObject({ autoMerge: false, skipNoChanges: false, deleteSourceBranch: false });
    expect(settings.accessTo({ name: "web" }, "unlock")).toEqual([{ users: ["bo"], teams: [] }]);
    expect(settings.accessTo({ name: "web" }, "sync")).toContainEqual({ users: ["bo"], teams: [] });
    expect(settings.applications).toContainEqual({ name: "web", paths: ["shared/**"] });
  });

  test("both lists must allow a person, and cr_paths of both are scanned", () => {
    expect(both(weak, strict).accessTo({ name: "web" }, "sync")).toEqual([
      { users: ["ana"], teams: [] },
      { users: ["bo"], teams: [] },
    ]);
    expect(both(weak, strict).crPaths).toEqual(["nothing/**", "a/**"]);
    expect(both("auto_merge: true", "auto_merge: true").autoMerge).toBe(true);
  });

  test("a broken file of the default branch requires an approval of everything", () => {
    const settings = both(weak, "require_approval: [");
    expect(settings.requirementsFor({ name: "web" }).requireApproval).toBe(true);
    expect(settings.needsAdministrator).toBe(true);
    expect(settings.crPaths).toEqual([]);
  });
});

describe("whom a change of the file concerns", () => {
  const rules = (...entries: readonly string[]) => `sync_requirements: [${entries.join(", ")}]`;
  const prod = "{name: prod*, allowed_users: [olga]}";
  const api = "{name: api, allowed_teams: [acme/api]}";
  const concerned = (base: string | undefined, head: string | undefined) =>
    resolveTexts(DEFAULTS, { applicationRepositories: [] }, { base, head }).settings.rulesChange?.lists.map(
      ({ users, teams }) => [...users, ...teams].join(),
    );

  test.each<[string, string | undefined, string | undefined, readonly string[] | undefined]>([
    ["nothing changes", rules(prod, api), rules(prod, api), undefined],
    ["a comment", rules(prod, api), `# x\n${rules(prod, api)}`, []],
    ["an entry goes", rules(prod, api), rules(api), ["olga"]],
    [
      "an entry for one application comes",
      rules(prod, api),
      rules("{name: prod-web, require_approval: false}", prod, api),
      ["olga"],
    ],
    [
      "an entry for another application comes",
      rules(prod, api),
      rules(prod, api, "{name: web, require_approval: true}"),
      [],
    ],
    [
      "a pattern comes",
      rules(prod, api),
      rules("{name: '*', require_approval: false}", prod, api),
      ["olga", "acme/api"],
    ],
    [
      "a project's entry comes",
      rules(prod, api),
      rules(prod, api, "{project: x, require_approval: false}"),
      ["olga", "acme/api"],
    ],
    [
      "the same name in a namespace comes",
      rules(api),
      rules(api, "{name: team-a/api, allowed_users: [x]}"),
      ["acme/api"],
    ],
    [
      "one of several namespaces comes",
      rules("{name: '{team-a,team-b}/api', allowed_users: [olga]}"),
      rules("{name: team-a/api, allowed_users: [x]}", "{name: '{team-a,team-b}/api', allowed_users: [olga]}"),
      ["olga"],
    ],
    [
      "one of several names in a namespace comes",
      rules("{name: 'team-*/{web,api}', allowed_users: [olga]}"),
      rules("{name: team-a/api, allowed_users: [x]}", "{name: 'team-*/{web,api}', allowed_users: [olga]}"),
      ["olga"],
    ],
    [
      "another name than several in a namespace comes",
      rules("{name: 'team-*/{web,api}', allowed_users: [olga]}"),
      rules("{name: team-a/db, require_approval: true}", "{name: 'team-*/{web,api}', allowed_users: [olga]}"),
      [],
    ],
    ["the order", rules(prod, api), rules(api, prod), ["olga", "acme/api"]],
    ["a rule for all", rules(prod, api), `auto_merge: true\n${rules(prod, api)}`, ["olga", "acme/api"]],
    ["a path of the scan", rules(prod, api), `cr_paths: [x/**]\n${rules(prod, api)}`, ["olga", "acme/api"]],
    ["the whole file", rules(prod, api), undefined, ["olga", "acme/api"]],
    ["a broken head", rules(prod, api), "[", ["olga", "acme/api"]],
    ["the first file", undefined, rules(prod), []],
    ["an empty list", rules("{name: web, allowed_users: []}"), undefined, [""]],
  ])("%s", (_what, base, head, expected) => {
    expect(concerned(base, head)).toEqual(expected);
  });
});

describe("applications and cr_paths are the union of base and head", () => {
  const file = (crPaths: string | undefined, applications = "[]") =>
    `${crPaths === undefined ? "" : `cr_paths: ${crPaths}\n`}applications: ${applications}`;

  test.each([
    ["[a/**]", "[b/**]", ["a/**", "b/**"]],
    ["[a/**]", "[a/**]", ["a/**"]],
    ["[a/**]", undefined, []],
    [undefined, "[a/**]", []],
    ["[a/**]", "[]", []],
    ["[]", "[a/**]", []],
  ])("cr_paths of base %s and head %s: %j", (base, head, expected) => {
    expect(resolve(file(base), file(head)).settings.crPaths).toEqual(expected);
  });

  test("no file on one side means all files", () => {
    const files = { base: file("[a/**]"), head: undefined };
    expect(resolveTexts(DEFAULTS, { applicationRepositories: [] }, files).settings.crPaths).toEqual([]);
  });

  test("applications of both sides, their paths joined", () => {
    const base = file(undefined, "[{name: web, paths: [a/**, b/**]}, {name: api, paths: [c/**]}]");
    const head = file(undefined, "[{name: web, paths: [b/**, x/**]}, {name: new, paths: [n/**]}]");
    expect(resolve(base, head).settings.applications).toEqual([
      { name: "web", paths: ["a/**", "b/**", "x/**"] },
      { name: "api", paths: ["c/**"] },
      { name: "new", paths: ["n/**"] },
    ]);
  });
});

describe("a broken file", () => {
  const broken = "require_approval: maybe";
  const valid =
    "require_approval: false\nauto_merge: true\ncr_paths: [a/**]\napplications: [{name: web, paths: [w/**]}]";
  const outcome = (base: string | undefined, head: string | undefined) => {
    const result = resolveTexts(DEFAULTS, { applicationRepositories: [] }, { base, head });
    const { settings, problems, brokenAt, repairs } = result;
    return {
      brokenAt,
      repairs,
      files: [...new Set(problems.map((problem) => problem.file))],
      approval: settings.requirementsFor({ name: "web" }).requireApproval,
      autoMerge: settings.autoMerge,
      crPaths: settings.crPaths,
      applications: settings.applications.length,
    };
  };
  const BASE = ".svc.yaml (base branch)";

  test.each([
    [
      "at the head",
      valid,
      broken,
      { brokenAt: "head", repairs: false, files: [".svc.yaml"], approval: false, autoMerge: true },
    ],
    ["at the head, none on the base", undefined, broken, { brokenAt: "head", repairs: false, files: [".svc.yaml"] }],
    [
      "on the base, put right at the head",
      broken,
      valid,
      { brokenAt: "base", repairs: true, files: [BASE], approval: true, autoMerge: false },
    ],
    [
      "on the base, removed at the head",
      broken,
      undefined,
      { brokenAt: "base", repairs: true, files: [BASE], approval: true },
    ],
    ["on both, alike", broken, broken, { brokenAt: "base", repairs: false, files: [BASE], approval: true }],
    [
      "on both, differently",
      broken,
      "[",
      { brokenAt: "base", repairs: false, files: [".svc.yaml", BASE], approval: true },
    ],
  ])("%s", (_, base, head, expected) => {
    expect(outcome(base, head)).toMatchObject({ ...expected, crPaths: [] });
  });

  test("the readable side's applications are still looked at", () => {
    expect(outcome(valid, broken).applications).toBe(1);
    expect(outcome(broken, valid).applications).toBe(1);
  });

  test("of the base keeps the rules of the last version that could be read, and requires an approval of everything", () => {
    const earlier =
      "auto_merge: true\nsync_requirements: [{name: web, require_approval: false, allowed_users: [olga]}]";
    const files = { base: broken, head: "auto_merge: false", earlier };
    const { settings, repairs } = resolveTexts(DEFAULTS, { applicationRepositories: [] }, files);
    expect(repairs).toBe(true);
    expect(settings.requirementsFor({ name: "web" }).requireApproval).toBe(true);
    expect(settings.accessTo({ name: "web" }, "sync")).toEqual([{ users: ["olga"], teams: [] }]);
    expect(settings).toMatchObject({ autoMerge: true, needsAdministrator: false });
    expect(resolve(broken, "").settings.needsAdministrator).toBe(true);
    expect(settings.rulesChange).toEqual({ lists: [{ users: ["olga"], teams: [] }] });
  });

  test("with the base broken, no entry of the head lifts the approval", () => {
    const head = 'sync_requirements: [{name: "*", require_approval: false}, {name: web, require_approval: false}]';
    const { settings } = resolve(broken, head);
    expect(settings.requirementsFor({ name: "web" }).requireApproval).toBe(true);
  });
});

test("a problem is one line: file:line:column key: message", () => {
  const place = { file: ".svc.yaml", line: 3, column: 5 };
  expect(describeProblem({ ...place, key: "a[0].b", message: "is wrong" })).toBe(".svc.yaml:3:5 a[0].b: is wrong");
  expect(describeProblem({ ...place, key: "", message: "is\nwrong" })).toBe(".svc.yaml:3:5 is wrong");
});
