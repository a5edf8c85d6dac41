import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import { REPLIES } from "../../scripts/replies.js";
import { commandList } from "../../src/comments/refusal.js";
import { HELP } from "../../src/config/help.js";
import { parseComment } from "../../src/core/commands/parse-command.js";
import type { CommandResult, Refusal } from "../../src/core/model/result.js";
import { SERVICE } from "../../src/names.js";

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
const PAGE = read("docs/commands.md");
const GOLDEN = readdirSync(new URL("../comments/golden", import.meta.url)).map((name) => ({
  name,
  text: plain(read(`test/comments/golden/${name}`)),
}));

/** Without the hidden line and all that is only for the eye. */
function plain(text: string): string {
  return text
    .replace(/^<!--.*-->/gm, "")
    .replace(/\[([^\]]+)\]\(<[^>]*>\)/g, "$1")
    .replace(/[`\u200b]|^- /gm, "")
    .replace(/\s+/g, " ")
    .trim();
}

/** The first cells of the table under a heading. */
function firstCells(heading: string): readonly string[] {
  const section = PAGE.split(`## ${heading}\n`)[1]?.split(/^## /m)[0] ?? "";
  return [...section.matchAll(/^\| `([^|]+)` \|/gm)].map(([, cell = ""]) => cell);
}

/** A text of the page as a pattern: `<…>` and `…` stand for anything. */
function patternOf(text: string): RegExp {
  const parts = plain(text)
    .split(/<[^>]+>|…/)
    .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}`);
}

describe("docs/commands.md", () => {
  test("lists the commands with the options that the help names", () => {
    const usages = [...commandList({ command: SERVICE }).matchAll(/`([^`]+)`/g)].map(([, usage = ""]) => usage);
    expect(usages.length).toBe(9);
    for (const usage of usages) expect(PAGE).toContain(`\n| \`${usage}\` |`);
  });

  test.each(
    [...PAGE.matchAll(/`(svc (?:plan|sync|rollback|unlock|update|revert|hold|release|help)(?: -[^`[\]]*)?)`/g)].map(
      ([, one = ""]) => one,
    ),
  )("shows %s, which is a command", (text) =>
    expect(parseComment(text.replace(/<[^>]+>/g, "web"), SERVICE)).toMatchObject({ kind: "command" }),
  );

  test.each(["-a web", "--app web", "-a=web", "--dry-run", "--prune"])("knows the option %s", (option) => {
    expect(parseComment(`svc sync ${option}`, SERVICE)).toMatchObject({ kind: "command" });
    expect(PAGE).toContain(option.replace("web", "<application>"));
  });

  test("has at most a screen for each command", () => {
    const sections = PAGE.split(/^## /m).filter((text) => text.startsWith("`svc "));
    expect(sections.length).toBe(9);
    expect(sections.map((text) => text.split("\n").length).filter((lines) => lines > 60)).toEqual([]);
  });

  test("has a row for every refusal, and no row for none", () => {
    const rows = firstCells("Refusals").map((text) => ({ text, pattern: patternOf(text) }));
    const refusals = GOLDEN.filter(({ name }) => name.startsWith("refusal-"));
    expect(refusals.length).toBeGreaterThan(20);
    const unexplained = refusals.filter(({ text }) => !rows.some(({ pattern }) => pattern.test(text)));
    expect(unexplained.map(({ name }) => name)).toEqual([]);
    const source = plain(read("src/comments/refusal.ts"));
    const invented = rows.filter(
      ({ text, pattern }) =>
        !refusals.some((one) => pattern.test(one.text)) && !source.includes(text.replace(/ …$/, "")),
    );
    expect(invented.map(({ text }) => text)).toEqual([]);
  });

  test("has a sample of every kind of reply", () => {
    const refusals: Readonly<Record<Refusal["reason"], true>> = {
      "not-a-command": true,
      "nothing-locked": true,
      "not-locked": true,
      "not-approved": true,
      stale: true,
      "unread-files": true,
      conflicts: true,
      "mergeability-unknown": true,
      "auto-sync": true,
      "not-deployable": true,
      "unknown-applications": true,
      "no-match": true,
      "locked-by-other": true,
      "cannot-tell": true,
      "head-moved": true,
      "plan-unseen": true,
      "store-unavailable": true,
      "found-late": true,
      closed: true,
      fork: true,
      "not-done": true,
      "no-write-access": true,
      "not-allowed": true,
      "repository-file": true,
      superseded: true,
      failure: true,
    };
    const results: Readonly<Record<Exclude<CommandResult["kind"], "refused">, string>> = {
      planned: "plan-changed",
      synced: "result-sync",
      "rolled-back": "result-rollback",
      unlocked: "result-unlock",
      updated: "result-update",
      reverted: "result-revert",
      held: "result-hold",
      released: "result-release",
      closed: "result-closed",
      help: "result-help",
    };
    const wanted = [...Object.keys(refusals).map((reason) => `refusal-${reason}`), ...Object.values(results)];
    expect(wanted.filter((name) => !(name in REPLIES))).toEqual([]);
    expect(Object.keys(REPLIES).toSorted()).toEqual(GOLDEN.map(({ name }) => name.replace(".md", "")).toSorted());
  });

  test("has a row for every result of a sync", () => {
    const rows = firstCells("`svc sync`");
    const results = GOLDEN.flatMap(({ text }) => [...text.matchAll(/\*\*Result:\*\* (\S+ [a-z ]+)/g)]).map(
      ([, result = ""]) => result,
    );
    expect(new Set(results).size).toBeGreaterThan(4);
    expect(results.filter((result) => !rows.some((row) => result.startsWith(row)))).toEqual([]);
  });

  test.each(Object.entries(HELP))("shows the help of the program: %s", (_topic, text) => {
    expect(PAGE).toContain(`\`\`\`\n${text}\n\`\`\``);
  });
});
