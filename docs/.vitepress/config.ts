import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { defineConfig } from "vitepress";
import { adaptMarkdown } from "./markdown.js";
import { pageOf, PUBLISHED, ROOT, sidebar, withoutPages } from "./pages.js";
import { REPOSITORY, SITE, VERSION } from "./repository.js";

const icon = `data:image/svg+xml;base64,${readFileSync(`${ROOT}views/assets/icon.svg`).toString("base64")}`;

/** The documents as a site: `npm run docs` builds it into site/, `npm run docs:dev` shows it while you write. */
export default defineConfig({
  title: "svc",
  description: "Gates Argo CD deployments through GitHub pull requests and GitLab merge requests",
  lang: "en",
  // A pipeline says where the site will stand.
  base: `${new URL(SITE).pathname}/`.replace("//", "/"),
  head: [
    ["link", { rel: "icon", type: "image/svg+xml", href: icon }],
    ["style", {}, readFileSync(`${ROOT}docs/.vitepress/site.css`, "utf8")],
  ],
  srcDir: "..",
  srcExclude: withoutPages(),
  rewrites: (file) => pageOf(file) ?? file,
  outDir: "../site",
  buildEnd: ({ outDir }) => publish(outDir),
  cacheDir: "../node_modules/.cache/vitepress",
  markdown: {
    config: adaptMarkdown,
    anchor: { slugify: anchorOf },
    // `{app}` at the end of a heading is text, as on GitHub.
    attrs: { disable: true },
    languageAlias: { rego: "hcl" },
  },
  themeConfig: {
    logo: icon,
    nav: [
      { text: "Trial", link: "/trial" },
      { text: "Installation", link: "/installation" },
      { text: "Commands", link: "/commands" },
      { text: "Configuration", link: "/configuration" },
      { text: "API", link: "/api" },
      {
        text: `v${VERSION}`,
        items: [
          { text: "Changelog", link: "/changelog" },
          { text: "Other releases", link: REPOSITORY.releases },
        ],
      },
    ],
    sidebar: sidebar(),
    outline: [2, 3],
    search: { provider: "local" },
    editLink: { pattern: REPOSITORY.edit, text: "Edit this page" },
    socialLinks: [{ icon: REPOSITORY.icon, link: REPOSITORY.source, ariaLabel: "Repository" }],
    externalLinkIcon: true,
  },
});

/** Writes the files that are no pages. A schema gets the address at which it stands as its `$id`, which only a build knows. */
function publish(folder: string): void {
  for (const file of PUBLISHED) {
    const text = readFileSync(`${ROOT}${file}`, "utf8");
    const schema = file.endsWith(".json") ? (JSON.parse(text) as object) : undefined;
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    const published = schema && `${JSON.stringify({ $id: `${SITE}/${file}`, ...schema }, undefined, 2)}\n`;
    writeFileSync(join(folder, file), published ?? text);
  }
}

/** The anchor of a heading by the rule of GitHub and GitLab, so that links hold there and here. */
function anchorOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(" ", "-");
}
