import { setImmediate } from "node:timers/promises";
import { type Document, isCollection, Lexer } from "yaml";
import { composeYaml, YAML_LIMITS, YamlRefused } from "../../../config/bounded-yaml.js";
import { hasLargeNumber, isNestedDeeper, type Json, parseJson } from "../../model/json.js";
import type { Compute, Computed, ComputeLimits, Task } from "../../ports/compute.js";
import type { Unreadable } from "../../ports/manifest-scanner.js";
import { type KubernetesDocument, readKubernetesYaml } from "../yaml/kubernetes-yaml.js";

/** Where untrusted texts are parsed, and for whom. */
export interface Reading extends Pick<ComputeLimits, "owner" | "signal"> {
  readonly compute: Compute;
}

/** The slowest known texts of this size take a few tens of milliseconds, which is less than a start of a thread. */
export const SHORT_TEXT = 2048;
const DEADLINE_MS = 10_000;
/** How long a file that took too long counts as unreadable. It is tried again then, since the machine may only have been busy. */
export const REFUSED_MS = 10 * 60_000;

/** The documents of a YAML text, if all of it can be read. One that exceeded its limits may be readable later. */
export type YamlText = readonly Json[] | "unreadable" | "exceeded";

/** Parses short texts in this thread and long ones in a worker. */
export class TextReader {
  #sinceTurn = 0;

  constructor(private readonly reading: Reading) {}

  /** `characters` is the length of the texts in the input. */
  async run<I, O>(task: Task<I, O>, input: I, characters: number): Promise<Computed<O>> {
    const { compute, owner, signal } = this.reading;
    if (characters > SHORT_TEXT) return compute.run(task, input, { owner, signal, deadlineMs: DEADLINE_MS });
    this.#sinceTurn += characters;
    if (this.#sinceTurn > SHORT_TEXT) {
      this.#sinceTurn = 0;
      await setImmediate();
    }
    return { kind: "done", output: await task.run(input) };
  }

  async yaml(text: string): Promise<YamlText> {
    const read = await this.run(readDocumentsTask, text, text.length);
    if (read.kind === "exceeded") return "exceeded";
    return read.output.problems.length === 0 ? read.output.values : "unreadable";
  }
}

export const readDocumentsTask: Task<string, YamlDocuments> = {
  name: "read-documents",
  run: (text) => readYamlDocuments(text),
};

/** The documents of a YAML text. A broken document does not affect the others. */
interface YamlDocuments {
  readonly values: readonly Json[];
  /** Why documents, or the rest of the text, could not be read. */
  readonly problems: readonly Unreadable[];
  /** As `KubernetesDocument.repeats`, in any of them: the text says more than its values. */
  readonly repeats: boolean;
}

/** The rest of a file with more documents is not read. */
export const MAX_DOCUMENTS = YAML_LIMITS.documents;

