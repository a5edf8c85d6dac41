import { describe, expect, test } from "@jest/globals";
import type { RepositoryConfig } from "../../src/config/repository/repository-schema.js";
import { accessRulesOf } from "../../src/config/rules/requirements.js";
import type { RuledApplication } from "../../src/core/model/settings.js";
import { resolveTexts } from "./resolve-texts.js";
import { configOf, SMALLEST } from "./server-file.js";

type AccessEntry = RepositoryConfig["syncRequirements"][number];

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
    ["empty lists of the exact entry mean nobody", [users("*", "bo"), users("prod-web")], []],
    [
      "an exact entry that binds another command leaves the pattern's",
      [users("*", "bo"), bound(["unlock"], users("prod-web", "ana"))],
      ["bo"],
    ],
  ])("%s", (_case, entries, expected) => {
    const rules = accessRulesOf({ name: "prod-web" }, "sync", { syncRequirements: entries });
    expect(rules.map(({ users }) => users)).toEqual(expected === undefined ? [] : [expected]);
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
    const syncRequirements = [bound(commands, users("web", "bo"))];
    expect(accessRulesOf({ name: "web" }, command, { syncRequirements }).length === 1).toBe(expected);
  });
});

test("the lists are the base branch's, and both stand in the rule", () => {
  const list = (entry: string) => `sync_requirements:\n  - { name: web, ${entry} }\n`;
  const files = {
    base: list("allowed_users: [bo], allowed_teams: [acme/platform]"),
    head: list("allowed_users: [ana]"),
  };
  const { settings } = resolveTexts(configOf([SMALLEST]).defaults, { applicationRepositories: [] }, files);
  expect(settings.accessTo({ name: "web" }, "sync")).toEqual([{ users: ["bo"], teams: ["acme/platform"] }]);
  expect(settings.accessTo({ name: "api" }, "sync")).toEqual([]);
});

test("one file answers for each application by its name, project, cluster and namespaces, and for each command", () => {
  const place = { name: "web", project: "shop", cluster: "prod", namespaces: ["shop"] };
  const selected = [
    "name: web, project: shop",
    "name: web, destination: {cluster: prod}",
    "name: web, destination: {namespace: shop}",
    "name: web",
  ];
  const others = [
    { ...place, project: "other" },
    { ...place, cluster: "other" },
    { ...place, namespaces: ["other"] },
    { ...place, name: "other" },
  ];
  for (const [at, other] of others.entries()) {
    const base = `sync_requirements: [{${selected[at]}, require_approval: true, allowed_users: [bo]}]`;
    const { settings } = resolveTexts(
      configOf([SMALLEST]).defaults,
      { applicationRepositories: [] },
      { base, head: base },
    );
    const answers = [place, other, place].map((one) => [
      settings.requirementsFor(one).requireApproval,
      ...(["sync", "plan"] as const).map((command) => settings.accessTo(one, command).length),
    ]);
    expect(answers).toEqual([
      [true, 1, 0],
      [false, 0, 0],
      [true, 1, 0],
    ]);
  }
});

describe("a pattern without a slash", () => {
  const approval = (text: string, name: string, server = false) => {
    const defaults = { ...configOf([SMALLEST]).defaults, requireApproval: server };
    const file = `sync_requirements: [${text}]`;
    const { settings } = resolveTexts(defaults, { applicationRepositories: [] }, { base: file, head: file });
    return settings.requirementsFor({ name }).requireApproval;
  };
  const required = (name: string) => `{name: "${name}", require_approval: true}`;
  const lifted = (name: string) => `{name: "${name}", require_approval: false}`;

  test.each([
    ["requires in every namespace", required("prod*"), "team-a/prod", false, true],
    ["requires in every namespace, as a plain name", required("prod"), "team-a/prod", false, true],
    ["requires in every namespace, as one of several", required("{x/y,prod}"), "team-a/prod", false, true],
    ["requires nothing of another name", required("prod*"), "prod/web", false, false],
    ["lifts in Argo CD's own namespace", lifted("prod*"), "prod", true, false],
    ["lifts nothing elsewhere", lifted("prod*"), "team-a/prod", true, true],
    ["lifts nothing elsewhere, as a star", lifted("*"), "team-a/prod", true, true],
    ["lifts nothing elsewhere, as two stars", lifted("**"), "team-a/prod", true, true],
    ["lifts elsewhere with a slash", lifted("team-a/*"), "team-a/prod", true, false],
    ["lifts nothing of an application with the name of a namespace", lifted("team-a/**"), "team-a", true, true],
    ["requires of an application with the name of a namespace", required("team-a/**"), "team-a", false, true],
    ["lifts everywhere with stars on both sides", lifted("**/*"), "team-a/prod", true, false],
    [
      "requires before what lifts with a slash",
      `${required("prod")}, ${lifted("team-a/*")}`,
      "team-a/prod",
      false,
      true,
    ],
    ["comes after the exact name", `${required("prod")}, ${lifted("team-a/prod")}`, "team-a/prod", true, false],
    ["comes after what lifts first", `${lifted("team-a/*")}, ${required("prod")}`, "team-a/prod", true, false],
  ])("%s", (_case, text, name, server, expected) => {
    expect(approval(text, name, server)).toBe(expected);
  });

  test("its list holds besides the list of the namespace", () => {
    const syncRequirements = [users("prod", "ana"), users("team-a/*", "bo"), users("*", "carl")];
    const rules = accessRulesOf({ name: "team-a/prod" }, "sync", { syncRequirements });
    expect(rules.map(({ users }) => users)).toEqual([["ana"], ["bo"]]);
  });
});

