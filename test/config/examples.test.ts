import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import { z } from "zod";
import { repositorySchema, parseRepositoryConfig } from "../../src/config/repository/repository-schema.js";
import { OTHER_NAMES } from "../../src/config/server/section-names.js";
import { NOTIFICATION_EVENTS, serverSchema } from "../../src/config/server/server-schema.js";
import { loadServerConfig } from "../../src/config/server/server.js";
import { type ConfigTree, readYaml } from "../../src/config/yaml-tree.js";
import { DEFAULT_SENSITIVE_KINDS } from "../../src/core/model/settings.js";
import { rsaKey } from "./rsa-key.js";

const read = (name: string) => readFileSync(new URL(`../../${name}`, import.meta.url), "utf8");
const SERVER = read("svc.example.yaml");
const REPOSITORY = read(".svc.example.yaml");

/** A value for every variable in the text. */
function environment(text: string): Record<string, string> {
  const names = [...text.matchAll(/\$\{(\w+)\}|\benv: \[(\w+)\]/g)]
    .map(([, name, own = ""]) => name ?? own)
    .filter((name) => name !== "NAME");
  const value = (name: string) =>
    name.includes("PRIVATE_KEY")
      ? rsaKey()
      : name === "GITLAB_SIGNING_TOKEN" || name === "NOTIFICATION_SECRET"
        ? `whsec_${Buffer.alloc(32, "k").toString("base64")}`
        : name.endsWith("_URL")
          ? "https://chat.example.org/hook?sig=x"
          : "0123456789abcdef".repeat(4);
  return Object.fromEntries(names.map((name) => [name, value(name)]));
}

/** All keys that a schema knows, written as in the documentation. */
function keysOf(schema: z.core.$ZodType, path = ""): readonly string[] {
  if (schema instanceof z.ZodObject) {
    return Object.entries(schema.shape).flatMap(([key, member]) =>
      keysOf(member as z.core.$ZodType, path === "" ? key : `${path}.${key}`),
    );
  }
  if (schema instanceof z.ZodArray) {
    const inner = keysOf(schema.element, `${path}[]`);
    return inner.length === 1 ? [path] : [path, ...inner];
  }
  if (schema instanceof z.ZodPipe) {
    return schema.out instanceof z.ZodTransform ? keysOf(schema.in, path) : keysOf(schema.out, path);
  }
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault) {
    return keysOf(schema.unwrap(), path);
  }
  return [path];
}

/** All keys that a file uses, in the same form. */
function keysShown(tree: ConfigTree, path = ""): readonly string[] {
  if (tree.kind === "scalar") return [path];
  if (tree.kind === "list") {
    return [path, ...tree.items.flatMap((item) => (item.kind === "map" ? keysShown(item, `${path}[]`) : []))];
  }
  const here = path === "" ? [] : [path];
  return [
    ...here,
    ...[...tree.entries].flatMap(([key, { value }]) => keysShown(value, path === "" ? key : `${path}.${key}`)),
  ];
}

/** By the products' names of the sections, which people are shown. */
const SERVER_KEYS = keysOf(
  serverSchema(
    () => "",
    () => "",
  ),
).map((key) =>
  OTHER_NAMES.reduce((path, { within, name, other }) => {
    const [known, called] = [name, other].map((one) => [...within, one, ""].join("."));
    return `${path}.`.startsWith(known ?? "") ? (called ?? "") + path.slice(known?.length) : path;
  }, key),
);
const REPOSITORY_KEYS = keysOf(repositorySchema());

