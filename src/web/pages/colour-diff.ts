import type { ResourceChange } from "../../core/model/plan/manifest-diff.js";

/** What a page holds of diffs, as `showingCost` counts. While it is made, its process does nothing else. */
const MOST_SHOWN = 1024 * 1024;
/** Resources are expanded until this many lines are visible on the page. */
const MOST_OPEN_LINES = 400;

interface Shown extends ResourceChange {
  readonly drift: boolean;
}

/** Colours the diffs of a page as far as it has room. @param api the address of the whole plan */
export function withColours<View extends { readonly resources: readonly Shown[] }>(
  views: readonly View[],
  api: string,
) {
  const room = { left: MOST_SHOWN };
  // The smallest first, so that nobody can hide a small change behind large ones.
  const bySize = views.flatMap(({ resources }) => resources).sort((one, other) => one.diff.length - other.diff.length);
  const shown = new Set(bySize.filter(({ diff }) => taken(room, diff)));
  const diff = `# It is not shown: this page would get too long. The API has it: ${api}`;
  let left = MOST_OPEN_LINES;
  return views.map((view) => {
    const resources = view.resources.map((one) => {
      const resource = resourceView(shown.has(one) ? one : { ...one, diff }, room);
      const open = resource.lines.length <= left;
      if (open) left -= resource.lines.length;
      return { ...resource, open };
    });
    return { ...view, resources };
  });
}

function taken(room: { left: number }, text: string): boolean {
  const left = room.left - showingCost(text);
  if (left >= 0) room.left = left;
  return left >= 0;
}

/** A changed object. `sides` is the whole object, if the diff leaves something out and the page has room for it. */
function resourceView({ action, title, hook, drift, diff, sides }: Shown, room: { left: number }) {
  const whole = (["before", "after"] as const).flatMap((name) => {
    const text = sides?.[name] ?? "";
    // As lines that do not change.
    return text !== "" && taken(room, text) ? [{ name, lines: linesIn(text).map((line) => lineOf(` ${line}`)) }] : [];
  });
  return { action, title, hook, drift, lines: colourDiff(diff), sides: whole };
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
  return linesIn(diff).map(lineOf);
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
function showingCost(text: string): number {
  return text.length + 10 * text.split(DECEIVERS).length;
}
