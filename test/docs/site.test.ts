import { describe, expect, test } from "@jest/globals";
import { linkOnSite } from "../../docs/.vitepress/markdown.js";
import { pageOf, sidebar } from "../../docs/.vitepress/pages.js";
import { VERSION } from "../../docs/.vitepress/repository.js";

const AT = `https://git.example.org/acme/svc/blob/v${VERSION}`;

describe("a link of a document leads on the site", () => {
  test.each([
    ["to a page beside it", "docs/security.md", "configuration.md#server", "/configuration.md#server"],
    ["to a page from the README", "README.md", "docs/installation.md#8-install-svc", "/installation.md#8-install-svc"],
    ["to the changelog", "docs/operations.md", "../CHANGELOG.md", "/changelog.md"],
    ["to the values of the chart", "docs/installation.md", "../deploy/chart/README.md", "/chart.md"],
    ["to the list of decisions", "README.md", "docs/adr", "/adr/index.md"],
    ["up from a decision", "docs/adr/0001-render-in-place.md", "../how-it-works.md", "/how-it-works.md"],
    ["to a file of the repository", "docs/installation.md", "../app.yml", `${AT}/app.yml`],
    ["to a line of a file", "docs/api.md", "../app.yml#L7", `${AT}/app.yml#L7`],
    ["to a schema", "docs/configuration.md", "../schemas/svc.schema.json", "/schemas/svc.schema.json"],
    ["to the description of the API", "docs/api.md", "../openapi.yaml", "/openapi.yaml"],
    ["within the page", "docs/security.md", "#a-reviewer", "#a-reviewer"],
    ["to another site", "docs/comparison.md", "https://docs.kargo.io/", "https://docs.kargo.io/"],
  ])("%s", (_, file, href, leads) => {
    expect(linkOnSite(href, file)).toBe(leads);
  });

  test.each(["../nothing.md", "nothing.md#at-all", "../../outside.md"])("or fails the build: %s", (href) => {
    expect(() => linkOnSite(href, "docs/security.md")).toThrow(`docs/security.md: the link ${href} leads nowhere`);
  });
});

test("every page stands in the sidebar, under the first heading of its file", () => {
  const sections = sidebar();
  const items = sections.flatMap(({ items = [] }) => items.flatMap((item) => [item, ...(item.items ?? [])]));
  expect(items).toContainEqual({ text: "Production on Kubernetes", link: "/installation.md" });
  expect(items).toContainEqual({ text: "10. Set one commit status, svc/sync", link: "/adr/0010-one-commit-status.md" });
  expect(new Set(items.map(({ link }) => link)).size).toBe(items.length);
  expect(pageOf("app.yml")).toBeUndefined();
});
