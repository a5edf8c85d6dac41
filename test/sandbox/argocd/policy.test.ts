import { describe, expect, test } from "@jest/globals";
import { selectorFor } from "../../../sandbox/argocd/label-selector.js";
import {
  permitsDestination,
  permitsRepository,
  windowsFor,
  type SyncWindow,
} from "../../../sandbox/argocd/projects.js";

const now = new Date("2026-06-03T10:30:00Z"); // a Wednesday
const application = { name: "web", namespace: "shop", cluster: "https://kubernetes.default.svc" };
const window = (kind: "allow" | "deny", schedule: string, more: Partial<SyncWindow> = {}): SyncWindow => ({
  kind,
  schedule,
  duration: "1h",
  applications: ["*"],
  ...more,
});

describe("sync windows", () => {
  test.each<[string, SyncWindow[], boolean, number]>([
    ["none", [], true, 0],
    ["a deny window that is open", [window("deny", "0 10 * * *")], false, 1],
    ["a deny window that has closed", [window("deny", "0 9 * * *")], true, 0],
    ["a deny window with manual syncs", [window("deny", "0 10 * * *", { manualSync: true })], true, 1],
    ["an allow window that is open", [window("allow", "15 10 * * 3")], true, 1],
    ["an allow window of another day", [window("allow", "15 10 * * 4")], false, 0],
    ["an allow window that is shut, with manual syncs", [window("allow", "0 3 * * *", { manualSync: true })], true, 0],
    ["one of another application", [window("deny", "* * * * *", { applications: ["api-*"] })], true, 0],
    [
      "one of the namespace",
      [window("deny", "*/15 8-12 * 1-6 1,3", { applications: [], namespaces: ["sh*"] })],
      false,
      1,
    ],
    ["minutes that have passed", [window("deny", "0 10 * * *", { duration: "30m" })], true, 0],
  ])("%s", (_case, syncWindows, canSync, active) => {
    const found = windowsFor({ name: "p", syncWindows }, application, now);
    expect([found.canSync, found.active.length]).toEqual([canSync, active]);
  });
});

test.each([
  [["*"], "https://git.example.com/a", true],
  [["https://git.example.com/acme/*"], "https://git.example.com/ACME/deploy.git", true],
  [["https://git.example.com/acme/*"], "https://git.example.com/other/deploy.git", false],
])("project repositories %j permit %s: %s", (sourceRepos, url, expected) => {
  expect(permitsRepository({ name: "p", sourceRepos }, url)).toBe(expected);
});

test("project destinations need both the cluster and the namespace", () => {
  const project = { name: "p", destinations: [{ server: "https://a", namespace: "prod-*" }] };
  expect(permitsDestination(project, "https://a", "prod-eu")).toBe(true);
  expect(permitsDestination(project, "https://a", "stage")).toBe(false);
  expect(permitsDestination(project, "https://b", "prod-eu")).toBe(false);
});

const labels = { app: "web", "svc.dev/temporary": "true" };
test.each([
  ["", true],
  ["app=web", true],
  ["app==web,svc.dev/temporary=true", true],
  ["app!=web", false],
  ["other!=web", true],
  ["svc.dev/temporary", true],
  ["!svc.dev/temporary", false],
  ["app in (api, web),svc.dev/temporary", true],
  ["app notin (api, web)", false],
])("selector %j: %s", (selector, expected) => {
  expect(selectorFor(selector)(labels)).toBe(expected);
});

test("a selector that is none is an error of code 2", () => {
  expect(() => selectorFor("a b")).toThrow("error parsing the selector: unable to parse requirement: found 'a b'");
});
