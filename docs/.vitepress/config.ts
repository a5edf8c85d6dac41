import { readFileSync } from "node:fs";
import { defineConfig } from "vitepress";
import { adaptMarkdown } from "./markdown.js";
import { pageOf, ROOT, sidebar, withoutPages } from "./pages.js";
import { REPOSITORY, VERSION } from "./repository.js";

const icon = `data:image/svg+xml;base64,${readFileSync(`${ROOT}views/assets/icon.svg`).toString("base64")}`;

/** The documents as a site: `npm run docs` builds it into site/, `npm run docs:dev` shows it while you write. */
export default defineConfig({
  title: "svc",
  description: "Gates Argo CD deployments through GitHub pull requests and GitLab merge requests",
  lang: "en",
  // A pipeline says where the site will stand.
  base: `${new URL(process.env.SVC_DOCS_URL ?? "https://docs.example.org").pathname}/`.replace("//", "/"),
  head: [
    ["link", { rel: "icon", type: "image/svg+xml", href: icon }],
    ["style", {}, readFileSync(`${ROOT}docs/.vitepress/site.css`, "utf8")],
  ],
  srcDir: "..",
  srcExclude: withoutPages(),
  rewrites: (file) => pageOf(file) ?? file,
  outDir: "../site",
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

/** The anchor of a heading by the rule of GitHub and GitLab, so that links hold there and here. */
function anchorOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(" ", "-");
}
