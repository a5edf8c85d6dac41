import { setImmediate } from "node:timers/promises";
import { type Document, isAlias, isCollection, isScalar, Lexer, type Scalar, visit } from "yaml";
import { composeYaml, YAML_LIMITS, YamlRefused, yamlValue } from "../../../config/bounded-yaml.js";
import type { Json } from "../../model/json.js";
import type { Compute, Computed, ComputeLimits, Task } from "../../ports/compute.js";
import type { Unreadable } from "../../ports/manifest-scanner.js";

/** Where untrusted texts are parsed, and for whom. */
export interface Reading extends Pick<ComputeLimits, "owner" | "signal"> {
  readonly compute: Compute;
}

/** The slowest known texts of this size take a few tens of milliseconds, which is less than a start of a thread. */
export const SHORT_TEXT = 2048;
const DEADLINE_MS = 10_000;

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

  /** The YAML documents of a text; undefined if not all of it can be read. */
  async yaml(text: string): Promise<readonly Json[] | undefined> {
    const read = await this.run(readDocumentsTask, text, text.length);
    return read.kind === "done" && read.output.problems.length === 0 ? read.output.values : undefined;
  }
}

/** Reads all YAML documents of a text. */
export const readDocumentsTask: Task<string, YamlDocuments> = {
  name: "read-documents",
  run: (text) => readYamlDocuments(text),
};

/** The documents of a YAML text. A broken document does not affect the others. */
interface YamlDocuments {
  readonly values: readonly Json[];
  /** Why documents, or the rest of the text, could not be read. */
  readonly problems: readonly Unreadable[];
}

/** The rest of a file with more documents is not read. */
export const MAX_DOCUMENTS = YAML_LIMITS.documents;

/**
 * Reads the YAML documents of a text as plain JSON. `wanted` sees the text of each document before it is parsed, so that
 * a file with thousands of other documents stays cheap.
 */
export function readYamlDocuments(text: string, wanted: (document: string) => boolean = () => true): YamlDocuments {
  const values: Json[] = [];
  const problems: Unreadable[] = [];
  // A line that begins with `---` always starts a document (YAML 1.2, section 9.1.2); for Kubernetes also before space of
  // any other kind that fills the line.
  const texts = text.split(/^---(?:[^\S\n]*(?=\n|$)|(?=[ \t]))/m).filter((part) => part.trim() !== "" && wanted(part));
  for (const part of texts.slice(0, MAX_DOCUMENTS)) {
    try {
      // Kubernetes leaves out space of any kind before JSON.
      for (const document of composeYaml(/^\s*\{/.test(part) ? part.trimStart() : part)) {
        keepRevisionTexts(document);
        decodeBinary(document);
        values.push(yamlValue(document));
      }
    } catch (error) {
      problems.push(problemOf(error, part));
    }
  }
  if (texts.length > MAX_DOCUMENTS) {
    problems.push({ reason: `it has more than ${MAX_DOCUMENTS} documents to look into`, mayHide: true });
  }
  return { values, problems };
}

const REVISION_KEYS = new Set(["targetRevision", "revision", "targetBranch"]);

/** Keeps `targetRevision: 1.10` as the name `1.10`, which YAML reads as the number 1.1. */
function keepRevisionTexts(document: Document.Parsed): void {
  const anchored = new Map<string, Scalar>();
  visit(document, {
    Scalar(_, scalar) {
      if (scalar.anchor !== undefined) anchored.set(scalar.anchor, scalar);
    },
    Pair(_, { key, value }) {
      if (!isScalar(key) || typeof key.value !== "string" || !REVISION_KEYS.has(key.value)) return;
      const scalar = isAlias(value) ? anchored.get(value.source) : value;
      if (isScalar(scalar) && typeof scalar.value !== "string" && scalar.value !== null) {
        scalar.value = scalar.source ?? scalar.value;
      }
    },
  });
}

/** Argo CD's parser decodes texts with this tag, whose name may have escapes of its own. */
function decodeBinary(document: Document.Parsed): void {
  visit(document, {
    Scalar(_, scalar) {
      const { tag, value } = scalar;
      if (tag === undefined || typeof value !== "string" || decoded(tag) !== "tag:yaml.org,2002:binary") return;
      scalar.value = Buffer.from(value, "base64").toString("utf8");
    },
  });
}

function decoded(tag: string): string {
  try {
    return decodeURIComponent(tag);
  } catch {
    return tag;
  }
}

/** Argo CD's parser has other limits than this one. What is not YAML for both can still be a template. */
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
      return template() ? TEMPLATE : { reason: "it has a list or a map as a key", mayHide: true };
    case "merge-order":
      return { reason: "a merge key (<<) in it overrides what stands before it, or does not", mayHide: true };
    case "syntax":
      return template() ? TEMPLATE : { reason: "it is not valid YAML", mayHide: true };
  }
}

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
