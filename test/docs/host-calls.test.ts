import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import { ProbotOctokit } from "probot";
import { parse } from "yaml";
import { routes } from "../../sandbox/github/rest.js";
import { hostCalls } from "../host-calls.js";

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

/** The calls in the source of an adapter, by the methods of the client library. */
function callsIn(folder: string, method: RegExp): readonly string[] {
  const files = readdirSync(new URL(`../../src/hosts/${folder}`, import.meta.url));
  const text = files.map((name) => read(`src/hosts/${folder}/${name}`)).join("\n");
  const found = [...text.matchAll(method)].map(([, group = "", name = ""]) => `\`${group}.${name}\``);
  return [...new Set([...found, ...(text.includes("`query (") ? ["`graphql`"] : [])])].sort();
}

describe.each([
  ["GitHub", "github", /\brest\s*\.(\w+)\s*\.(\w+)/g, /^https:\/\/docs\.github\.com\//],
  ["GitLab", "gitlab", /\bnew (\w+)\(gitlab\)\s*\.(\w+)/g, /^https:\/\/docs\.gitlab\.com\//],
] as const)("the table of calls to %s", (title, folder, method, address) => {
  const rows = hostCalls(title);

  test("has every call of the adapter, and no other", () => {
    const named = rows.map(({ call }) => call).filter((call) => /^`[A-Za-z.]+`$/.test(call));
    expect(named.sort()).toEqual(callsIn(folder, method));
  });

  test("has a request in each row, and links to the host's page", () => {
    expect(rows.filter(({ requests, link }) => requests.length === 0 || !address.test(link))).toEqual([]);
  });
});

const onGitHub = hostCalls("GitHub");

test("the requests to GitHub are those of the client library", () => {
  const { rest } = new ProbotOctokit({ throttle: { enabled: false } });
  type Methods = Readonly<Record<string, { endpoint: { DEFAULTS: { method: string; url: string } } }>>;
  const groups = rest as unknown as Readonly<Record<string, Methods>>;
  const made = onGitHub.flatMap(({ call, requests }) => {
    const [, group = "", name = ""] = /^`(\w+)\.(\w+)`$/.exec(call) ?? [];
    const { method, url } = groups[group]?.[name]?.endpoint.DEFAULTS ?? {};
    return method === undefined ? [] : [{ call, requests, library: `${method} ${url ?? ""}` }];
  });
  expect(made.length).toBeGreaterThan(20);
  expect(made.filter(({ requests, library }) => requests.join() !== library)).toEqual([]);
});

const { default_permissions: asked } = parse(read("app.yml")) as {
  readonly default_permissions: Readonly<Record<string, string>>;
};
const needed = onGitHub.flatMap(({ requests, needs }) => {
  const [, name, level] = /^(\w+): (read|write)$/.exec(needs) ?? [];
  return name === undefined || level === undefined ? [] : requests.map((request) => ({ request, name, level }));
});

test("app.yml asks for what the calls need", () => {
  const missing = needed.filter(({ name, level }) => asked[name] !== "write" && asked[name] !== level);
  expect(missing).toEqual([]);
});

test("app.yml asks for nothing that no call needs, but for events", () => {
  const isNeeded = (name: string, level: string) =>
    needed.some((one) => one.name === name && (level === "read" || one.level === "write"));
  const idle = Object.entries(asked).filter(([name, level]) => !isNeeded(name, level));
  // GitHub delivers `issue_comment` and `merge_group` with them.
  expect(idle).toEqual([
    ["issues", "read"],
    ["merge_queues", "read"],
  ]);
});

test("the GitHub in miniature refuses each call without the permission of its row", () => {
  // Every token reads metadata; memberships of teams are served apart from repositories.
  const rows = needed.filter(({ request, name }) => request.includes("/repos/") && name !== "metadata");
  const unguarded = rows.filter(({ request, name, level }) => {
    const route = routes.find(({ method, template }) => request === `${method.toUpperCase()} ${template}`);
    return route?.needs?.some(([one, least]) => one === name && least === level) !== true;
  });
  expect(rows.length).toBeGreaterThan(15);
  expect(unguarded).toEqual([]);
});
