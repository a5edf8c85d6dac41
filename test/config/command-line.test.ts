import { expect, test } from "@jest/globals";
import { parseCommandLine, USAGE } from "../../src/config/command-line.js";

test.each([
  [[], { kind: "run", files: ["svc.yaml"] }],
  [["-c", "a.yaml"], { kind: "run", files: ["a.yaml"] }],
  [["-c", "a.yaml", "--config", "b.yaml", "--config=c.yaml"], { kind: "run", files: ["a.yaml", "b.yaml", "c.yaml"] }],
  [["check"], { kind: "check", files: ["svc.yaml"], online: false }],
  [["check", ".svc.yaml", "x.yaml"], { kind: "check", files: [".svc.yaml", "x.yaml"], online: false }],
  [["-c", "a.yaml", "check", "b.yaml"], { kind: "check", files: ["a.yaml", "b.yaml"], online: false }],
  [["token"], { kind: "token" }],
  [["users", "set-role", "oidc:7", "admin"], { kind: "set-role", files: ["svc.yaml"], id: "oidc:7", role: "admin" }],
  [["users", "-c", "a.yaml", "set-role", "x", "user"], { kind: "set-role", files: ["a.yaml"], id: "x", role: "user" }],
  [["setup", "--help"], { kind: "help" }],
  [["setup", "gitlab", "-h"], { kind: "help" }],
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
  [["--help"], { kind: "help" }],
  [["check", "-h"], { kind: "help" }],
  [["--version"], { kind: "version" }],
])("%j", (argv, expected) => {
  expect(parseCommandLine(argv)).toEqual(expected);
});

test.each([
  [["-c"], "--config"],
  [["--confg", "a.yaml"], "--confg"],
  [["start"], "unknown command `start`"],
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
  [["setup", "github", "--url", "svc.example.org"], "--url takes an address"],
  [["setup", "github", "--url", "https://user:pass@svc.example.org"], "--url takes an address"],
  [["setup", "github", "--url", "https://a.org", "--token", "glpat-x"], "--token"],
  [["setup", "github", "--url", "https://a.org", "--project", "a/b"], "--project"],
  [["setup", "github", "--url", "https://a.org", "--port", "70000"], "--port takes"],
  [["setup", "github", "--url", "https://a.org", "--organization", "a/b"], "--organization takes"],
  [["setup", "github", "--url", "https://a.org", "--name", "n".repeat(35)], "--name takes"],
  [["setup", "github", "--url", "https://a.org", "--github", "github.example.org"], "--github takes"],
  [["setup", "github", "--url", "https://a.org", "--secrets", ""], "--secrets takes"],
  [["setup", "gitlab", "--url", "https://a.org"], "--project"],
  [["setup", "gitlab", "--url", "https://a.org", "--project", "a/b", "--group", "a"], "--group"],
  [["setup", "gitlab", "--url", "https://a.org", "--project", "shop"], "--project takes a full path"],
  [["setup", "gitlab", "--url", "https://a.org", "--group", "a b"], "--group takes a full path"],
  [["setup", "gitlab", "--url", "https://a.org", "--group", "a/../b?x=1"], "--group takes a full path"],
  [["--help=yes"], "--help"],
])("%j is refused", (argv, part) => {
  expect(parseCommandLine(argv)).toEqual({ kind: "invalid", message: expect.stringContaining(part) });
});

test("the usage names every form", () => {
  for (const word of [
    "check",
    "setup github",
    "setup gitlab",
    "--token-stdin",
    "token",
    "users set-role",
    "--config",
    "--help",
    "--version",
    "svc.yaml",
  ]) {
    expect(USAGE).toContain(word);
  }
});
