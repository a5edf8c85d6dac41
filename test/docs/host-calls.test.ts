import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import { parse } from "yaml";

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
const page = read("docs/host-calls.md");

interface Row {
  readonly call: string;
  readonly needs: string;
  readonly link: string;
}

function rowsUnder(title: string): readonly Row[] {
  const [, part = ""] = page.split(`\n## ${title}\n`);
  const [own = ""] = part.split("\n## ");
  return [...own.matchAll(/^\| `([\w.]+)` \| ([^|]+) \| \[[^\]]+\]\(([^)]+)\)[^|]* \|/gm)].map(
    ([, call = "", needs = "", link = ""]) => ({ call, needs, link }),
  );
}

/** The calls in the source of an adapter, by the methods of the client library. */
function callsIn(folder: string, method: RegExp): readonly string[] {
  const files = readdirSync(new URL(`../../src/hosts/${folder}`, import.meta.url));
  const text = files.map((name) => read(`src/hosts/${folder}/${name}`)).join("\n");
  const found = [...text.matchAll(method)].map(([, group = "", name = ""]) => `${group}.${name}`);
  return [...new Set([...found, ...(text.includes("`query (") ? ["graphql"] : [])])].sort();
}

describe.each([
  ["GitHub", "github", /\brest\s*\.(\w+)\s*\.(\w+)/g, /^https:\/\/docs\.github\.com\//],
  ["GitLab", "gitlab", /\bnew (\w+)\(gitlab\)\s*\.(\w+)/g, /^https:\/\/docs\.gitlab\.com\//],
])("the table of calls to %s", (title, folder, method, address) => {
  const rows = rowsUnder(title);

  test("has every call of the adapter, and no other", () => {
    expect(rows.map(({ call }) => call).sort()).toEqual(callsIn(folder, method));
  });

  test("links each to the host's page", () => {
    expect(rows.filter(({ link }) => !address.test(link))).toEqual([]);
  });
});

const { default_permissions: asked } = parse(read("app.yml")) as {
  readonly default_permissions: Readonly<Record<string, string>>;
};
const needed = rowsUnder("GitHub").flatMap(({ needs }) => {
  const [, name, level] = /^(\w+): (read|write)$/.exec(needs) ?? [];
  return name === undefined || level === undefined ? [] : [{ name, level }];
});

test("app.yml asks for what the calls need", () => {
  const missing = needed.filter(({ name, level }) => asked[name] !== "write" && asked[name] !== level);
  expect(missing).toEqual([]);
});

test("app.yml asks for nothing that no call needs, but for the event of comments", () => {
  const isNeeded = (name: string, level: string) =>
    needed.some((one) => one.name === name && (level === "read" || one.level === "write"));
  const idle = Object.entries(asked).filter(([name, level]) => !isNeeded(name, level));
  // GitHub delivers `issue_comment` with `issues: read`. Whether reactions do without `write` is tried by `npm run e2e`.
  expect(idle.map(([name]) => name)).toEqual(["issues"]);
});
