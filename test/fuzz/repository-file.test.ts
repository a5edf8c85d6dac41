import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { matchesName, matchesPath } from "../../src/config/pattern.js";
import { parseRepositoryConfig, type RepositoryConfig } from "../../src/config/repository/repository-schema.js";
import { describeProblem, MOST_PROBLEMS } from "../../src/config/yaml-tree.js";
import { fuzz } from "./fuzz.js";
import { hostileText } from "./hostile-text.js";
import { must } from "./must.js";

const key = fc.constantFrom(
  ...["version", "autoplan", "auto_merge", "merge_method", "require_approval", "applications", "cr_paths"],
  ...[
    "sync_requirements",
    "name",
    "paths",
    "allowed_users",
    "allowed_teams",
    "commands",
    "requre_approval",
    "<<",
    "__proto__",
  ],
);
const value = fc.constantFrom(
  ...[
    "true",
    "no",
    "1",
    "1.0",
    "squash",
    "null",
    "~",
    "",
    "web",
    '"*"',
    "apps/**",
    "'**/**/**'",
    "{a,b,{c}}",
    "a".repeat(300),
  ],
  ...[
    "[]",
    "{}",
    "[sync, deploy]",
    "[a, [b, [c]]]",
    "{name: web, paths: [a/**]}",
    "&a [*a]",
    "*a",
    "!!binary aGk=",
    "!!js/x y",
  ],
  ...[
    "${HOME}",
    "${ARGOCD_TOKEN}",
    "|\n  text",
    ">-\n  text",
    "0x1F",
    ".inf",
    "2026-03-02",
    '"\\ud800"',
    "'../..'",
    "!x",
  ],
  ...["[{name: web, paths: [a/**]}]", "[{name: web, require_approval: false}]", "[{name: '*', allowed_users: [ana]}]"],
);
const line = fc
  .tuple(
    fc.constantFrom("", "  ", "- ", "  - ", "\t", "? ", "# "),
    key,
    fc.constantFrom(": ", ":", " :", ":\n  - "),
    value,
  )
  .map((parts) => parts.join(""));
const yamlLike = fc.array(line, { maxLength: 12 }).map((lines) => lines.join("\n"));
/** Small texts that stand for something large. */
const bomb = fc
  .tuple(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 12 }), fc.constantFrom("[", "{a: ", "- ", "a:\n "))
  .map(([levels, width, open]) => {
    const anchors = Array.from(
      { length: levels },
      (_, at) => `a${at + 1}: &a${at + 1} [${Array.from({ length: width }, () => `*a${at}`).join(", ")}]`,
    );
    return `a0: &a0 x\n${anchors.join("\n")}\ncr_paths: ${open.repeat(levels * 8)}`;
  });
const text = fc.oneof(
  { weight: 60, arbitrary: yamlLike },
  { weight: 1, arbitrary: bomb },
  { weight: 20, arbitrary: fc.tuple(yamlLike, hostileText(8)).map((parts) => parts.join("\n")) },
  { weight: 10, arbitrary: hostileText() },
);

test("any text of a repository is answered with places and sentences, or is a policy of the known shape", () => {
  process.env.ARGOCD_TOKEN ??= "zq-value-of-the-environment";
  fuzz("repository-file", text, (content) => {
    const result = parseRepositoryConfig(content, ".svc.yaml");
    expect(JSON.stringify(result)).not.toContain("zq-value-of-the-environment");
    if (result.kind === "valid") {
      expectKnownShape(result.config);
      return;
    }
    expect(result.problems.length).toBeGreaterThan(0);
    expect(result.problems.length).toBeLessThanOrEqual(MOST_PROBLEMS + 1);
    const lines = content.split(/\r\n|\r|\n/).length;
    for (const problem of result.problems) {
      const { file, line, column } = problem;
      must(file === ".svc.yaml" && line >= 1 && line <= lines + 1 && column >= 1, `no such place: ${line}:${column}`);
      const described = describeProblem(problem);
      must(!/\p{Cc}/u.test(described) && described.length < 1000, `not one line for people: ${described}`);
    }
  });
});

const FLAGS = [
  "autoplan",
  "skipNoChanges",
  "autoMerge",
  "deleteSourceBranch",
  "requireApproval",
  "requireUpToDate",
  "requireHealthy",
] as const;

function expectKnownShape(config: RepositoryConfig): void {
  expect(Object.getPrototypeOf(config)).toBe(Object.prototype);
  for (const flag of FLAGS) expect(["boolean", "undefined"]).toContain(typeof config[flag]);
  expect(["merge", "squash", "rebase", undefined]).toContain(config.mergeMethod);
  for (const { name, paths } of config.applications) {
    expect(paths.length).toBeGreaterThan(0);
    // Every pattern that was let in can be matched in no time, whatever it is held against.
    for (const pattern of paths) matchesPath(pattern, "a/".repeat(60));
    expect(matchesName(name, "")).toBe(name === "*" || name === "**");
  }
  for (const { commands, allowedUsers, allowedTeams } of config.syncRequirements) {
    if (commands !== undefined) expect((allowedUsers ?? allowedTeams) !== undefined).toBe(true);
  }
}
