import { expect, test } from "@jest/globals";
import { permitsDestination, permitsRepository } from "../../../sandbox/argocd/projects.js";

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