describe("svc.example.yaml", () => {
  test.each([
    ["as it stands", SERVER],
    ["with login", SERVER.replace("enabled: false", "enabled: true")],
  ])("is valid and gives no warning, %s", (_, text) => {
    const result = loadServerConfig([{ name: "svc.example.yaml", text }], environment(text));
    expect(result).toMatchObject({ kind: "valid", warnings: [] });
  });

  test("shows the default of sensitive_kinds", () => {
    const result = loadServerConfig([{ name: "svc.example.yaml", text: SERVER }], environment(SERVER));
    expect(result.kind === "valid" && result.config.sensitiveKinds).toEqual(DEFAULT_SENSITIVE_KINDS);
  });

  test("shows all events of notifications, which are the default", () => {
    const result = loadServerConfig([{ name: "svc.example.yaml", text: SERVER }], environment(SERVER));
    expect(result.kind === "valid" && result.config.notifications[0]?.events).toEqual(NOTIFICATION_EVENTS);
  });

  const everything = SERVER.replace(/^( *)# ( *(?:- \{|(?:- )?[a-z_]+:(?: |$)))/gm, "$1$2");

  test("shows every key, and no other", () => {
    const { tree, problems } = readYaml(everything, "svc.example.yaml", 1024 * 1024);
    expect(problems).toEqual([]);
    const sections = new Set(SERVER_KEYS.map((key) => key.split(/\.(?=[^.]*$)/)[0]));
    const shown =
      tree === undefined ? [] : keysShown(tree).filter((key) => !sections.has(key) || SERVER_KEYS.includes(key));
    // Below it are names of AppProjects.
    const named = shown.filter((key) => key.startsWith("projects."));
    expect(named).toContain("projects.payments.repositories");
    expect([...new Set(shown)].filter((key) => !named.includes(key)).sort()).toEqual([...SERVER_KEYS].sort());
  });

  test("is valid with every line switched on, but for the choice between stores and a file of its own", () => {
    const result = loadServerConfig([{ name: "a", text: everything }], environment(everything));
    expect(result.kind === "invalid" ? result.problems.map(({ key, message }) => `${key}: ${message}`) : []).toEqual([
      "redis.db: leave it out with redis.cluster: a cluster has only database 0",
      "redis.ca_file: the file cannot be read (ENOENT)",
      "redis.sentinel: only one of address, sentinel, cluster may be set",
    ]);
  });
});

describe(".svc.example.yaml", () => {
  test("is valid and uses every key", () => {
    const result = parseRepositoryConfig(REPOSITORY, ".svc.example.yaml");
    expect(result.kind).toBe("valid");
    for (const key of REPOSITORY_KEYS) expect(REPOSITORY).toMatch(new RegExp(`^[ -]*${key.split(".").at(-1)}:`, "m"));
  });
});

describe("docs/configuration.md", () => {
  const documented: readonly string[] = [...read("docs/configuration.md").matchAll(/^\| `([a-z_.[\]]+)` \|/gm)].map(
    ([, key = ""]) => key,
  );
  test("names every key of both files, and no other", () => {
    const known = [...SERVER_KEYS, ...REPOSITORY_KEYS];
    expect(known.length).toBeGreaterThan(90);
    const forms = ["web"]; // from the table of patterns
    expect(documented.filter((key) => !forms.includes(key)).sort()).toEqual([...known].sort());
  });
});

/** The YAML blocks of the pages, but for those of the guides, which `npm run check:deploy` follows, and for values of charts. */
const BLOCKS = readdirSync(new URL("../../docs", import.meta.url), { encoding: "utf8", recursive: true })
  .filter((page) => page.endsWith(".md") && page !== "installation.md")
  .flatMap((page) =>
    [...read(`docs/${page}`).matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, text = ""]) => ({
      page,
      text,
      line: text.split("\n")[0],
    })),
  )
  .filter(({ text }) => !/^config:/m.test(text));
/** What only a repository's file has. */
const OF_REPOSITORY = /^(?:stages|sync_on|# yaml-language-server)\b|^ +sync_on:/m;
const MINIMAL = `argocd: { server_url: "https://argocd.example.org", token: token-of-argocd }
github: { app_id: 1, private_key: "\${GITHUB_APP_PRIVATE_KEY}", webhook_secret: 0123456789abcdef0123456789abcdef }
`;

describe("the YAML of docs", () => {
  test("is found", () => {
    expect([...new Set(BLOCKS.map(({ page }) => page))].sort()).toEqual([
      "checks.md",
      "configuration.md",
      "notifications.md",
      "stages.md",
      "sync-on-approval.md",
      "tasks/add-a-repository.md",
      "without-kubernetes.md",
    ]);
  });

  test.each(BLOCKS)("of $page is accepted without a warning: $line", ({ page, text }) => {
    if (OF_REPOSITORY.test(text)) {
      const result = parseRepositoryConfig(text, page);
      expect(result.kind === "invalid" ? result.problems : []).toEqual([]);
      return;
    }
    const files = [
      { name: "minimal", text: MINIMAL },
      { name: page, text },
    ];
    const result = loadServerConfig(files, environment(MINIMAL + text));
    expect(result.kind === "invalid" ? result.problems : result.warnings).toEqual([]);
  });
});
