import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import { Ajv, type ValidateFunction } from "ajv";
import { parse } from "yaml";
import { OTHER_NAMES } from "../../src/config/server/section-names.js";
import { checkWith } from "./check-in-pod.js";

const ROOT = new URL("../../", import.meta.url);
const read = (path: string) => readFileSync(new URL(path, ROOT), "utf8");
const TEMPLATES = readdirSync(new URL("deploy/chart/templates/", ROOT), { recursive: true, encoding: "utf8" }).filter(
  (name) => /\.\w+$/.test(name),
);
const templates = TEMPLATES.map((name) => read(`deploy/chart/templates/${name}`)).join("\n");

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly definitions?: object;
}

/** The two names of each section, as paths: `auth.hosta` and `auth.github`. */
const PATHS = OTHER_NAMES.map(
  ({ within, name, other }) => [[...within, name].join("."), [...within, other].join(".")] as const,
);

const schemaOf = (path: string) => JSON.parse(read(path)) as Schema;

function compiled(schema: object): ValidateFunction {
  return new Ajv({ strict: true, allowUnionTypes: true, strictTypes: false, strictRequired: false }).compile(schema);
}

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

  test("the lock file and the guides name the version of package.json", () => {
    const { version } = JSON.parse(read("package.json")) as { version: string };
    expect(JSON.parse(read("package-lock.json"))).toMatchObject({ version, packages: { "": { version } } });
    const guides = ["README.md", "docs/installation.md", "docs/without-kubernetes.md"].map(read).join("\n");
    const named = [...guides.matchAll(/\bsvc(?:[:-]| --version )(\d+\.\d+\.\d+)/g)].map(([, each]) => each);
    expect(new Set(named)).toEqual(new Set([version]));
  });

  test("it refuses every key of svc.yaml that holds a secret", () => {
    const secrets = keysOf(svc).filter((key) => /(?:secret|token|password|private_key)$/.test(key));
    const named = secrets.flatMap((key) => [
      key,
      ...PATHS.flatMap(([name, other]) => (key.startsWith(`${name}.`) ? [other + key.slice(name.length)] : [])),
    ]);
    const refused = [...read("deploy/chart/templates/_secrets.tpl").matchAll(/"([a-z_]+(?:\.[a-z_]+)+)"/g)];
    expect(secrets.length).toBeGreaterThan(10);
    expect(
      [...new Set(refused.map(([, key = ""]) => key)), "auth.basic.users[].password", "notifications[].secret"].sort(),
    ).toEqual(named.sort());
  });

  test("it knows every key of svc.yaml, and no others", () => {
    const known = keysOf(values.properties?.config ?? {});
    expect(known.length).toBeGreaterThan(100);
    expect(known).toEqual(keysOf(svc));
  });

  test("its templates know both names of each section", () => {
    const pairs = [...read("deploy/chart/templates/_config.tpl").matchAll(/\(list "([\w.]+)" "([\w.]+)"\)/g)];
    expect(pairs.map(([, other, name]) => [name, other])).toEqual(expect.arrayContaining([...PATHS]));
    expect(pairs.length).toBe(PATHS.length);
  });

  test.each<readonly [string, string, readonly string[]]>([
    [
      "kvstore",
      "address",
      ["redis:6379", "[::1]:6379", "redis:00080", "redis:0", "redis:000000", "redis", "a/b:1", "redis:1\n"],
    ],
    ["deployer", "sync_timeout", ["10m", "1h30m", "0s", "0s1ms", "10 m", "", "${T}"]],
    ["server", "base_url", ["https://a.example", "HTTP://a", "a.example", "https://a?b", "${URL}"]],
    [
      "defaults",
      "allowed_repos",
      [
        "acme/*",
        "*",
        "shop",
        "a//b",
        "/a/b",
        "a/b/",
        "!a/b",
        "a/../b",
        "./a",
        "[x]/y",
        "a/+(b)",
        "a\\b/c",
        "a/\u0007",
        "a/b".repeat(99),
      ],
    ],
  ])("it takes what svc's own schema takes for %s.%s", (section, key, texts) => {
    const [own, chart] = [compiled(svc), compiled(values)];
    const verdicts = (validate: ValidateFunction, wrap: (config: object) => object) =>
      texts.map((text) => {
        const value = key === "allowed_repos" ? [text] : text;
        const base = {
          deployer: { server_url: "https://a.example", token: "t" },
          hostb: { token: "t", webhook_secret: "s" },
        };
        const before = section === "deployer" ? base.deployer : {};
        return [text, validate(wrap({ ...base, [section]: { ...before, [key]: value } }))];
      });
    const expected = verdicts(own, (config) => config);
    expect(verdicts(chart, (config) => ({ image: { repository: "r" }, config }))).toEqual(expected);
    expect(new Set(expected.map(([, taken]) => taken))).toEqual(new Set([true, false]));
  });

  test("its patterns are Go's, which look neither ahead nor back nor know \\u", () => {
    const patterns = [...read("deploy/chart/values.schema.json").matchAll(/"pattern": (".*")/g)];
    expect(patterns.length).toBeGreaterThan(50);
    const texts = patterns.map(([, pattern = ""]) => JSON.parse(pattern) as string);
    expect(texts.filter((pattern) => /\(\?<?[=!]|\\u/.test(pattern))).toEqual([]);
  });

  test("its schema describes every value with a default, and no other", () => {
    const known = keysOf(values).filter((key) => key !== "global" && !/^config\.|\[\]/.test(key));
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

test("the example overlay's svc.yaml is valid, and svc warns of nothing in it", () => {
  const text = read("deploy/kustomize/overlays/example/svc.yaml");
  const variables = [...text.matchAll(/\$\{(\w+)\}/g)].map(([, name]) => name ?? "");
  expect(checkWith(variables, text)).toEqual({ lines: ["svc.yaml: valid"], exitCode: 0 });
});
