import { readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import { parse, stringify } from "yaml";
import { loadServerConfig } from "../../src/config/server/server.js";
import { rsaKey } from "../config/rsa-key.js";
import { guideBlocks, guideText } from "./guide.js";

const ROOT = new URL("../../", import.meta.url);
const read = (path: string) => readFileSync(new URL(path, ROOT), "utf8");
const text = guideText();
const blocks = guideBlocks(text);
const file = (name: string) => blocks.find((block) => block.kind === "file" && block.name === name)?.text ?? "";

describe("the pages of the installation", () => {
  test("every block of commands says how it is known to work, or what it needs", () => {
    const kinds = blocks.flatMap((block) => (block.kind === "commands" ? [block.proof.kind] : []));
    expect(new Set(kinds)).toEqual(new Set(["run", "background", "ci", "needs"]));
    expect(kinds.filter((kind) => kind === "run").length).toBeGreaterThan(4);
  });

  test("what needs a cluster is said to the reader as well", () => {
    const needing = [...text.matchAll(/([^\n]*)\n\n<!-- needs (a cluster|a container engine) -->/g)];
    expect(needing.length).toBeGreaterThan(5);
    for (const [, before = "", what = ""] of needing) {
      const paragraph = text
        .slice(0, text.indexOf(before) + before.length)
        .split("\n\n")
        .at(-1);
      expect(paragraph).toMatch(new RegExp(`\\*Needs ${what}[:.]?\\*`));
    }
  });

  test("it installs and upgrades what it had Helm render before", () => {
    const lines = text.match(/^helm (?:template|install|upgrade) svc oci:.*$/gm) ?? [];
    expect(lines.map((line) => line.split(" ")[1])).toEqual(["template", "install", "upgrade"]);
    expect(new Set(lines.map((line) => line.replace(/^helm \w+|--wait$/g, "").trim())).size).toBe(1);
  });

  test("what it says that CI runs, CI runs", () => {
    const lines = blocks.flatMap((block) =>
      block.kind === "commands" && block.proof.kind === "ci" ? block.text.trim().split("\n") : [],
    );
    expect(lines.length).toBeGreaterThan(0);
    const ci = read(".ci/run").split("\n");
    for (const line of lines) expect(ci.some((each) => each === line || each.startsWith(`${line} --`))).toBe(true);
  });

  test("its svc.yaml and the chart's values say the same, and svc takes it without a warning", () => {
    const names = [...text.matchAll(/> secrets\/(\w+)$|^cp \S+ secrets\/(\w+)$/gm)].map(([, a, b]) => a ?? b ?? "");
    const environment = Object.fromEntries(
      names.map((name) => [name, name.includes("KEY") ? rsaKey() : "0123456789abcdef"]),
    );
    const config = loadServerConfig([{ name: "svc.yaml", text: file("svc.yaml") }], environment);
    expect(config).toMatchObject({ kind: "valid", warnings: [] });
    const written = parse(file("svc.yaml")) as Record<string, unknown>;
    const { config: values } = parse(file("values.yaml")) as { config: Record<string, unknown> };
    const { redis, ...rest } = values;
    const { config: gitlab } = parse(file("values-gitlab.yaml")) as { config: Record<string, unknown> };
    expect({ ...gitlab, gitlab: undefined }).toEqual({ ...values, github: undefined });
    expect({ ...rest, server: written.server }).toEqual(written);
    expect(redis).toMatchObject({ password: "${REDIS_PASSWORD}" });
    const stores = [
      { redis },
      { github: undefined, gitlab: gitlab.gitlab },
      ...blocks.flatMap((block) => (block.kind === "instead" ? [parse(block.text) as object] : [])),
    ];
    expect(stores.length).toBe(3);
    for (const store of stores) {
      const text = stringify({ ...written, ...store });
      const loaded = loadServerConfig([{ name: "svc.yaml", text }], environment);
      expect(loaded).toMatchObject({ kind: "valid", warnings: [] });
    }
  });

  test("it asks for the permissions and events that app.yml asks for", () => {
    const app = parse(read("app.yml")) as {
      default_permissions: Record<string, string>;
      default_events: readonly string[];
    };
    const titles: Readonly<Record<string, string>> = {
      metadata: "Metadata",
      pull_requests: "Pull requests",
      issues: "Issues",
      statuses: "Commit statuses",
      deployments: "Deployments",
      members: "Organization members",
      contents: "Contents",
      merge_queues: "Merge queues",
    };
    for (const [key, level] of Object.entries(app.default_permissions)) {
      expect(text).toMatch(new RegExp(`^\\| ${titles[key] ?? key} \\| ${level}\\b`, "m"));
    }
    for (const event of app.default_events) {
      const title = event.replaceAll("_", " ").replace(/^./, (letter) => letter.toUpperCase());
      expect(text).toContain(`| ${title} |`);
    }
  });

  test("the list of contents names every step", () => {
    const steps = [...text.matchAll(/^## \d+\. (.+)$/gm)].map(([, title = ""]) => title);
    const listed = [...text.matchAll(/^\d+\. \[(.+?)\]\(#/gm)].map(([, title = ""]) => title);
    expect(steps.length).toBe(12);
    expect(listed).toEqual(steps);
  });
});

describe("deploy/chart/README.md", () => {
  test("names every value", () => {
    const table =
      read("deploy/chart/README.md")
        .match(/^\| `.*$/gm)
        ?.join("\n") ?? "";
    const named = new Set([...table.matchAll(/^\| `(\w+)/gm), ...table.matchAll(/`(\w+)` \||, `(\w+)/g)].flat());
    const values = Object.keys(parse(read("deploy/chart/values.yaml")) as Record<string, unknown>);
    expect(values.filter((name) => !named.has(name))).toEqual([]);
  });
});

test.each([
  ["```sh\nls\n```\n", "say above these commands"],
  ["<!-- works -->\n```sh\nls\n```\n", "say above these commands"],
])("commands without a word on how they are known to work are found: %j", (markdown, sentence) => {
  expect(() => guideBlocks(markdown)).toThrow(sentence);
});
