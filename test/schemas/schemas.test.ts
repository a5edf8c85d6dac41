import { readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import { Ajv, type ValidateFunction } from "ajv";
import fc from "fast-check";
import { parse } from "yaml";
import { generatedFiles } from "../../scripts/generated-files.js";
import { PATTERN_FORM, patternProblem } from "../../src/config/pattern.js";
import { withKey } from "../config/server-file.js";
import { changed } from "./change-one-value.js";
import { repositoryTakes, serverTakes } from "./loaders.js";

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

test.each(generatedFiles())("$path is up to date; `npm run generate` makes it so", ({ path, text }) => {
  expect(read(path)).toBe(text);
});

function compiled(path: string): ValidateFunction {
  const schema: unknown = JSON.parse(read(path));
  if (typeof schema !== "object" || schema === null) throw new Error(`${path} holds no schema`);
  return new Ajv({ strict: true, allowUnionTypes: true, strictTypes: false, strictRequired: false }).compile(schema);
}

const SERVER = compiled("schemas/svc.schema.json");
const REPOSITORY = compiled("schemas/repository.schema.json");

/** Whether a schema takes the values of a YAML text. */
const holds = (schema: ValidateFunction, text: string): boolean => schema(parse(text));

const LOGIN = '{"client_id":"i","client_secret":"s"}';

/** Values that between them are right for every kind of key. */
const VARIABLES = ["5", "true", "10m", "https://a.example", "acme/x", "a.example:1", "info", "user", "hosta"];
const loads = (text: string): boolean =>
  (text.includes("${") ? VARIABLES : ["x"]).some((V) => serverTakes(text, { V }));

describe.each([
  ["svc.example.yaml", SERVER, "schemas/svc.schema.json"],
  [".svc.example.yaml", REPOSITORY, "schemas/repository.schema.json"],
])("%s", (path, schema, named) => {
  test("is what its schema describes, and names it for editors", () => {
    expect(schema(parse(read(path))) ? [] : schema.errors).toEqual([]);
    expect(read(path).split("\n")[0]).toBe(`# yaml-language-server: $schema=${named}`);
  });
});

describe("svc.yaml: the schema takes what the service takes", () => {
  test.each([
    ["server.port", "0"],
    ["server.port", '"${V}"'],
    ["server.base_url", '"https://svc.example.org/"'],
    ["server", "null"],
    ["kvstore", "null"],
    ["auth", "null"],
    ["server.shutdown_grace", '"25m30s"'],
    ["deployer.insecure", '"${V}"'],
    ["deployer.diff_mode", '"live"'],
    ["kvstore.address", '"[::1]:6379"'],
    ["kvstore.address", '"redis:${V}"'],
    ["kvstore.sentinel.addresses[]", '"s:26379"'],
    ["hostb.aliases", '["git.example.org"]'],
    ["defaults.allowed_repos", '["acme/*", "*", "{acme,shop}/deploy"]'],
    ["defaults.allowed_repos", '["github:acme/*", "hostb:*"]'],
    ["application_repositories[].repositories", '["gitlab:acme/*", "https://a.example.org/b/c", "git@a.example.org:b/c"]'],
    ["auth.cookie_domain", '"auto"'],
    ["auth.hosta.allowed_teams", '["acme/platform"]'],
    ["auth.role_assignments[].provider", '"oidc"'],
    ["hosta.private_key", '"key.pem"'],
    ["auth.github", '{"client_id":"i","client_secret":"s"}'],
    ["auth.role_assignments[].provider", '"github"'],
    ["notifications[].url", '"${V}"'],
    ["notifications[].format", '"teams"'],
    ["hostb", `{"token":"t","signing_token":"whsec_${"A".repeat(32)}"}`],
  ])("%s: %s", (key, value) => {
    const text = withKey(key, value);
    expect([holds(SERVER, text), loads(text)]).toEqual([true, true]);
  });
});

test.each([
  ["names of products", "argocd: {server_url: http://a, token: t}\ngitlab: {token: t, webhook_secret: hook-secret-of-tests}"],
  ["one of each", "redis: {address: 'a:1'}\nargocd: {server_url: http://a, token: t}\nhostb: {token: t, webhook_secret: hook-secret-of-tests}"],
])("svc.yaml: the schema takes what the service takes: %s", (_what, text) => {
  expect([holds(SERVER, text), loads(text)]).toEqual([true, true]);
});

describe("svc.yaml: the schema refuses what the service refuses", () => {
  const rules = [
    ["no host", 'deployer: {server_url: "https://a", token: t}'],
    ["no deployer", "hostb: {token: t, webhook_secret: s}"],
    ["a host without its secret", 'deployer: {server_url: "https://a", token: t}\nhostb: {token: t}'],
    ["an empty host section", 'deployer: {server_url: "https://a", token: t}\nhostb:'],
    ["login without a secret", withKey("auth.enabled", "true")],
    ["half of a self-hosted GitHub", withKey("hosta", '{"app_id":1,"private_key":"k","webhook_secret":"s","api_url":"https://a"}')],
    ["two stores", withKey("kvstore", '{"address":"a:1","cluster":{"addresses":["b:1"]}}')],
    ["a database of a cluster", withKey("kvstore", '{"db":1,"cluster":{"addresses":["b:1"]}}')],
    ["one host under both names", withKey("gitlab", '{"token":"t","webhook_secret":"hook-secret-of-tests"}')],
    ["one login under both names", withKey("auth", `{"github":${LOGIN},"hosta":${LOGIN}}`)],
    ["not a map", "[]"],
    ["nothing", ""],
  ] as const;
  const values = [
    ["server.prot", "1"],
    ["server.port", "65536"],
    ["server.port", "-1"],
    ["server.port", "1.5"],
    ["server.port", '"80"'],
    ["server.port", "null"],
    ["server.concurrency", "0"],
    ["server.host", '""'],
    ["server.host", "12"],
    ["server.command", '"Svc"'],
    ["server.command", '"argo cd"'],
    ["server.command", '"-"'],
    ["server.log_level", '"loud"'],
    ["server.trust_proxy", '"yes"'],
    ["server.shutdown_grace", '"25"'],
    ["server.shutdown_grace", '"0s"'],
    ["server.base_url", '"svc.example.org"'],
    ["server.base_url", '"https://svc.example.org/?a"'],
    ["kvstore.address", '"redis"'],
    ["kvstore.address", '"redis:0"'],
    ["kvstore.password", '" p"'],
    ["kvstore.cluster.addresses", "[]"],
    ["deployer.token", '"t\\n"'],
    ["hostb.aliases", '["https://git.example.org"]'],
    ["hostb.aliases", "null"],
    ["hostb.signing_token", '"abc"'],
    ["defaults.allowed_repos", '["deploy"]'],
    ["defaults.allowed_repos", '["/acme/deploy"]'],
    ["defaults.merge_method", '"fast"'],
    ["application_repositories[].application", '"a[b]"'],
    ["application_repositories[].repositories", '["github:deploy"]'],
    ["application_repositories[].repositories", '["https://u:p@a.example.org/b/c"]'],
    ["notifications[].format", '"json"'],
    ["notifications[].secret", '"whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="'],
    ["notifications[].url", '"https://u:p@chat.example.org"'],
    ["notifications[].events", "[]"],
    ["notifications[].name", '"A b"'],
    ["auth.hosta.allowed_teams", '["platform"]'],
    ["auth.role_assignments[].role", '"root"'],
    ["hosta.app_id", "0"],
  ] as const;
  test.each([...rules, ...values.map(([key, value]) => [`${key}: ${value}`, withKey(key, value)] as const)])(
    "%s",
    (_, text) => expect([holds(SERVER, text), loads(text)]).toEqual([false, false]),
  );
});

describe(".svc.yaml: the schema and the service agree", () => {
  test.each([
    [true, ""],
    [true, "version: 1\ncr_paths: []"],
    [true, 'applications: [{name: team-a/web, paths: ["a/**", "{a,b}/*.yaml"]}]'],
    [true, "sync_requirements: [{name: web, allowed_teams: [a/b], commands: [plan]}]"],
    [true, "sync_requirements: [{project: shop, require_approval: true}]"],
    [true, "sync_requirements: [{destination: {cluster: 'https://*.example.org:6443', namespace: a}, allowed_users: []}]"],
    [true, "sync_requirements: [{name: web, destination: {cluster: in-cluster}, allowed_users: []}]"],
    [false, "sync_requirements: [{require_approval: true}]"],
    [false, "sync_requirements: [{destination: {}, require_approval: true}]"],
    [false, "sync_requirements: [{destination: {cluster: 'https://a//b'}, require_approval: true}]"],
    [false, "version: 2"],
    [false, 'version: "1"'],
    [false, "autoplna: true"],
    [false, "autoplan: ${V}"],
    [false, "autoplan: yes"],
    [false, "applications: web"],
    [false, "applications: [{name: a}]"],
    [false, "applications: [{name: a, paths: []}]"],
    [false, "applications: [{name: a, paths: [../b]}]"],
    [false, "cr_paths: [/a]"],
    [false, 'cr_paths: ["a//b"]'],
    [false, "sync_requirements: [{name: web}]"],
    [false, "sync_requirements: [{name: web, commands: [sync]}]"],
    [false, "sync_requirements: [{name: web, require_approval: true, commands: [sync]}]"],
    [false, 'sync_requirements: [{name: web, allowed_users: ["@ana"]}]'],
    [false, "sync_requirements: [{name: web, allowed_teams: [a/b], commands: [help]}]"],
  ])("%s: %s", (taken, text) => {
    expect([holds(REPOSITORY, text), repositoryTakes(text)]).toEqual([taken, taken]);
  });
});

describe("nothing that the service takes is marked as wrong", () => {
  test.each([
    ["svc.yaml", "svc.example.yaml", SERVER, loads],
    [".svc.yaml", ".svc.example.yaml", REPOSITORY, repositoryTakes],
  ] as const)("%s with a value, a key or an entry changed", (_, example, schema, takes) => {
    const start: unknown = parse(read(example).replaceAll(/\$\{\w+\}/g, "x"));
    let refused = 0;
    const property = fc.property(changed(start), (value) => {
      const text = JSON.stringify(value);
      if (holds(schema, text)) return;
      refused++;
      expect({ text, taken: takes(text) }).toEqual({ text, taken: false });
    });
    fc.assert(property, { numRuns: 120 });
    expect(refused).toBeGreaterThan(20);
  });

  test("a pattern", () => {
    const schema = new Ajv().compile(PATTERN_FORM);
    const part = fc.constantFrom("a", "/", ".", "*", "?", "{", "}", ",", "!", "[", "\\", "@", "+", "(", "\t");
    const property = fc.property(fc.array(part, { maxLength: 9 }), (parts) => {
      const text = parts.join("");
      if (!schema(text)) expect({ text, problem: patternProblem(text) }).toMatchObject({ problem: expect.any(String) });
    });
    fc.assert(property, { numRuns: 3000 });
  });
});
