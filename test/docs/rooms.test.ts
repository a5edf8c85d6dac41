import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "@jest/globals";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const contributing = readFileSync(join(ROOT, "CONTRIBUTING.md"), "utf8");

function sectionOf(title: string): string {
  const [, rest = ""] = contributing.split(`\n## ${title}\n`);
  return rest.split("\n## ")[0] ?? "";
}

function firstCells(section: string): readonly string[] {
  return [...section.matchAll(/^\| (.+?) \|/gm)].map((match) => match[1] ?? "");
}

function foldersIn(folder: string): readonly string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => `${folder}/${name}/`);
}

test("the map of rooms names every folder of src and src/core, and nothing else", () => {
  const mapped = firstCells(sectionOf("Rooms"))
    .map((cell) => /^`(.+)`$/.exec(cell)?.[1])
    .filter((cell) => cell !== undefined);
  const loose = readdirSync(join(ROOT, "src")).filter((name) => name.endsWith(".ts"));
  const tree = [...foldersIn("src"), ...foldersIn("src/core"), ...loose.map((name) => `src/${name}`)];
  expect([...mapped].sort()).toEqual([...tree].sort());
});

test.each(["The line", "How to add"])("every path in the section %s exists", (title) => {
  const paths = [...sectionOf(title).matchAll(/`(src\/[^`*]+|test\/[^`*]+)`/g)].map((match) => match[1] ?? "");
  expect(paths.length).toBeGreaterThan(3);
  expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});

test("the glossary has at most 25 words", () => {
  const words = firstCells(sectionOf("Words")).filter((cell) => cell !== "Word" && !cell.startsWith("-"));
  expect(words.length).toBeGreaterThan(15);
  expect(words.length).toBeLessThanOrEqual(25);
});
