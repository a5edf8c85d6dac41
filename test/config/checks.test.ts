import { expect, test } from "@jest/globals";
import { checksFor } from "../../src/config/rules/rule-match.js";
import { loadServerConfig } from "../../src/config/server/server.js";

const OTHERS = {
  deployer: { server_url: "https://argocd.example.org", token: "t" },
  hostb: { url: "https://gitlab.example.org", token: "t", webhook_secret: "hook-secret-of-tests" },
};

function load(checks: unknown) {
  const text = JSON.stringify({ ...OTHERS, checks });
  return loadServerConfig([{ name: "svc.yaml", text }], { TOKEN: "hunter22", EMPTY: "" });
}

function problems(checks: unknown): readonly string[] {
  const loaded = load(checks);
  return loaded.kind === "valid" ? [] : loaded.problems.map(({ key, message }) => `${key}: ${message}`);
}

test("a check of what is below a name is not lost for an application of that name", () => {
  const loaded = load([{ name: "a", command: ["/bin/true"], applications: "team-a/**" }]);
  const { checks } = loaded.kind === "valid" ? loaded.config : { checks: [] };
  expect(["team-a/web", "team-a", "team-b"].map((name) => checksFor(checks, name).length)).toEqual([1, 1, 0]);
});

test("a check has defaults, and reads the variables that it names", () => {
  const loaded = load([{ name: "conftest", command: ["conftest", "test", "-"], env: ["TOKEN", "EMPTY"] }]);
  expect(loaded.kind === "valid" ? loaded.config.checks : loaded.problems).toEqual([
    {
      name: "conftest",
      command: ["conftest", "test", "-"],
      applications: "*",
      required: true,
      timeout: 60_000,
      env: [
        { name: "TOKEN", value: "hunter22" },
        { name: "EMPTY", value: "" },
      ],
      overridableBy: [],
    },
  ]);
});

const CHECK = { name: "a", command: ["/bin/a"] };

test.each<[string, unknown, string]>([
  ["without a program", [{ name: "a", command: [] }], "checks[0].command: the program is needed"],
  [
    "with a relative path",
    [{ name: "a", command: ["bin/a"] }],
    "checks[0].command[0]: the program needs its whole path",
  ],
  ["with a name that needs escaping", [{ ...CHECK, name: "a b" }], "checks[0].name: expected up to 50 letters"],
  [
    "with a variable that is not set",
    [{ ...CHECK, env: ["HOME"] }],
    "checks[0].env[0]: no environment variable of this",
  ],
  [
    "with a variable of every object",
    [{ ...CHECK, env: ["constructor"] }],
    "checks[0].env[0]: no environment variable",
  ],
  [
    "with a variable of svc's own",
    [{ ...CHECK, env: ["SVC_NUMBER"] }],
    "checks[0].env[0]: svc sets this variable itself",
  ],
  ["with a value in the place of a name", [{ ...CHECK, env: ["A=b"] }], "checks[0].env[0]: expected the name of an"],
  ["that may take too long", [{ ...CHECK, timeout: "1h" }], "checks[0].timeout: expected a duration"],
  ["with a pattern that is none", [{ ...CHECK, applications: "[a]" }], "checks[0].applications: `[` and `]`"],
  [
    "with a list in the place of a pattern",
    [{ ...CHECK, applications: "prod-*, web" }],
    "checks[0].applications: no name has white space in it",
  ],
  ["of a name twice", [CHECK, CHECK], "checks[1].name: an earlier check has this name"],
  [
    "that nobody has to override",
    [{ ...CHECK, required: false, overridable_by: ["acme/platform"] }],
    "checks[0].overridable_by: leave it out, or set required",
  ],
  ["with another key", [{ ...CHECK, shell: "sh" }], "checks[0].shell: unknown key"],
])("a check %s is refused", (_, checks, problem) => {
  expect(problems(checks)).toEqual([expect.stringContaining(problem)]);
});
