import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { parse } from "yaml";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const SOURCE = "https://github.com/acme/svc";
const folder = mkdtempSync(join(tmpdir(), "svc-site-"));
const site = join(folder, "site");
const page = (name: string) => readFileSync(join(site, name), "utf8");

function build(root: string) {
  return spawnSync("npm", ["run", "--silent", "docs", "--", "--outDir", site], {
    cwd: root,
    encoding: "utf8",
    env: { ...process.env, SVC_DOCS_SOURCE: SOURCE, SVC_DOCS_URL: "https://acme.github.io/svc" },
    timeout: 900_000,
  });
}

afterAll(() => rmSync(folder, { recursive: true }));

describe("the documents as a site", () => {
  beforeAll(() => {
    const { status, stderr } = build(ROOT);
    expect({ status, stderr: status === 0 ? "" : stderr }).toEqual({ status: 0, stderr: "" });
  }, 910_000);

  test("every link and picture of every page leads somewhere, and nothing is loaded from elsewhere", () => {
    const pages = readdirSync(site, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".html"));
    expect(pages.length).toBeGreaterThan(30);
    for (const name of pages) expect([name, brokenLinks(name)]).toEqual([name, []]);
  });

  test("the first page says what svc is and where to go, with its picture for light and for dark, and the version", () => {
    const html = page("index.html");
    const { version } = JSON.parse(readFileSync(`${ROOT}package.json`, "utf8")) as { readonly version: string };
    expect(html).toContain("gates Argo CD deployments through pull requests");
    expect(html).toMatch(/class="only-dark" src="\/svc\/assets\/conversation-dark\.[\w-]+\.png"/);
    expect(html).toMatch(/class="only-light" src="\/svc\/assets\/conversation-light\.[\w-]+\.png"/);
    expect(html).toContain("Undo a deployment");
    expect(html).toContain(`v${version}`);
    expect(html).toContain(`href="${SOURCE}/releases"`);
    expect(page("chart.html")).toContain(`href="${SOURCE}/edit/main/deploy/chart/README.md"`);
  });

  test("the page of the API has every operation of openapi.yaml", () => {
    const { paths } = parse(readFileSync(`${ROOT}openapi.yaml`, "utf8")) as { paths: Record<string, object> };
    const html = page("api.html");
    const operations = Object.entries(paths).flatMap(([path, item]) =>
      Object.keys(item).flatMap((key) => (key === "parameters" ? [] : [`${key.toUpperCase()} ${path}`])),
    );
    expect(operations.length).toBeGreaterThan(25);
    expect(operations.filter((operation) => !html.includes(`${operation} <a class="header-anchor"`))).toEqual([]);
  });

  test("schemas stand at the address that they name, and the documents give it to editors", () => {
    const at = "https://acme.github.io/svc/schemas";
    for (const name of ["svc", "repository", "notification"]) {
      const schema = JSON.parse(page(`schemas/${name}.schema.json`)) as { readonly $id: string };
      expect(schema).toEqual({
        ...(JSON.parse(readFileSync(`${ROOT}schemas/${name}.schema.json`, "utf8")) as object),
        $id: `${at}/${name}.schema.json`,
      });
    }
    expect(page("configuration.html")).toContain(`# yaml-language-server: $schema=${at}/repository.schema.json`);
    expect(page("openapi.yaml")).toBe(readFileSync(`${ROOT}openapi.yaml`, "utf8"));
    expect(page("api.html")).toContain('href="/svc/openapi.yaml"');
  });

  test("the search knows the texts without a service", () => {
    const chunks = join(site, "assets/chunks");
    const index = readdirSync(chunks).find((name) => name.startsWith("@localSearchIndex")) ?? "";
    expect(readFileSync(join(chunks, index), "utf8")).toContain("svc rollback");
  });
});

/** Attributes of a built page that lead nowhere, or load something from another site. */
function brokenLinks(name: string): readonly string[] {
  const tags = [...page(name).matchAll(/<(\w+) [^>]*?\b(?:href|src)="([^"]+)"[^>]*>/g)];
  return tags.flatMap(([, tag = "", value = ""]) => {
    const target = value.replaceAll("&amp;", "&");
    if (target.startsWith("data:")) return [];
    if (target.startsWith("https://")) return tag === "a" ? [] : [`${tag} loads ${target}`];
    const { pathname, hash } = new URL(target, `https://site/svc/${name}`);
    const path = decodeURIComponent(pathname.replace(/^\/svc\//, "")).replace(/^$|\/$/, "$&index.html");
    if (!existsSync(join(site, path))) return [target];
    const anchor = decodeURIComponent(hash.slice(1));
    return anchor === "" || page(path).includes(`id="${anchor}"`) ? [] : [target];
  });
}

test("a link that leads nowhere fails the build and is named", () => {
  const root = join(folder, "repository");
  mkdirSync(root);
  for (const name of readdirSync(ROOT)) {
    if (/\.md$|^(?:docs|deploy)$/.test(name)) cpSync(join(ROOT, name), join(root, name), { recursive: true });
    else symlinkSync(join(ROOT, name), join(root, name));
  }
  appendFileSync(join(root, "docs/checks.md"), "\n[gone](gone.md)\n");
  const { status, stderr } = build(root);
  expect(status).not.toBe(0);
  expect(stderr).toContain("docs/checks.md: the link gone.md leads nowhere");
}, 910_000);
