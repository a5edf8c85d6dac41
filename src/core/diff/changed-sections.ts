import { structuredPatch } from "diff";
import { stringify } from "yaml";
import { ownMember } from "../model/effect.js";
import { counted } from "../model/host-words.js";
import { canonicalJson, isJsonObject, isList, type Json, jsonEqual, type JsonObject } from "../model/json.js";
import type { BothSides } from "../model/plan/manifest-diff.js";

const MOST_SECTIONS = 40;
const MOST_STEPS = 16;
const LONGEST_STEP = 60;

/** Where two objects differ that are too large for a diff of their lines: a comment line for each section, with its numbers of lines. */
export function changedSections(base: JsonObject, head: JsonObject): readonly string[] {
  const root = compare(base, head, "");
  return root === undefined ? [] : expanded(root).map(sectionLine);
}

interface Section {
  /** The last step of its path. */
  readonly step: string;
  readonly removed: number;
  readonly added: number;
  /** What differs inside; empty for a value that is shown as a whole. */
  readonly inside: readonly Section[];
}

interface Placed {
  readonly path: readonly string[];
  readonly section: Section;
}

function compare(base: Json | undefined, head: Json | undefined, step: string): Section | undefined {
  if (base === undefined || head === undefined) {
    if (base === head) return undefined;
    return { step, removed: countLines(base), added: countLines(head), inside: [] };
  }
  if (isJsonObject(base) && isJsonObject(head)) {
    const keys = [...new Set([...Object.keys(base), ...Object.keys(head)])];
    return around(
      step,
      keys.map((key) => compare(ownMember(base, key), ownMember(head, key), keyStep(key))),
    );
  }
  if (isList(base) && isList(head)) return compareLists(base, head, step);
  if (typeof base === "string" && typeof head === "string" && base !== head) {
    return { step, ...differing(base.split("\n"), head.split("\n")), inside: [] };
  }
  return jsonEqual(base, head) ? undefined : { step, removed: countLines(base), added: countLines(head), inside: [] };
}

function compareLists(base: readonly Json[], head: readonly Json[], step: string): Section | undefined {
  const [before, after] = [byName(base), byName(head)];
  if (before !== undefined && after !== undefined) {
    const names = [...new Set([...before.keys(), ...after.keys()])];
    const found = around(
      step,
      names.map((name) => compare(before.get(name), after.get(name), `[${keyText(name)}]`)),
    );
    if (found !== undefined) return found;
  } else if (base.length === head.length) {
    return around(
      step,
      base.map((item, at) => compare(item, head[at], `[${at}]`)),
    );
  }
  if (jsonEqual(base, head)) return undefined;
  // Elements were added, removed or moved.
  return { step, ...differing(base, head), inside: [] };
}

/** The elements of a list whose names tell them apart; undefined for any other list. */
function byName(list: readonly Json[]): ReadonlyMap<string, Json> | undefined {
  const named = new Map<string, Json>();
  for (const item of list) {
    const name = isJsonObject(item) ? ownMember(item, "name") : undefined;
    if (typeof name !== "string" || named.has(name)) return undefined;
    named.set(name, item);
  }
  return named;
}

function around(step: string, members: readonly (Section | undefined)[]): Section | undefined {
  const inside = members.filter((member) => member !== undefined);
  if (inside.length === 0) return undefined;
  const sum = (of: "removed" | "added") => inside.reduce((total, one) => total + one[of], 0);
  return { step, removed: sum("removed"), added: sum("added"), inside };
}

/** The lines of the elements that only one side has. If both have the same, the order differs. */
function differing(base: readonly Json[], head: readonly Json[]): Pick<Section, "removed" | "added"> {
  const [before, after] = [base.map(canonicalJson), head.map(canonicalJson)];
  const [removed, added] = [linesBeyond(base, before, after), linesBeyond(head, after, before)];
  if (removed > 0 || added > 0) return { removed, added };
  const moved = linesOf(base.filter((_, at) => before[at] !== after[at]));
  return { removed: moved, added: moved };
}

/** @param texts The elements as texts. @param others Those of the other side; of equal ones each counts once. */
function linesBeyond(elements: readonly Json[], texts: readonly string[], others: readonly string[]): number {
  const left = new Map<string, number>();
  for (const text of others) left.set(text, (left.get(text) ?? 0) + 1);
  return linesOf(
    elements.filter((_, at) => {
      const text = texts[at] ?? "";
      const count = left.get(text) ?? 0;
      left.set(text, count - 1);
      return count <= 0;
    }),
  );
}

function countLines(value: Json | undefined): number {
  if (value === undefined) return 0;
  if (typeof value === "string") return value.split("\n").length;
  const members = isList(value) ? value : isJsonObject(value) ? Object.values(value) : [];
  return Math.max(1, linesOf(members));
}

function linesOf(values: readonly (Json | undefined)[]): number {
  return values.reduce<number>((sum, value) => sum + countLines(value), 0);
}

