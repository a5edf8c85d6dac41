import { existsSync, statSync } from "node:fs";
import { join, posix, relative } from "node:path";
import type { MarkdownRenderer } from "vitepress";
import { pageOf, PUBLISHED, ROOT } from "./pages.js";
import { fileUrl, SITE, SITE_IN_TEXTS } from "./repository.js";

/** What VitePress says of the file that is rendered. */
interface Environment {
  readonly realPath?: string;
  readonly path: string;
}

/** Makes of the documents, which GitHub and GitLab show as they are, pages of the site. */
export function adaptMarkdown(markdown: MarkdownRenderer): void {
  markdown.core.ruler.before("normalize", "site", (state) => {
    state.src = state.src.replaceAll(SITE_IN_TEXTS, SITE);
  });
  markdown.core.ruler.before("anchor", "quoted-headings", ({ tokens }) => {
    let depth = 0;
    for (const token of tokens) {
      if (token.type === "blockquote_open") depth++;
      if (token.type === "blockquote_close") depth--;
      if (depth === 0 || !token.type.startsWith("heading_")) continue;
      if (token.nesting === 1) token.attrJoin("class", `quoted-${token.tag}`);
      token.type = token.type.replace("heading", "paragraph");
      token.tag = "p";
    }
  });
  for (const rule of ["text", "code_inline"] as const) {
    const render = markdown.renderer.rules[rule];
    // Vue would take it for an expression.
    markdown.renderer.rules[rule] = (...given) => (render?.(...given) ?? "").replaceAll("{{", "&#123;&#123;");
  }
  markdown.core.ruler.push("links", ({ tokens, env }) => {
    const { realPath, path } = env as Environment;
    const file = relative(ROOT, realPath ?? path);
    for (const token of tokens) {
      if (token.type === "html_block") token.content = twoPictures(token.content, file);
      for (const child of token.children ?? []) {
        const href = child.type === "link_open" ? child.attrGet("href") : null;
        if (href !== null) child.attrSet("href", linkOnSite(href, file));
      }
    }
  });
}

/**
 * Where a link of a file leads on the site: to a page, to a published file, or to the file in the repository. Links to other sites and within the
 * page stay.
 * @throws {Error} that names file and link, if there is no such file.
 */
export function linkOnSite(href: string, file: string): string {
  if (/^([a-z]+:|#|\/\/)/i.test(href)) return href;
  const [, path = "", rest = ""] = /^([^?#]*)(.*)$/.exec(href) ?? [];
  const target = posix.join(posix.dirname(file), decodeURIComponent(path));
  if (target.startsWith("../") || !existsSync(join(ROOT, target))) {
    throw new Error(`${file}: the link ${href} leads nowhere`);
  }
  if (PUBLISHED.includes(target)) return `/${target}${rest}`;
  const page =
    pageOf(target) ?? (statSync(join(ROOT, target)).isDirectory() ? pageOf(`${target}/README.md`) : undefined);
  return page === undefined ? `${fileUrl(target)}${rest}` : `/${page}${rest}`;
}

/**
 * The picture of an HTML block as two, of which the style shows the one for the reader's choice of light or dark. `<picture>` knows
 * only what the system prefers.
 */
function twoPictures(html: string, file: string): string {
  return html.replace(
    /<picture>\s*<source media="\(prefers-color-scheme: dark\)" srcset="([^"]+)">\s*<img src="([^"]+)"(.*?)>\s*<\/picture>/,
    (_, dark: string, light: string, rest: string) =>
      [dark, light]
        .map((path) => `./${posix.relative(posix.dirname(file), posix.join(posix.dirname(file), path))}`)
        .map((path, index) => `<img class="${index === 0 ? "only-dark" : "only-light"}" src="${path}"${rest}>`)
        .join("\n"),
  );
}