/** Reads the YAML documents of a text as plain JSON; `wanted` sees each text first, so that thousands of others stay cheap. */
export function readYamlDocuments(text: string, wanted: (document: string) => boolean = () => true): YamlDocuments {
  const values: Json[] = [];
  const problems: Unreadable[] = [];
  let repeats = false;
  // A line that begins with `---` always starts a document (YAML 1.2, section 9.1.2); for Kubernetes also before space of
  // any other kind that fills the line.
  const texts = text.split(/^---(?:[^\S\n]*(?=\n|$)|(?=[ \t]))/m).filter((part) => part.trim() !== "" && wanted(part));
  for (const part of texts.slice(0, MAX_DOCUMENTS)) {
    try {
      const start = /^\s*\{/.test(part) ? part.trimStart() : part;
      const document = readJson(start) ?? readKubernetesYaml(start, REVISION_KEYS);
      if (document === undefined) continue;
      values.push(document.value);
      repeats ||= document.repeats;
      if (document.more) problems.push(MORE);
      if (document.inexact) problems.push(INEXACT);
      if (document.mergeReplaces) problems.push(MERGE_REPLACES);
    } catch (error) {
      problems.push(problemOf(error, part));
    }
  }
  if (texts.length > MAX_DOCUMENTS) {
    problems.push({ reason: `it has more than ${MAX_DOCUMENTS} documents to look into`, mayHide: true });
  }
  return { values, problems, repeats };
}

/** Kubernetes tries JSON first where a brace begins a text; it may have other escapes and ends of lines than YAML. */
function readJson(text: string): KubernetesDocument | undefined {
  if (!text.startsWith("{") || text.length > YAML_LIMITS.characters) return undefined;
  const value = parseJson(text.replace(ESCAPES, (_, kept?: string) => kept ?? "\\ufffd")) as Json | undefined;
  const other = value === undefined || isNestedDeeper(YAML_LIMITS.depth, value) || hasLargeNumber(value);
  return other ? undefined : { value, inexact: false, mergeReplaces: false, repeats: false, more: false };
}

/** Escapes in JSON; captured, but for half a surrogate pair, which Go reads as `U+FFFD`. */
const ESCAPES =
  /(\\u[Dd][89ABab][\dA-Fa-f]{2}\\u[Dd][C-Fc-f][\dA-Fa-f]{2}|\\(?!u[Dd][89A-Fa-f])[^])|\\u[Dd][89A-Fa-f][\dA-Fa-f]{2}/g;

/** Kubernetes would take `targetRevision: 1.10` for the number 1.1, and refuse that. */
const REVISION_KEYS = new Set(["targetRevision", "revision", "targetBranch"]);
const MORE: Unreadable = { reason: "something follows the end of a document, which Kubernetes ignores", mayHide: true };
/** Two definitions with different integers would look the same. */
const INEXACT: Unreadable = {
  reason: "it has an integer of more than 53 bits, which svc cannot compare; write it as text, in quotes",
  mayHide: true,
};
const MERGE_REPLACES: Unreadable = {
  reason: "a merge key (<<) in it replaces what stands before it, which only some parsers do",
  mayHide: true,
};

/** Argo CD's parser has other limits. What is not YAML for both can still be a template. */
function problemOf(error: unknown, text: string): Unreadable {
  const reason = error instanceof YamlRefused ? error.reason : "syntax";
  const template = () => isTemplate(text);
  switch (reason) {
    case "characters":
    case "depth":
    case "documents":
    case "values":
      return { reason: "it is too large or nested too deeply", mayHide: true };
    case "aliases":
      return { reason: "it has too many aliases", mayHide: true };
    case "unknown-alias":
      return template() ? TEMPLATE : { reason: "its aliases cannot be resolved", mayHide: true };
    case "collection-key":
      return template() ? TEMPLATE : COLLECTION_KEY;
    case "syntax":
      return template() ? TEMPLATE : { reason: "it is not valid YAML", mayHide: true };
  }
}

const COLLECTION_KEY: Unreadable = {
  reason: "a key in it is a list, a map or null, or Kubernetes takes two of its keys for one",
  mayHide: true,
};
/** Nothing applies a template before a program has filled it in. */
export const TEMPLATE: Unreadable = { reason: "it is a template", mayHide: false };

/** Control characters of the lexer: where a document begins, where a flow ends by mistake, and that a scalar follows. */
const ADDED = new Set(["\x02", "\x18", "\x1f"]);

/**
 * Whether a text that is no YAML is a template that no other parser can read either. A `{{` where a value begins is a map
 * as a key of a map; nothing may stand right behind a quoted text, as in `"{{ default "x" }}"`. What comes before has to
 * be YAML without doubt, so that every parser gets there; elsewhere, in a comment for example, a `{{` proves nothing.
 */
export function isTemplate(text: string): boolean {
  if (!text.includes("{{")) return false;
  const braces = firstBraces(text);
  if (braces !== undefined && isRead(text.slice(0, braces.offset), braces.closing)) return true;
  const mistake = firstMistake(text);
  if (mistake === undefined || !/["'][\w"'$(.]/.test(text.slice(mistake - 1, mistake + 1))) return false;
  const before = text.slice(0, mistake);
  return before.includes("{{") && isRead(before, "");
}

const CLOSING: Readonly<Record<string, string>> = { "{": "}", "[": "]" };

/** Where two maps begin one right after the other, and what would close the lists and maps around them. */
function firstBraces(text: string): { readonly offset: number; readonly closing: string } | undefined {
  const open: string[] = [];
  let offset = 0;
  let before = "";
  for (const lexeme of new Lexer().lex(text)) {
    if (lexeme === "{" && before === "{") return { offset: offset - 1, closing: open.slice(1).join("") };
    const isText = before === "\x1f";
    if (isText || !ADDED.has(lexeme)) offset += lexeme.length;
    const closing = isText ? undefined : CLOSING[lexeme];
    if (closing !== undefined) open.unshift(closing);
    else if (!isText && lexeme === open[0]) open.shift();
    before = lexeme;
  }
  return undefined;
}

/** Whether every parser reads this beginning of a text, and goes on. Argo CD's ignores what follows a whole document. */
function isRead(beginning: string, closing: string): boolean {
  const documents = compose(beginning + closing);
  if (documents === undefined || documents.length > 1 || /^\.\.\./m.test(beginning)) return false;
  return documents.every(
    ({ contents, errors }) =>
      errors.length === 0 &&
      (closing !== "" || contents === null || (isCollection(contents) && contents.flow !== true)),
  );
}

function firstMistake(text: string): number | undefined {
  const mistakes = compose(text)?.flatMap(({ errors }) => errors.map(({ pos }) => pos[0]));
  return mistakes?.sort((one, other) => one - other)[0];
}

/** Undefined if the text is refused. */
function compose(text: string): readonly Document.Parsed[] | undefined {
  try {
    return [...composeYaml(text)];
  } catch (error) {
    if (error instanceof YamlRefused) return undefined;
    throw error;
  }
}
