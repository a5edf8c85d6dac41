import { describe, test } from "@jest/globals";
import fc from "fast-check";
import { readMarker } from "../../src/comments/marker.js";
import {
  code,
  details,
  escapeHtml,
  fence,
  plainName,
  sentence,
  shortened,
  withoutDeceivers,
} from "../../src/comments/parts.js";
import { matchesName, matchesPath, patternProblem } from "../../src/config/pattern.js";
import { parseComment } from "../../src/core/commands/parse-command.js";
import { cleanPath, globMatcher } from "../../src/core/detect/tree/repository-path.js";
import { canonicalRepository, redactUserInfo } from "../../src/core/detect/tree/repository-url.js";
import { canonicalJson, isNestedDeeper, type Json, parseJson } from "../../src/core/model/json.js";
import { MAX_DEPTH } from "../../src/deployer/argocd/argocd-failure.js";
import { parseLog } from "../../src/git/history.js";
import { SERVICE } from "../../src/names.js";
import { beforeDeadline, fuzz } from "./fuzz.js";
import { GIT_NAME, GLOB, type Grammar, JSON_TEXT, MARKDOWN, pumped, URL_TEXT } from "./pumped-text.js";

const LONGEST = 1024 * 1024;
/** No call that passes it can be one that keeps the event loop from answering. */
const DEADLINE_MS = 1000;

interface Subject {
  readonly name: string;
  readonly grammar: Grammar;
  readonly read: (text: string, other: string) => unknown;
}

/** What reads a text of strangers on the thread that answers. */
const SUBJECTS: readonly Subject[] = [
  { name: "a comment", grammar: MARKDOWN, read: (text) => parseComment(text, SERVICE) },
  { name: "the marker of a comment", grammar: MARKDOWN, read: readMarker },
  ...[code, plainName, fence, sentence, escapeHtml, withoutDeceivers].map((write) => ({
    name: `a text in an answer, by ${write.name}`,
    grammar: MARKDOWN,
    read: write,
  })),
  {
    name: "a text in an answer, shortened",
    grammar: MARKDOWN,
    read: (text, other) => details(shortened(text, 100), shortened(other, 10_000)),
  },
  {
    name: "a pattern of ours",
    grammar: GLOB,
    read: (pattern, text) =>
      patternProblem(pattern) === undefined && (matchesPath(pattern, text) || matchesName(pattern, text)),
  },
  {
    name: "a pattern of Argo CD",
    grammar: GLOB,
    read: (pattern, text) =>
      globMatcher(pattern, { doubleStar: true })(text) || globMatcher(pattern, { doubleStar: false })(text),
  },
  {
    name: "the URL of a repository",
    grammar: URL_TEXT,
    read: (url) => [canonicalRepository(url), redactUserInfo(url)],
  },
  { name: "a path", grammar: GIT_NAME, read: (path, other) => cleanPath(path, other) },
  { name: "a log of git", grammar: GIT_NAME, read: (message, path) => parseLog(logOf(message, path)) },
  { name: "a JSON text", grammar: JSON_TEXT, read: readJson },
];

/** One commit, as `git log` prints it with the paths that it changes. */
function logOf(message: string, path: string): Buffer {
  const [subject, name] = [message, path].map((text) => text.replaceAll("\0", ""));
  return Buffer.from(`\0${"a".repeat(40)}\0${"b".repeat(40)}\x001700000000\0${subject}\0\n${name}\0`);
}

function readJson(text: string): string {
  const value = parseJson(text);
  return value === undefined || isNestedDeeper(MAX_DEPTH, value) ? "" : canonicalJson(value as Json);
}

describe("no text of repeated parts keeps the event loop from answering", () => {
  test.each(SUBJECTS)("$name", ({ grammar, read }) => {
    const text = pumped(grammar, LONGEST);
    const share = { runs: 1 / SUBJECTS.length, seconds: 1 / SUBJECTS.length };
    fuzz(
      "pumped",
      fc.tuple(text, text),
      ([one, other]) => {
        beforeDeadline(() => read(one, other), DEADLINE_MS);
      },
      share,
    );
  });
});
