import { describe, expect, test } from "@jest/globals";
import { accessRuleOf, type AccessEntry } from "../../src/config/sync-access.js";
import { resolveTexts } from "./resolve-texts.js";
import { configOf, SMALLEST } from "./server-file.js";

const users = (name: string, ...allowedUsers: readonly string[]): AccessEntry => ({ name, allowedUsers });
const bound = (commands: AccessEntry["commands"], entry: AccessEntry) => ({ ...entry, ...(commands && { commands }) });

describe("who may give a command for `prod-web`", () => {
  test.each<[string, readonly AccessEntry[], readonly string[] | undefined]>([
    ["no entry", [], undefined],
    ["no entry of this name", [users("prod", "bo"), users("test-*", "bo")], undefined],
    ["an entry without lists", [{ name: "prod-web" }], undefined],
    ["the exact name", [users("prod-web", "bo")], ["bo"]],
    ["a pattern", [users("prod-*", "bo")], ["bo"]],
    ["exact over pattern, in any order", [users("prod-*", "ana"), users("prod-web", "bo")], ["bo"]],
    ["the first pattern that matches", [users("prod-*", "ana"), users("*", "bo")], ["ana"]],
    ["an exact entry without lists leaves the pattern's", [users("*", "bo"), { name: "prod-web" }], ["bo"]],
    ["empty lists of the exact entry lift the pattern's", [users("*", "bo"), users("prod-web")], undefined],
    [
      "an exact entry that binds another command leaves the pattern's",
      [users("*", "bo"), bound(["unlock"], users("prod-web", "ana"))],
      ["bo"],
    ],
  ])("%s", (_case, entries, expected) => {
    expect(accessRuleOf("prod-web", "sync", entries)?.users).toEqual(expected);
  });

  test.each([
    ["plan", undefined, false],
    ["sync", undefined, true],
    ["rollback", undefined, true],
    ["unlock", undefined, false],
    ["plan", ["plan", "unlock"], true],
    ["sync", ["plan", "unlock"], false],
    ["unlock", ["plan", "unlock"], true],
  ] as const)("%s with commands %j is bound: %p", (command, commands, expected) => {
    expect(accessRuleOf("web", command, [bound(commands, users("web", "bo"))]) !== undefined).toBe(expected);
  });
});

test("the lists are the base branch's, and both stand in the rule", () => {
  const list = (entry: string) => `sync_requirements:\n  - { name: web, ${entry} }\n`;
  const files = {
    base: list("allowed_users: [bo], allowed_teams: [acme/platform]"),
    head: list("allowed_users: [ana]"),
  };
  const { settings } = resolveTexts(configOf([SMALLEST]).defaults, { applicationRepositories: [] }, files);
  expect(settings.accessTo("web", "sync")).toEqual({ users: ["bo"], teams: ["acme/platform"] });
  expect(settings.accessTo("api", "sync")).toBeUndefined();
});
