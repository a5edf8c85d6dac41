import { expect, test } from "@jest/globals";
import { parseCommandLine } from "../../src/config/command-line.js";
import { HELP } from "../../src/config/help.js";

test.each([
  [[], { kind: "run", files: ["svc.yaml"] }],
  [["-c", "a.yaml"], { kind: "run", files: ["a.yaml"] }],
  [["-c", "a.yaml", "--config", "b.yaml", "--config=c.yaml"], { kind: "run", files: ["a.yaml", "b.yaml", "c.yaml"] }],
  [["check"], { kind: "check", files: ["svc.yaml"], online: false }],
  [["check", ".svc.yaml", "x.yaml"], { kind: "check", files: [".svc.yaml", "x.yaml"], online: false }],
  [["check", "--online", ".svc.yaml"], { kind: "check", files: ["svc.yaml", ".svc.yaml"], online: true }],
  [["check", "--online", "a.yaml", ".svc.yaml"], { kind: "check", files: ["a.yaml", ".svc.yaml"], online: true }],
  [["-c", "a.yaml", "check", "b.yaml"], { kind: "check", files: ["a.yaml", "b.yaml"], online: false }],
  [["token"], { kind: "token" }],
  [["users", "set-role", "oidc:7", "admin"], { kind: "set-role", files: ["svc.yaml"], id: "oidc:7", role: "admin" }],
  [["users", "set-role", "github:7", "user"], { kind: "set-role", files: ["svc.yaml"], id: "hosta:7", role: "user" }],
  [["users", "-c", "a.yaml", "set-role", "x", "user"], { kind: "set-role", files: ["a.yaml"], id: "x", role: "user" }],
  [["setup", "--help"], { kind: "help", topic: "setup" }],
  [["setup", "gitlab", "-h"], { kind: "help", topic: "setup gitlab" }],
  [["setup", "github", "--url", "https://a.org", "--help"], { kind: "help", topic: "setup github" }],
  [["token", "--help"], { kind: "help", topic: "token" }],
  [["users", "--help"], { kind: "help", topic: "users set-role" }],
  [["help"], { kind: "help", topic: "program" }],
  [["help", "setup", "gitlab"], { kind: "help", topic: "setup gitlab" }],
  [
    ["setup", "github", "--url", "https://svc.example.org/"],
    {
      kind: "setup",
      request: {
        host: "hosta",
        url: "https://svc.example.org",
        secrets: "secrets",
        web: "https://github.com",
        organization: undefined,
        name: undefined,
        listen: { host: "127.0.0.1", port: 0 },
      },
    },
  ],
  [
    ["setup", "gitlab", "--url", "https://svc.example.org", "--project=a/b", "--project", "a/c/d", "--token-stdin"],
    {
      kind: "setup",
      request: {
        host: "hostb",
        url: "https://svc.example.org",
        secrets: "secrets",
        web: "https://gitlab.com",
        targets: [
          { kind: "project", path: "a/b" },
          { kind: "project", path: "a/c/d" },
        ],
        tokenFromStdin: true,
      },
    },
  ],
  [["--help"], { kind: "help", topic: "program" }],
  [["check", "-h"], { kind: "help", topic: "check" }],
  [["--version"], { kind: "version" }],
])("%j", (argv, expected) => {
  expect(parseCommandLine(argv)).toEqual(expected);
});

