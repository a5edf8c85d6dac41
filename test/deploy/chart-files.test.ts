import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import { parse } from "yaml";

const ROOT = new URL("../../", import.meta.url);
const read = (path: string) => readFileSync(new URL(path, ROOT), "utf8");
const TEMPLATES = readdirSync(new URL("deploy/chart/templates/", ROOT));
const templates = TEMPLATES.map((name) => read(`deploy/chart/templates/${name}`)).join("\n");

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
}

const schemaOf = (path: string) => JSON.parse(read(path)) as Schema;

/** Every key of a JSON Schema as a path; keys of a list's entries as `list[].key`. */
function keysOf(schema: Schema, path = ""): readonly string[] {
  return [
    ...Object.entries(schema.properties ?? {}).flatMap(([key, member]) => [
      path + key,
      ...keysOf(member, `${path}${key}.`),
    ]),
    ...(schema.items === undefined ? [] : keysOf(schema.items, `${path.slice(0, -1)}[].`)),
  ];
}

/** The keys of a value, as deep as the schema names them. */
function keysSet(value: unknown, known: readonly string[], path = ""): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) => {
    const here = path + key;
    return [here, ...(known.some((each) => each.startsWith(`${here}.`)) ? keysSet(member, known, `${here}.`) : [])];
  });
}

describe("the chart follows the project", () => {
  const svc = schemaOf("schemas/svc.schema.json");
  const values = schemaOf("deploy/chart/values.schema.json");

  test("its versions are those of package.json", () => {
    const { version } = JSON.parse(read("package.json")) as { version: string };
    expect(parse(read("deploy/chart/Chart.yaml"))).toMatchObject({ version, appVersion: version });
    expect(read("deploy/kustomize/base/deployment.yaml")).toContain(`image: svc:${version}\n`);
    expect(read("deploy/kustomize/overlays/example/kustomization.yaml")).toContain(`newTag: "${version}"`);
  });

  test("it refuses every key of svc.yaml that holds a secret", () => {
    const secrets = keysOf(svc).filter((key) => /(?:secret|token|password|private_key)$/.test(key));
    const refused = [...read("deploy/chart/templates/_secrets.tpl").matchAll(/"([a-z_]+(?:\.[a-z_]+)+)"/g)];
    expect(secrets.length).toBeGreaterThan(10);
    expect([...new Set(refused.map(([, key = ""]) => key)), "auth.basic.users[].password"].sort()).toEqual(
      [...secrets].sort(),
    );
  });

  test("it knows the sections of svc.yaml, and no others", () => {
    expect(Object.keys(values.properties?.config?.properties ?? {}).sort()).toEqual(
      Object.keys(svc.properties ?? {}).sort(),
    );
  });

  test("its schema describes every value with a default, and no other", () => {
    const known = keysOf(values).filter((key) => key !== "global" && !key.startsWith("config."));
    const open = ["podSecurityContext", "securityContext", "resources.requests", "resources.limits"];
    const inside = (key: string) =>
      [
        ...open,
        "networkPolicy.ingressNamespace",
        "networkPolicy.monitoringNamespace",
        "networkPolicy.argocdNamespace",
      ].some((each) => key.startsWith(`${each}.`));
    const set = keysSet(parse(read("deploy/chart/values.yaml")), known).filter((key) => !inside(key));
    expect([...set].sort()).toEqual([...known].sort());
  });

  test("every value that a template reads has a default, and every value is read", () => {
    const values = parse(read("deploy/chart/values.yaml")) as Readonly<Record<string, unknown>>;
    const used = [...templates.matchAll(/\.Values\.(\w+)/g)].map(([, name = ""]) => name);
    expect([...new Set(used)].sort()).toEqual(Object.keys(values).sort());
  });
});
