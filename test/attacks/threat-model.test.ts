import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "@jest/globals";

const TESTS = fileURLToPath(new URL("../", import.meta.url));
const PAGE = readFileSync(new URL("../../docs/security.md", import.meta.url), "utf8");

interface Named {
  readonly file: string;
  readonly title: string;
}

/** Tests as the page names them, once each: `scenarios/x.test.ts`: "title". */
const named: readonly Named[] = [
  ...new Map([...PAGE.matchAll(/`([\w./-]+\.ts)`: "([^"]+)"/g)].map(([all, file, title]) => [all, { file, title }])),
].map(([, { file = "", title = "" }]) => ({ file, title }));

/** One test of a source file. */
interface Written {
  readonly title: string;
  /** It runs once for each code host. */
  readonly onBothHosts: boolean;
}

/**
 * Titles of the tests of a file, by its layout: a title stands behind `test(`, or behind the end of `test.each(…)`, and
 * what begins in the first column encloses what follows.
 */
function testsIn(text: string): readonly Written[] {
  const found: Written[] = [];
  let enclosing = "";
  let opened = "";
  let before = "";
  for (const line of text.split("\n")) {
    if (/^(?:describe|test|export function)\b/.test(line)) enclosing = line;
    if (/^\s*(?:describe|test)\b/.test(line)) opened = line;
    // The formatter puts a long title on a line of its own.
    const call = /(?:\btest|\))\($/.test(before) ? `${before}${line.trim()}` : line;
    before = line;
    const title = /(?:\btest|\))\("((?:[^"\\]|\\.)*)"(?:,|$)/.exec(call)?.[1];
    if (title === undefined || !opened.trimStart().startsWith("test")) continue;
    const each = enclosing.startsWith("describe.each(HOSTS)(") || opened.includes("test.each(HOSTS)(");
    found.push({ title: JSON.parse(`"${title}"`) as string, onBothHosts: each });
  }
  return found;
}

function read(file: string): readonly Written[] {
  return testsIn(readFileSync(`${TESTS}${file}`, "utf8"));
}

describe("docs/security.md", () => {
  test("every test that it names exists", () => {
    const missing = named.filter(({ file, title }) => !read(file).some((written) => written.title === title));
    expect(missing).toEqual([]);
  });

  test("at least 40 of them run on both hosts", () => {
    const both = named.filter(({ file, title }) =>
      read(file).some((written) => written.title === title && written.onBothHosts),
    );
    expect(both.length).toBeGreaterThanOrEqual(40);
  });

  test("every attack stands on it", () => {
    const attacks = readdirSync(`${TESTS}attacks`).filter((name) => name.endsWith(".test.ts"));
    const unnamed = attacks.flatMap((name) =>
      read(`attacks/${name}`)
        .filter(({ title, onBothHosts }) => onBothHosts && !named.some((one) => one.title === title))
        .map(({ title }) => `${name}: ${title}`),
    );
    expect(unnamed).toEqual([]);
  });

  test("every actor has attempts of its own", () => {
    const actors = ["An outsider", "The author of a pull request", "A reviewer", "A maintainer"];
    for (const actor of [...actors, "A compromised repository", "A neighbour on the network"]) {
      const [, part = ""] = PAGE.split(`\n## ${actor}\n`);
      const [own = ""] = part.split("\n## ");
      expect([actor, own.split("\n").filter((line) => line.startsWith("| ")).length > 4]).toEqual([actor, true]);
    }
  });
});