/** Takes the largest sections apart as long as the list stays short. */
function expanded(root: Section): readonly Placed[] {
  let shown: readonly Placed[] = [{ path: [], section: root }];
  for (;;) {
    const room = MOST_SECTIONS - shown.length + 1;
    const largest = shown
      .filter(({ path, section: { inside } }) => inside.length > 0 && inside.length <= room && path.length < MOST_STEPS)
      .reduce<Placed | undefined>(
        (most, one) => (most === undefined || size(one) > size(most) ? one : most),
        undefined,
      );
    if (largest === undefined) return shown;
    shown = shown.flatMap((one) => (one === largest ? taken(one) : [one]));
  }
}

function taken({ path, section: { inside } }: Placed): readonly Placed[] {
  return inside.map((section) => ({ path: [...path, section.step], section }));
}

function size({ section: { removed, added } }: Placed): number {
  return removed + added;
}

function sectionLine({ path, section: { removed, added } }: Placed): string {
  const where = path.join("").replace(/^\./, "") || "everything";
  const counts = [
    ...(removed === 0 ? [] : [`${counted(removed, "line")} removed`]),
    ...(added === 0 ? [] : [`${counted(added, "line")} added`]),
  ];
  return `#   ${where}: ${counts.join(", ")}`;
}

function keyStep(key: string): string {
  return /^[\w-]+$/.test(key) ? `.${shortened(key)}` : `[${keyText(key)}]`;
}

/** Keys and names are untrusted: on one line, and with an end. */
function keyText(key: string): string {
  return /^[\w./-]+$/.test(key) ? shortened(key) : JSON.stringify(shortened(key));
}

function shortened(key: string): string {
  return key.length > LONGEST_STEP ? `${key.slice(0, LONGEST_STEP)}…` : key;
}

/** What is left for the hunks of one application: some seconds at most on a busy machine. */
interface DiffBudget {
  /** Steps of the line comparison, which takes the square of the number of differing lines. */
  steps: number;
  /** Characters of the objects that are written as YAML, at about a second per million. */
  characters: number;
  /** Characters of the hunks. */
  text: number;
  /** Characters of the objects that are kept whole. */
  sides: number;
}

const CONTEXT_LINES = 3;
const MAX_OBJECT = 512 * 1024;
const MAX_HUNKS = 100_000;
const MAX_DIFFERING_LINES = 1000;

interface Hunks {
  /** Unified hunks without a file header. If they are too long: sentences behind `#`, with the sections that change. */
  readonly text: string;
  /** Both objects whole, if the text leaves something out and there is room; empty where there is none. */
  readonly sides: BothSides | undefined;
}

/** Compares two objects of one application as YAML. */
export type CompareObjects = (base: JsonObject | undefined, head: JsonObject | undefined) => Hunks;

export function objectComparer(): CompareObjects {
  const budget: DiffBudget = {
    steps: 5_000_000,
    characters: 8 * 1024 * 1024,
    text: 2 * 1024 * 1024,
    sides: 1024 * 1024,
  };
  return (base, head) => hunksOf(base, head, budget);
}

function hunksOf(base: JsonObject | undefined, head: JsonObject | undefined, budget: DiffBudget): Hunks {
  const sizes = [base, head].map((side) => (side === undefined ? 0 : JSON.stringify(side).length));
  const size = Math.max(...sizes);
  if (size > MAX_OBJECT) {
    const said = `It is too large to be shown (${Math.ceil(size / 1024)} KiB).`;
    return { text: coarse(said, base, head), sides: undefined };
  }
  budget.characters -= sizes.reduce((sum, one) => sum + one, 0);
  const found = budget.characters < 0 ? undefined : hunksWithin(base, head, budget);
  if (found === undefined || found.text.length > budget.text) return { text: NO_ROOM, sides: undefined };
  budget.text -= found.text.length;
  const { text, sides } = found;
  const length = sides === undefined ? 0 : sides.before.length + sides.after.length;
  if (length > budget.sides) return { text, sides: undefined };
  budget.sides -= length;
  return { text, sides };
}

const NO_ROOM = "# It is not shown: the other changes of this application are too large.";

function hunksWithin(base: JsonObject | undefined, head: JsonObject | undefined, budget: DiffBudget): Hunks {
  const sides = { before: toYaml(base), after: toYaml(head) };
  const { before, after } = sides;
  const text = before === "" || after === "" ? oneSided(before, after) : bothSided(before, after, budget);
  if (text === undefined) {
    const said = `Too many lines differ to be shown: ${linesOfText(before)} lines before, ${linesOfText(after)} after.`;
    return { text: coarse(said, base, head), sides };
  }
  if (text.length <= MAX_HUNKS) return { text, sides: undefined };
  const shown = text.slice(0, text.lastIndexOf("\n", MAX_HUNKS));
  return { text: `${shown}\n# ${linesOfText(text) - linesOfText(shown)} more lines are not shown.`, sides };
}

function coarse(said: string, base: JsonObject | undefined, head: JsonObject | undefined): string {
  if (base === undefined || head === undefined) return `# ${said}`;
  const sections = changedSections(base, head);
  return sections.length === 0 ? `# ${said}` : [`# ${said} What changes:`, ...sections].join("\n");
}

