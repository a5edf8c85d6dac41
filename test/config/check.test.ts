import { expect, test } from "@jest/globals";
import { checkFiles, emptyStages } from "../../src/config/check.js";
import { SMALLEST } from "./server-file.js";

const server = { name: "etc/svc.yaml", text: SMALLEST };
const more = { name: "production.yaml", text: "server: {port: 80}" };
const repository = { name: "repo/.svc.yaml", text: "autoplan: true" };
const broken = { name: ".svc.yaml", text: "autoplan: maybe" };

test.each([
  [[server], ["etc/svc.yaml: valid"], 0],
  [[server, more], ["etc/svc.yaml, production.yaml: valid"], 0],
  [[repository], ["repo/.svc.yaml: valid"], 0],
  [[repository, server, more], ["etc/svc.yaml, production.yaml: valid", "repo/.svc.yaml: valid"], 0],
  [[broken], [".svc.yaml:1:11 autoplan: expected true or false; found other text"], 1],
  [[server, broken], ["etc/svc.yaml: valid", expect.stringContaining(".svc.yaml:1:11 autoplan")], 1],
  [[{ name: ".svc.example.yaml", text: "autoplan: true" }], [".svc.example.yaml: valid"], 0],
  [[], [], 0],
])("%j", (files, lines, exitCode) => {
  expect(checkFiles(files, {})).toEqual({ lines, exitCode });
});

test("the server's files are checked together", () => {
  expect(checkFiles([more], {})).toMatchObject({ exitCode: 1 });
  const result = checkFiles([server, { name: "x.yaml", text: "server: {port: '${PORT}'}" }], {});
  expect(result).toEqual({ lines: ["x.yaml:1:16 server.port: the environment variable PORT is not set"], exitCode: 1 });
});

test("an empty list of people is pointed out", () => {
  const text = [
    "sync_requirements:",
    "  - {name: web, allowed_users: []}",
    "  - {name: api, allowed_users: [], allowed_teams: [acme/api]}",
    "  - {name: wiki, require_approval: true}",
    "  - {project: shop, allowed_users: [], allowed_teams: []}",
  ].join("\n");
  const says = "an empty list means that nobody may give these commands; remove the key to let everybody";
  expect(checkFiles([server, { name: "x.yaml", text }], {})).toEqual({
    lines: [
      `warning: ${server.name}, x.yaml: sync_requirements web: ${says}`,
      `warning: ${server.name}, x.yaml: sync_requirements project shop: ${says}`,
      `${server.name}, x.yaml: valid`,
    ],
    exitCode: 0,
  });
  expect(checkFiles([{ name: ".svc.yaml", text }], {})).toEqual({
    lines: [
      `warning: .svc.yaml: sync_requirements web: ${says}`,
      `warning: .svc.yaml: sync_requirements project shop: ${says}`,
      ".svc.yaml: valid",
    ],
    exitCode: 0,
  });
});

test.each([
  ["dev-*", "prod-*", false],
  ["*-dev", "*-prod", false],
  ["{api,web}", "wiki", false],
  ["web", "web", true],
  ["dev-*", "*-prod", true],
  ["*", "prod-*", true],
  ["w*", "web", true],
  ["dev-*", "*", false],
])("stages %s and %s may take applications from each other: %s", (first, last, overlap) => {
  const text = `stages: [{name: one, applications: "${first}"}, {name: two, applications: "${last}"}]`;
  const warning = `warning: .svc.yaml: stages: an application may match both one (${first}) and two (${last}): the first wins, so it is in one`;
  const lines = [...(overlap ? [warning] : []), ".svc.yaml: valid"];
  expect(checkFiles([{ name: ".svc.yaml", text }], {})).toEqual({ lines, exitCode: 0 });
});

test("a stage that none of the running applications is in is pointed out", () => {
  const text =
    "stages: [{name: dev, applications: dev-*}, {name: canary, applications: c-*}, {name: prod, applications: p-*}]";
  const files = [
    { name: "a/.svc.yaml", text },
    { name: "svc.yaml", text },
    { name: ".svc.yaml", text: "stages: 1" },
  ];
  const says = "warning: a/.svc.yaml: stages: Argo CD has no application for stage";
  expect(emptyStages(files, ["dev-web", "wiki"])).toEqual([`${says} canary (c-*)`, `${says} prod (p-*)`]);
  expect(emptyStages(files, ["dev-web", "c-web", "p-web"])).toEqual([]);
});
