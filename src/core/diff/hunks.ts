import { structuredPatch } from "diff";
import { stringify } from "yaml";
import type { JsonObject } from "../model/json.js";

/** What is left for the hunks of one application. */
export interface DiffBudget {
  /** Of the algorithm: the square of the number of differing lines. */
  steps: number;
  /** Of the objects that are written as YAML, which takes about a second per million. */
  characters: number;
  /** Of the hunks. */
  text: number;
}

/** Some seconds at most on a busy machine. */
export function newDiffBudget(): DiffBudget {
  return { steps: 5_000_000, characters: 8 * 1024 * 1024, text: 2 * 1024 * 1024 };
}

const CONTEXT_LINES = 3;
const MAX_OBJECT = 512 * 1024;
const MAX_HUNKS = 100_000;
const MAX_DIFFERING_LINES = 1000;

/** Unified hunks of two objects as YAML, without a file header, or a sentence behind `#` if they are too large. */
export function hunksOf(base: JsonObject | undefined, head: JsonObject | undefined, budget: DiffBudget): string {
  const sizes = [base, head].map((side) => (side === undefined ? 0 : JSON.stringify(side).length));
  const size = Math.max(...sizes);
  if (size > MAX_OBJECT) return `# It is too large to be shown (${Math.ceil(size / 1024)} KiB).`;
  budget.characters -= sizes.reduce((sum, one) => sum + one, 0);
  const shown = budget.characters < 0 ? undefined : hunksWithin(base, head, budget);
  if (shown === undefined || shown.length > budget.text) return NO_ROOM;
  budget.text -= shown.length;
  return shown;
}

const NO_ROOM = "# It is not shown: the other changes of this application are too large.";

function hunksWithin(base: JsonObject | undefined, head: JsonObject | undefined, budget: DiffBudget): string {
  const [before, after] = [toYaml(base), toYaml(head)];
  const text = before === "" || after === "" ? oneSided(before, after) : bothSided(before, after, budget);
  if (text.length <= MAX_HUNKS) return text;
  const shown = text.slice(0, text.lastIndexOf("\n", MAX_HUNKS));
  return `${shown}\n# ${countLines(text) - countLines(shown)} more lines are not shown.`;
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

function bothSided(before: string, after: string, budget: DiffBudget): string {
  const maxEditLength = Math.min(MAX_DIFFERING_LINES, Math.floor(Math.sqrt(budget.steps)));
  const patch = structuredPatch("", "", before, after, undefined, undefined, { context: CONTEXT_LINES, maxEditLength });
  if (patch === undefined) {
    budget.steps -= maxEditLength ** 2;
    return `# Too many lines differ to be shown: ${countLines(before)} lines before, ${countLines(after)} after.`;
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
