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
  [["--help=yes"], "--help"],
])("%j is refused", (argv, part) => {
  expect(parseCommandLine(argv)).toEqual({ kind: "invalid", message: expect.stringContaining(part) });
});

test("the usage names every form", () => {
  for (const word of ["check", "token", "users set-role", "--config", "--help", "--version", "svc.yaml"]) {
    expect(USAGE).toContain(word);
  }
});
