import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "@jest/globals";
import MarkdownIt from "markdown-it";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const PAGES = [
  "README.md",
  "CONTRIBUTING.md",
  "CHANGELOG.md",
  "SECURITY.md",
  ...pagesIn("docs"),
  ...pagesIn("docs/adr"),
  ...pagesIn("docs/tasks"),
];
const markdown = new MarkdownIt({ html: true });

function pagesIn(folder: string): readonly string[] {
  return readdirSync(join(ROOT, folder))
    .filter((name) => name.endsWith(".md"))
    .map((name) => `${folder}/${name}`);
}

interface Page {
  readonly links: readonly string[];
  readonly anchors: ReadonlySet<string>;
}

/** What a page links to, and what can be linked to in it, by the rule of GitHub and GitLab. */
function read(path: string): Page {
  const links: string[] = [];
  const anchors = new Set<string>();
  const tokens = markdown.parse(readFileSync(path, "utf8"), {});
  tokens.forEach((token, index) => {
    if (token.type === "heading_open") anchors.add(newAnchor(tokens[index + 1]?.content ?? "", anchors));
    for (const child of token.children ?? []) {
      const target = child.attrGet("href") ?? child.attrGet("src");
      if (target !== null) links.push(String(target));
    }
  });
  return { links, anchors };
}

function newAnchor(heading: string, taken: ReadonlySet<string>): string {
  const plain = heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(" ", "-");
  let anchor = plain;
  for (let count = 1; taken.has(anchor); count++) anchor = `${plain}-${count}`;
  return anchor;
}

const isOutside = (link: string) => /^[a-z]+:/i.test(link);

test.each(PAGES)("every link of %s leads somewhere", (page) => {
  const path = join(ROOT, page);
  const broken = read(path).links.filter((link) => {
    if (isOutside(link)) return !/^https:\/\/[^\s]+$/.test(link);
    const [file = "", anchor] = decodeURIComponent(link).split("#");
    const target = file === "" ? path : resolve(dirname(path), file);
    if (!existsSync(target)) return true;
    return anchor !== undefined && !read(target).anchors.has(anchor);
  });
  expect(broken).toEqual([]);
});

test("the pages link to each other at all", () => {
  expect(PAGES.flatMap((page) => read(join(ROOT, page)).links).length).toBeGreaterThan(40);
});