test.each([
  [["-c"], "`-c` needs a value"],
  [["-c", "--online"], "`-c` needs a value"],
  [["--confg", "a.yaml"], "unknown option `--confg`; did you mean `--config`?"],
  [["check", "-x"], "unknown option `-x`"],
  [["check", "--__proto__"], "unknown option `--__proto__`"],
  [["start"], "unknown command `start`; there are `check`"],
  [["chekc"], "unknown command `chekc`; did you mean `check`?"],
  [["user", "x"], "did you mean `users set-role`?"],
  [["token", "ci"], "no further words"],
  [["users"], "users set-role ID ROLE"],
  [["users", "set-role", "oidc:7"], "admin or user"],
  [["users", "set-role", "oidc:7", "owner"], "admin or user"],
  [["users", "set-role", "", "admin"], "users set-role ID ROLE"],
  [["users", "set-role", "oidc:7", "admin", "x"], "users set-role ID ROLE"],
  [["users", "delete", "oidc:7", "admin"], "users set-role ID ROLE"],
  [["-c", ""], "empty"],
  [["setup"], "`setup github` or `setup gitlab`"],
  [["setup", "bitbucket"], "`setup github` or `setup gitlab`"],
  [["setup", "github"], "--url is required"],
  [["setup", "github"], "or --poll where no webhook reaches it"],
  [["setup", "github", "--poll", "--url", "https://a.org"], "give --url or --poll, not both"],
  [["setup", "gitlab", "--poll"], "--poll"],
  [["setup", "github", "--url", "svc.example.org"], "--url takes an address"],
  [["setup", "github", "--url", "https://user:pass@svc.example.org"], "--url takes an address"],
  [["setup", "github", "--url", "https://a.org", "--token", "glpat-x"], "--token"],
  [["setup", "github", "--url", "https://a.org", "--project", "a/b"], "--project"],
  [["setup", "github", "--url", "https://a.org", "--port", "70000"], "--port takes"],
  [["setup", "github", "--url", "https://a.org", "--orgnization", "a"], "did you mean `--organization`?"],
  [["setup", "github", "acme", "--url", "https://a.org"], "`acme` stands where an option is expected"],
  [["setup", "github", "--url", "https://a.org", "--organization", "a/b"], "--organization takes"],
  [["setup", "github", "--url", "https://a.org", "--name", "n".repeat(35)], "--name takes"],
  [["setup", "github", "--url", "https://a.org", "--github", "github.example.org"], "--github takes"],
  [["setup", "github", "--url", "https://a.org", "--secrets", ""], "--secrets takes"],
  [["setup", "gitlab", "--url", "https://a.org"], "--project"],
  [["setup", "gitlab", "--url", "https://a.org", "--project", "a/b", "--group", "a"], "--group"],
  [["setup", "gitlab", "--url", "https://a.org", "--project", "shop"], "--project takes a full path"],
  [["setup", "gitlab", "--url", "https://a.org", "--group", "a b"], "--group takes a full path"],
  [["setup", "gitlab", "--url", "https://a.org", "--group", "a/../b?x=1"], "--group takes a full path"],
  [["--help=yes"], "`--help` takes no value"],
])("%j is refused", (argv, part) => {
  const parsed = parseCommandLine(argv);
  expect(parsed).toMatchObject({ kind: "invalid", message: expect.stringContaining(part) });
  expect(parsed).not.toMatchObject({ message: expect.stringMatching(/\.$|\n/) });
});

test.each([
  [["setup", "gitlab", "--grup", "a"], "setup gitlab"],
  [["setup", "bitbucket"], "setup"],
  [["check", "--onlin"], "check"],
  [["users", "delete"], "users set-role"],
  [["deploy"], "program"],
])("%j is told where the help for it is", (argv, topic) => {
  expect(parseCommandLine(argv)).toMatchObject({ kind: "invalid", topic });
});

test("the help of the program names every command, what svc is and where the documents are", () => {
  const commands = [
    "check",
    "setup github",
    "setup gitlab",
    "token",
    "users set-role",
    "--help",
    "--version",
    "svc.yaml",
  ];
  for (const word of commands) expect(HELP.program).toContain(word);
  expect(HELP.program).toMatch(/^svc gates Argo CD deployments through pull requests.*\nDocuments: /);
});

test("each command shows its own options, and no other's", () => {
  expect(HELP["setup gitlab"]).toContain("--token-stdin");
  expect(HELP["setup gitlab"]).not.toContain("--organization");
  expect(HELP["setup github"]).toContain("--organization");
  expect(HELP.check).not.toContain("--url");
  expect(HELP.program).not.toContain("--secrets");
});