/** Writes an object as the library `yaml` does, in a third of the time; asks it only for texts that may need quotes, escapes or lines. */
function toYaml(value: JsonObject | undefined): string {
  if (value === undefined) return "";
  // The library writes a text with the marker of a document (`---`, `...`) differently at different depths.
  const lines = /---|\.\.\./.test(JSON.stringify(value)) ? [] : memberLines(value, "");
  return lines.length === 0 ? writtenByYaml(value) : `${lines.join("\n")}\n`;
}

function writtenByYaml(value: Json): string {
  return stringify(value, { lineWidth: 0, aliasDuplicateObjects: false, directives: false });
}

function memberLines(object: JsonObject, indent: string): readonly string[] {
  return Object.entries(object).flatMap(([key, member]) => {
    if (member === undefined) return [];
    const name = key.length > LONGEST_KEY ? undefined : scalarOf(key);
    if (name === undefined) return linesByYaml({ [key]: member }, indent);
    const inside = linesInside(member, `${indent}  `);
    if (inside !== undefined) return [`${indent}${name}:`, ...inside];
    const text = textOf(member);
    return text === undefined ? linesByYaml({ [key]: member }, indent) : [`${indent}${name}: ${text}`];
  });
}

function itemLines(list: readonly Json[], indent: string): readonly string[] {
  return list.flatMap((item) => {
    const inside = linesInside(item, `${indent}  `);
    if (inside !== undefined) return [`${indent}- ${inside[0]?.slice(indent.length + 2) ?? ""}`, ...inside.slice(1)];
    const text = textOf(item);
    return text === undefined ? linesByYaml([item], indent) : [`${indent}- ${text}`];
  });
}

/** The lines of a map or list; undefined for a scalar, and for what is written as `{}` or `[]`. */
function linesInside(value: Json, indent: string): readonly string[] | undefined {
  const lines = isList(value) ? itemLines(value, indent) : isJsonObject(value) ? memberLines(value, indent) : [];
  return lines.length === 0 ? undefined : lines;
}

/** Writes a value in one line; undefined if only the library knows how. */
function textOf(value: Json): string | undefined {
  if (typeof value === "string") return scalarOf(value);
  if (typeof value === "boolean" || value === null) return String(value);
  if (typeof value === "object") return isList(value) ? "[]" : "{}";
  return Number.isSafeInteger(value) && !Object.is(value, -0) ? String(value) : undefined;
}

/** The library writes very long keys behind a `?`. */
const LONGEST_KEY = 100;
/** What is certainly a plain scalar, if it does not stand for another value (YAML 1.2.2, 7.3.3). */
const PLAIN = /^(?:[A-Za-z/_]|--?[A-Za-z]|\d)(?:[\w/.@%+=,;()~^$-]|:(?=\S)| (?=[^\s#]))*$/;
/** Plain scalars that stand for another value in the core schema (YAML 1.2.2, 10.3.2). */
const OTHER_VALUE =
  /^(?:[Nn]ull|NULL|[Tt]rue|TRUE|[Ff]alse|FALSE|\d+|0o[0-7]+|0x[\da-fA-F]+|\d+\.\d*|\d+(?:\.\d*)?[eE][-+]?\d+)$/;

/** Writes a text in one line; undefined if only the library knows how. */
function scalarOf(text: string): string | undefined {
  if (!PLAIN.test(text)) return text === "" ? '""' : undefined;
  return OTHER_VALUE.test(text) ? `"${text}"` : text;
}

function linesByYaml(value: Json, indent: string): readonly string[] {
  const lines = writtenByYaml(value).slice(0, -1).split("\n");
  return lines.map((line) => (line === "" ? "" : indent + line));
}

/** One hunk for an object that was added or removed; the algorithm would be slow here. */
function oneSided(before: string, after: string): string {
  const [text, sign] = before === "" ? [after, "+"] : [before, "-"];
  const lines = text.trimEnd().split("\n");
  const header = sign === "+" ? `@@ -0,0 +1,${lines.length} @@` : `@@ -1,${lines.length} +0,0 @@`;
  return [header, ...lines.map((line) => sign + line)].join("\n");
}

function bothSided(before: string, after: string, budget: DiffBudget): string | undefined {
  const maxEditLength = Math.min(MAX_DIFFERING_LINES, Math.floor(Math.sqrt(budget.steps)));
  const patch = structuredPatch("", "", before, after, undefined, undefined, { context: CONTEXT_LINES, maxEditLength });
  if (patch === undefined) {
    budget.steps -= maxEditLength ** 2;
    return undefined;
  }
  const differing = patch.hunks.flatMap((hunk) => hunk.lines).filter((line) => !line.startsWith(" ")).length;
  budget.steps -= differing ** 2;
  return patch.hunks
    .map((hunk) => {
      const header = `@@ -${hunk.oldStart},${hunk.oldLines} +${hunk.newStart},${hunk.newLines} @@`;
      return [header, ...hunk.lines].join("\n");
    })
    .join("\n");
}

function linesOfText(text: string): number {
  let lines = 0;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) lines += 1;
  return text.endsWith("\n") || text === "" ? lines : lines + 1;
}
