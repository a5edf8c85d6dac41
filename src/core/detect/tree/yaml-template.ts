import { type Document, isCollection, Lexer } from "yaml";
import { composeYaml, YamlRefused } from "../../../config/bounded-yaml.js";

/** What the lexer adds to the text: where a document begins, where a flow ends by mistake, and that a scalar follows. */
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
