import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import type { Manifest } from "../../../src/core/model/application.js";
import { diff, object } from "../diff/resource.js";

const application = (helm: Manifest) =>
  object("argoproj.io/v1alpha1/Application", "shop", { spec: { source: { helm } } });
const shown = (base: Manifest, head: Manifest) =>
  diff([application(base)], [application(head)]).resources[0]?.diff ?? "";

const parameters = (all: Readonly<Record<string, string>>) =>
  Object.entries(all).map(([name, value]) => ({ name, value }));

describe("what looks secret in an Application is hidden, and its change stays visible", () => {
  test.each<[string, Manifest, Manifest]>([
    [
      "a parameter",
      { parameters: [{ name: "db.password", value: "S3CR3T-1" }] },
      { parameters: [{ name: "db.password", value: "S3CR3T-2" }] },
    ],
    [
      "a parameter that another one names",
      { parameters: parameters({ "env[1].name": "DB_PASSWORD", "env[1].value": "S3CR3T-1" }) },
      { parameters: parameters({ "env[1].value": "S3CR3T-2", "env[1].name": "DB_PASSWORD" }) },
    ],
    [
      "a parameter whose name another one has as key",
      { parameters: parameters({ "env[1].key": "DB_PASSWORD", "env[1].value": "S3CR3T-1" }) },
      { parameters: parameters({ "env[1].key": "DB_PASSWORD", "env[1].value": "S3CR3T-2" }) },
    ],
    [
      "a value whose name is a key",
      { valuesObject: { env: [{ key: "DB_PASSWORD", value: "S3CR3T-1" }] } },
      { valuesObject: { env: [{ key: "DB_PASSWORD", value: "S3CR3T-2" }] } },
    ],
    ...['"/data"', "/stringData", "/data/dsn", "/stringData/dsn", "/spec/auth/password"].map(
      (path): [string, Manifest, Manifest] => {
        const patch = (value: string) => ({ patch: `- op: replace\n  path: ${path}\n  value: {a: ${value}}\n` });
        const patches = (value: string) => ({ patches: [{ target: { name: "db" }, ...patch(value) }] });
        return [`a patch of ${path}`, patches("S3CR3T-1"), patches("S3CR3T-2")];
      },
    ),
    ["a value", { valuesObject: { db: { apiKey: "S3CR3T-1" } } }, { valuesObject: { db: { apiKey: "S3CR3T-2" } } }],
    [
      "everything below such a name",
      { valuesObject: { secrets: { list: ["S3CR3T-1"], deep: { x: 1 } } } },
      { valuesObject: { secrets: { list: ["S3CR3T-2"], deep: { x: 1 } } } },
    ],
    [
      "a text of values",
      { values: "auth:\n  token: |\n    S3CR3T-1\n" },
      { values: "auth:\n  token: |\n    S3CR3T-2\n" },
    ],
    ["a text that cannot be read", { values: "password: [S3CR3T-1" }, { values: "password: [S3CR3T-2" }],
    ["keys of keys", { values: `key: 1\n${"? ".repeat(450)}` }, { values: "password: S3CR3T-2" }],
    [
      "maps as keys",
      { values: `key: 1\nx: [${`${"{? ".repeat(90)}a${"}".repeat(90)},`.repeat(500)}]` },
      { values: "key: 2" },
    ],
    ["equal keys", { values: "password: S3CR3T-1\npassword: S3CR3T-1" }, { values: "password: S3CR3T-2" }],
    ["a long text", { values: `password: S3CR3T-1 #${"x".repeat(300_000)}` }, { values: "password: S3CR3T-2" }],
  ])("%s", (_, base, head) => {
    const text = shown(base, head);
    expect(text).toMatch(/^-.*\(hidden, value \d\)/m);
    expect(text).toMatch(/^\+.*\(hidden, value \d\)/m);
    expect(text).not.toContain("S3CR3T");
  });

  test("a comment in such a text is a change that is counted", () => {
    expect(shown({ values: "password: x # one" }, { values: "password: x # two" })).toBe(
      "# Only text that is not shown here changes.",
    );
  });

  test("other parameters are shown, and equal sides are no change", () => {
    const helm = {
      parameters: parameters({ "env[0].name": "DB_HOST", "env[0].value": "db", "keycloak.image.tag": "1" }),
      valuesObject: { replicas: 2, token: "a" },
    };
    expect(diff([application(helm)], [application(helm)]).resources).toEqual([]);
    const text = shown(helm, {
      ...helm,
      parameters: parameters({ "env[0].name": "DB_HOST", "env[0].value": "db-2", "keycloak.image.tag": "2" }),
    });
    expect(text).toMatch(/^-.*value: "1"\n\+.*value: "2"/m);
    expect(text).toContain("value: db-2");
  });

  test.each<[string, (value: string) => Manifest]>([
    [
      "a patch of the template",
      (value) => ({
        templatePatch: `spec:\n  source:\n    helm:\n      parameters: [{name: db.password, value: ${value}}]\n`,
      }),
    ],
    [
      "a parameter for the data of an object",
      (value) => ({
        templatePatch: `spec:\n  source:\n    helm:\n      parameters: [{name: "extra[0].stringData.dsn", value: ${value}}]\n`,
      }),
    ],
    [
      "a patch with conditions",
      (value) => ({
        templatePatch: `{{- if .own }}\nspec: {source: {helm: {valuesObject: {token: ${value}}}}}\n{{- end }}`,
      }),
    ],
    ["elements", (value) => ({ generators: [{ list: { elementsYaml: `- apiKey: ${value}\n  name: eu\n` } }] })],
  ])("a text of an ApplicationSet: %s", (_, spec) => {
    const set = (value: string) => object("argoproj.io/v1alpha1/ApplicationSet", "shops", { spec: spec(value) });
    const text = diff([set("S3CR3T-1")], [set("S3CR3T-2")]).resources[0]?.diff ?? "";
    expect(text).toMatch(/^-.*\(hidden, value 1\)/m);
    expect(text).toMatch(/^\+.*\(hidden, value 2\)/m);
    expect(text).not.toContain("S3CR3T");
  });

  test("kinds of other groups are left alone", () => {
    const other = object("example.com/v1/Application", "a", { spec: { password: "open" } });
    expect(diff([], [other]).resources[0]?.diff).toContain("password: open");
  });
});

test("no value under such a name is in any result", () => {
  const value = fc.stringMatching(/^[a-z0-9]{3,9}$/).map((text) => `S3CR3T${text}`);
  const name = fc.constantFrom("password", "dbPassword", "auth-token", "apiKey", "api.secret", "credentials");
  const helm = fc.oneof(
    fc.record({ parameters: fc.array(fc.record({ name, value })) }),
    fc.record({ valuesObject: fc.dictionary(name, fc.oneof(value, fc.array(value), fc.dictionary(name, value))) }),
    fc.record({ values: fc.tuple(name, value).map(([key, text]) => `${key}: ${text}\nother: 1\n`) }),
    fc.record({ values: fc.tuple(name, value).map(([key, text]) => `{{ ${key}: ${text}`) }),
  );
  fc.assert(
    fc.property(helm, helm, (one, other) => {
      expect(JSON.stringify(diff([application(one)], [application(other)]))).not.toContain("S3CR3T");
    }),
  );
});
