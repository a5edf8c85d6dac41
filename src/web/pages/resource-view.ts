import type { BothSides, ResourceChange } from "../../core/model/manifest-diff.js";

export interface ResourceView {
  readonly action: ResourceChange["action"];
  readonly title: string;
  readonly hook: boolean;
  /** A difference that the cluster already has from the target branch. */
  readonly drift: boolean;
  readonly lines: readonly DiffLine[];
  /** Expanded when the page opens. */
  readonly open: boolean;
  /** The whole object, if the diff leaves something out. */
  readonly sides: readonly SideView[];
}

interface SideView {
  readonly name: "before" | "after";
  readonly lines: readonly DiffLine[];
}

/** How many lines can still be shown expanded. */
export interface Room {
  left: number;
}

/** Expands the object if it fits, and takes its lines from `room`. */
export function resourceView({ action, title, hook, diff, sides }: ResourceChange, room: Room): ResourceView {
  const lines = colourDiff(diff);
  const open = lines.length <= room.left;
  if (open) room.left -= lines.length;
  return { action, title, hook, drift: false, lines, open, sides: sides === undefined ? [] : sidesOf(sides) };
}

function sidesOf({ before, after }: BothSides): readonly SideView[] {
  const views = [
    { name: "before" as const, text: before },
    { name: "after" as const, text: after },
  ];
  return views.filter(({ text }) => text !== "").map(({ name, text }) => ({ name, lines: colourYaml(text) }));
}

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
  if (diff === "") return [];
  return diff.replace(/\n$/, "").split("\n").map(lineOf);
}

/** Splits YAML into lines of coloured pieces, as lines that do not change. */
function colourYaml(text: string): readonly DiffLine[] {
  const lines = text.replace(/\n$/, "").split("\n");
  return lines.map((line) => lineOf(` ${line}`));
}

function lineOf(line: string): DiffLine {
  const kind = kindOf(line);
  if (kind === "place") return { kind, pieces: spelled([{ kind: "plain", text: line }]) };
  const sign = /^[-+ ]/.exec(line)?.[0] ?? "";
  const rest = line.slice(sign.length);
  const pieces = rest.length > MOST_COLOURED ? [{ kind: "plain" as const, text: rest }] : yamlPieces(rest);
  return { kind, pieces: [{ kind: "sign", text: sign }, ...spelled(pieces)] };
}

const KINDS: Readonly<Record<string, DiffLine["kind"]>> = { "+": "added", "-": "removed", "@": "place", "\\": "place" };

function kindOf(line: string): DiffLine["kind"] {
  return KINDS[line.slice(0, 1)] ?? "same";
}

/** Indentation and dashes, a key, and its value. Guesses from the single line, which is good enough for colours. */
function yamlPieces(line: string): readonly DiffPiece[] {
  const start = /^ *(?:- +)*/.exec(line)?.[0] ?? "";
  const rest = line.slice(start.length);
  if (rest.startsWith("#")) {
    return withText([
      ["plain", start],
      ["comment", rest],
    ]);
  }
  const key = /^(?:"[^"]*"|'[^']*'|[^\s"'#:][^:]*):(?= |$)/.exec(rest)?.[0];
  if (key === undefined) {
    return withText([
      ["plain", start],
      [valueKind(rest), rest],
    ]);
  }
  const value = rest.slice(key.length);
  const name = key.slice(0, -1);
  return withText([
    ["plain", start],
    ["key", name],
    ["plain", ":"],
    [valueKind(value.trim()), value],
  ]);
}

function valueKind(value: string): DiffPiece["kind"] {
  if (/^["']/.test(value)) return "text";
  if (/^(?:-?\d[\d.]*|true|false|null|~)$/.test(value)) return "value";
  return "plain";
}

function withText(pieces: readonly (readonly [DiffPiece["kind"], string])[]): readonly DiffPiece[] {
  return pieces.filter(([, text]) => text !== "").map(([kind, text]) => ({ kind, text }));
}

/** Invisible and direction-changing characters, which would make a diff read differently from what is deployed. */
const DECEIVERS = /([\p{Cc}\p{Cf}\u2028\u2029])/u;

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
