import { structuredPatch } from "diff";
import { stringify } from "yaml";
import type { JsonObject } from "../model/json.js";
import type { BothSides } from "../model/manifest-diff.js";
import { changedSections } from "./changed-sections.js";

/** What is left for the hunks of one application. */
export interface DiffBudget {
  /** Of the algorithm: the square of the number of differing lines. */
  steps: number;
  /** Of the objects that are written as YAML, which takes about a second per million. */
  characters: number;
  /** Of the hunks. */
  text: number;
  /** Of the objects that are kept whole. */
  sides: number;
}

/** Some seconds at most on a busy machine. */
export function newDiffBudget(): DiffBudget {
  return { steps: 5_000_000, characters: 8 * 1024 * 1024, text: 2 * 1024 * 1024, sides: 1024 * 1024 };
}

const CONTEXT_LINES = 3;
const MAX_OBJECT = 512 * 1024;
const MAX_HUNKS = 100_000;
const MAX_DIFFERING_LINES = 1000;

/** How two objects differ, for people. */
export interface Hunks {
  /** Unified hunks without a file header. If they are too long: sentences behind `#`, with the sections that change. */
  readonly text: string;
  /** Both objects whole, if the text leaves something out and there is room; empty where there is none. */
  readonly sides: BothSides | undefined;
}

/** Compares two objects as YAML. */
export function hunksOf(base: JsonObject | undefined, head: JsonObject | undefined, budget: DiffBudget): Hunks {
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
    const said = `Too many lines differ to be shown: ${countLines(before)} lines before, ${countLines(after)} after.`;
    return { text: coarse(said, base, head), sides };
  }
  if (text.length <= MAX_HUNKS) return { text, sides: undefined };
  const shown = text.slice(0, text.lastIndexOf("\n", MAX_HUNKS));
  return { text: `${shown}\n# ${countLines(text) - countLines(shown)} more lines are not shown.`, sides };
}

/** What is said in place of hunks. */
function coarse(said: string, base: JsonObject | undefined, head: JsonObject | undefined): string {
  if (base === undefined || head === undefined) return `# ${said}`;
  const sections = changedSections(base, head);
  return sections.length === 0 ? `# ${said}` : [`# ${said} What changes:`, ...sections].join("\n");
}

function toYaml(value: JsonObject | undefined): string {
  return value === undefined ? "" : stringify(value, { lineWidth: 0, aliasDuplicateObjects: false });
}

/** One hunk for an object that was added or removed; the algorithm would be slow here. */
function oneSided(before: string, after: string): string {
  const [text, sign] = before === "" ? [after, "+"] : [before, "-"];
  const lines = text.trimEnd().split("\n");
  const header = sign === "+" ? `@@ -0,0 +1,${lines.length} @@` : `@@ -1,${lines.length} +0,0 @@`;
  return [header, ...lines.map((line) => sign + line)].join("\n");
}

/** Undefined if too many lines differ. */
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

function countLines(text: string): number {
  let lines = 0;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) lines += 1;
  return text.endsWith("\n") || text === "" ? lines : lines + 1;
}