describe("rules by project and destination", () => {
  const web: RuledApplication = {
    name: "web",
    project: "shop",
    cluster: "https://eu.prod.example.org",
    namespaces: ["prod-web"],
  };
  const named: RuledApplication = { ...web, cluster: "prod-eu" };
  const own: RuledApplication = { ...web, cluster: "https://kubernetes.default.svc" };
  const ownByName: RuledApplication = { ...web, cluster: "in-cluster" };

  test.each<[string, RuledApplication, "requires and lifts" | "requires" | "nothing"]>([
    ["project: shop", web, "requires and lifts"],
    ["project: shop-*", web, "nothing"],
    ["project: shop", { name: "web" }, "requires"],
    ["destination: {namespace: prod-*}", web, "requires and lifts"],
    ["destination: {namespace: dev-*}", web, "nothing"],
    ["destination: {namespace: prod-*}", { ...web, namespaces: ["dev", "prod-x"] }, "requires"],
    ["destination: {namespace: prod-*}", { ...web, namespaces: [] }, "requires"],
    ["destination: {namespace: prod-*}", { name: "web" }, "requires"],
    ["destination: {cluster: 'https://*.prod.example.org'}", web, "requires and lifts"],
    [
      "destination: {cluster: 'https://*.PROD.example.org'}",
      { ...web, cluster: `${web.cluster}/` },
      "requires and lifts",
    ],
    ["destination: {cluster: 'https://*.dev.example.org'}", web, "nothing"],
    ["destination: {cluster: prod-*}", web, "requires"],
    ["destination: {cluster: prod-*}", named, "requires and lifts"],
    ["destination: {cluster: dev-*}", named, "nothing"],
    ["destination: {cluster: 'eu.*'}", web, "requires"],
    ["destination: {cluster: 'https://prod-*'}", named, "requires"],
    ["destination: {cluster: '**'}", web, "requires and lifts"],
    ["destination: {cluster: 'https://*.prod.example.org'}", named, "requires"],
    ["destination: {cluster: in-cluster}", own, "requires and lifts"],
    ["destination: {cluster: 'https://kubernetes.default.svc'}", ownByName, "requires and lifts"],
    ["destination: {cluster: prod-*}", own, "nothing"],
    ["destination: {cluster: kubernetes.default.svc}", own, "requires"],
    ["destination: {cluster: '*'}", web, "requires and lifts"],
    ["name: w*, project: shop, destination: {namespace: prod-*}", web, "requires and lifts"],
    ["name: x*, project: shop, destination: {namespace: prod-*}", web, "nothing"],
    ["name: w*, project: other, destination: {namespace: prod-*}", web, "nothing"],
    ["name: w*, project: shop, destination: {namespace: dev}", { name: "web" }, "requires"],
  ])("%s: %j: %s", (selectors, application, expected) => {
    const approval = (value: boolean) => {
      const file = `require_approval: ${!value}\nsync_requirements: [{${selectors}, require_approval: ${value}}]`;
      const files = { base: file, head: file };
      const { settings, problems } = resolveTexts(
        configOf([SMALLEST]).defaults,
        { applicationRepositories: [] },
        files,
      );
      expect(problems).toEqual([]);
      return settings.requirementsFor(application).requireApproval;
    };
    const lifts = !approval(false);
    expect(approval(true) ? (lifts ? "requires and lifts" : "requires") : "nothing").toBe(expected);
  });
});
