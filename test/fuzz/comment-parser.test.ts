import { expect, test } from "@jest/globals";
import fc from "fast-check";
import MarkdownIt from "markdown-it";
import { parseComment } from "../../src/core/commands/parse-command.js";
import { SERVICE } from "../../src/names.js";
import { fuzz } from "./fuzz.js";
import { hostileText } from "./hostile-text.js";

const rendered = new MarkdownIt("commonmark");
const word = fc.constantFrom(
  ...[
    "svc",
    "SVC",
    "Svc",
    "svc\u200b",
    "sync",
    "plan",
    "rollback",
    "unlock",
    "update",
    "hold",
    "release",
    "--reason",
    '--reason="a',
    'b"',
    "--until",
    "help",
    "deploy",
    "-a",
    "--app",
    "--app=web",
  ],
  ...[
    "-a=argocd/web",
    "--dry-run",
    "--prune",
    "--prune=yes",
    "web",
    "api",
    "../x",
    "web;rm",
    "*",
    "'team-*'",
    "web,api",
    "-a=label:team=shop",
    "label:a/b=c_d",
    "-a=web,{a,b}*",
    "",
    "=",
    "--",
    "&&",
    "\u202e",
  ],
);
const gap = fc.constantFrom(" ", "  ", "\t", "\n", "\r\n", "\u00a0");
const commandLike = fc
  .array(fc.tuple(word, gap), { maxLength: 10 })
  .map((words) => words.map(([text, after]) => text + after).join(""));
const before = fc.constantFrom(
  "",
  "\n",
  "> ",
  "    ",
  "  \t",
  "\t",
  "```\n",
  "~~~sh\n",
  "-- \n",
  "On Monday bo wrote:\n",
  "<!-- ",
  "/",
);
const after = fc.constantFrom("", "\n", "\n```", "\n~~~", "\n> svc sync", " -->", "\n-- \nsvc sync");
const comment = fc.oneof(
  fc.tuple(before, commandLike, after).map((parts) => parts.join("")),
  fc.tuple(hostileText(), before, commandLike, after).map((parts) => parts.join("")),
  hostileText(),
);

test("a command is only what a person wrote on the first line of their own, and holds nothing but names", () => {
  fuzz("comment-parser", comment, (body) => {
    const parsed = parseComment(body, SERVICE);
    if (parsed === undefined) return;
    // What a reader sees first, outside of quotes, lists and code.
    const shown = /<p>(.*)$/m.exec(withoutContainers(body))?.[1] ?? "";
    // Stars of two patterns are shown as emphasis.
    const own = shown
      .replace(/(?:<br \/>|<\/p>)$/, "")
      .replace(/<\/?em>/g, "*")
      .replace(/<\/?strong>/g, "**");
    expect(own).toMatch(/^\s*svc(?:\s|$)/i);
    if (parsed.kind === "not-a-command") return;
    expect(own).toMatch(/^svc[ \t]/i);
    const { command } = parsed;
    expect(own.trim().replaceAll("\t", " ")).not.toMatch(/[\p{Cf}\p{Cc}]/u);
    expect(own.toLowerCase()).toMatch(new RegExp(`^\\s*svc[ \\t]+${command.name}`));
    if (!("applications" in command)) return;
    expect(command.applications.length).toBeLessThanOrEqual(100);
    if (command.bare === true) expect(own.trim().endsWith(command.applications.join())).toBe(true);
    for (const name of command.applications) {
      expect(name).toMatch(
        /^[a-z0-9][a-z0-9.-]*(?:\/[a-z0-9][a-z0-9.-]*)?$|^[a-z0-9.*?{},/-]*[*?{][a-z0-9.*?{},/-]*$|^label:[\w./-]+=[\w.-]+$/,
      );
      expect(own).toContain(name);
    }
    if (command.name === "hold") expect(own.replace(/[ \t]+/g, " ")).toContain(command.reason);
    if (command.name === "sync" || command.name === "rollback") {
      expect(own.toLowerCase().includes("--prune")).toBe(command.prune);
      expect(own.toLowerCase().includes("--dry-run")).toBe(command.dryRun);
    }
    expect(parseComment(`> ${body.split(/\r\n|\r|\n/).join("\n> ")}`, SERVICE)).toBeUndefined();
    expect(parseComment(`- hello\n\n  ${own}`, SERVICE)).toBeUndefined();
    for (const opened of ["> hello", "> > hello", "- hello", "1. > hello", "hello", "[^1]: hello", "<div>", ">>>"]) {
      for (const end of ["\n", "\r", "\r\n"]) expect(parseComment(opened + end + own, SERVICE)).toBeUndefined();
    }
    expect(parseComment(`~~~~~~~~~~\n${body.replaceAll("~", "")}\n~~~~~~~~~~`, SERVICE)).toBeUndefined();
  });
});

test.each([" \tsvc sync", "  \tsvc sync", "   \tsvc plan -a web"])(
  "%j is shown as code, so it is no command",
  (body) => {
    expect(parseComment(body, SERVICE)).toBeUndefined();
  },
);

/** The first rendered text that no quote, list or code block contains. */
function withoutContainers(body: string): string {
  const level = (tag: string) => (tag.startsWith("</") ? -1 : 1);
  let depth = 0;
  return rendered
    .render(body)
    .split(/(<\/?(?:blockquote|ul|ol|pre)(?: [^>]*)?>)/)
    .filter((part, index) => {
      if (index % 2 === 1) depth += level(part);
      return index % 2 === 0 && depth === 0;
    })
    .join("");
}
