/** One line of a diff in pieces for colouring. The joined texts are the line as shown. */
interface DiffLine {
  readonly kind: "added" | "removed" | "place" | "same";
  readonly pieces: readonly DiffPiece[];
}

interface DiffPiece {
  /** `odd` is an invisible or direction-changing character, spelled out. */
  readonly kind: "sign" | "plain" | "key" | "text" | "value" | "comment" | "odd";
  readonly text: string;
}

/** Longer lines are not coloured. */
const MOST_COLOURED = 1000;

/** Splits YAML hunks into lines of coloured pieces. */
export function colourDiff(diff: string): readonly DiffLine[] {
  return linesIn(diff).map(lineOf);
}

/** Splits YAML into lines of coloured pieces, as lines that do not change. */
export function colourYaml(text: string): readonly DiffLine[] {
  return linesIn(text).map((line) => lineOf(` ${line}`));
}

function linesIn(text: string): readonly string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}

function lineOf(line: string): DiffLine {
  const kind = KINDS[line.slice(0, 1)] ?? "same";
  if (kind === "place") return { kind, pieces: spelled([{ kind: "plain", text: line }]) };
  const sign = /^[-+ ]/.exec(line)?.[0] ?? "";
  const rest = line.slice(sign.length);
  const pieces = rest.length > MOST_COLOURED ? [{ kind: "plain" as const, text: rest }] : yamlPieces(rest);
  return { kind, pieces: [{ kind: "sign", text: sign }, ...spelled(pieces)] };
}

const KINDS: Readonly<Record<string, DiffLine["kind"]>> = { "+": "added", "-": "removed", "@": "place", "\\": "place" };

/** Indentation and dashes, a key, and its value. Guesses from the single line, which is good enough for colours. */
function yamlPieces(line: string): readonly DiffPiece[] {
  const start = /^ *(?:- +)*/.exec(line)?.[0] ?? "";
  const rest = line.slice(start.length);
  const key = /^(?:"[^"]*"|'[^']*'|[^\s"'#:][^:]*):(?= |$)/.exec(rest)?.[0] ?? "";
  const value = rest.slice(key.length);
  const pieces: readonly DiffPiece[] = [
    { kind: "plain", text: start },
    { kind: "key", text: key.slice(0, -1) },
    { kind: "plain", text: key.slice(-1) },
    { kind: rest.startsWith("#") ? "comment" : valueKind(value.trim()), text: value },
  ];
  return pieces.filter(({ text }) => text !== "");
}

function valueKind(value: string): DiffPiece["kind"] {
  if (/^["']/.test(value)) return "text";
  if (/^(?:-?\d[\d.]*|true|false|null|~)$/.test(value)) return "value";
  return "plain";
}

/** Invisible and direction-changing characters, which would make a diff read differently from what is deployed. */
const DECEIVERS = /([\p{Cc}\p{Cf}\p{DI}\u2028\u2029])/u;

function spelled(pieces: readonly DiffPiece[]): readonly DiffPiece[] {
  return pieces.flatMap(({ kind, text }): readonly DiffPiece[] => {
    if (!DECEIVERS.test(text)) return [{ kind, text }];
    return text.split(DECEIVERS).flatMap((part): readonly DiffPiece[] => {
      if (part === "") return [];
      return DECEIVERS.test(part) && part !== "\t" ? [{ kind: "odd", text: spelling(part) }] : [{ kind, text: part }];
    });
  });
}

function spelling(character: string): string {
  return `⟨U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}⟩`;
}

/** How long a page takes to show a text, in ordinary characters: a line, and a character that is spelled out, take as long as twenty. */
export function showingCost(text: string): number {
  return text.length + 10 * text.split(DECEIVERS).length;
}
