import type { Evaluated, ResourceChange, Unevaluated } from "../core/model/plan.js";
import { code, delimiterOf, details, diffFence, fence, shortened, withoutDeceivers } from "./markdown.js";
import { counted } from "./phrases.js";
import type { EvaluatedPlan } from "./plan-summary.js";

export interface DiffRoom {
  /** Characters of one comment. */
  readonly limit: number;
  /** Characters that the whole plan has left for diffs. */
  readonly budget: { left: number };
  /** Where people can read what is left out. */
  readonly page: string | undefined;
  /** The collapsibles are open. */
  readonly open: boolean;
}

/** Resource diffs in collapsibles that each fit a comment; beyond the budget of the whole plan only their names. */
export function diffBlocks(
  resources: readonly ResourceChange[],
  { limit, budget, page, open }: DiffRoom,
): readonly string[] {
  if (resources.length === 0) return [];
  const count = resources.length;
  const shown: string[] = [];
  const left: string[] = [];
  const room = limit - blockOf("", { count, index: count, of: count, open }).length;
  for (const resource of resources) {
    // Of thousands of long diffs, those that do not fit must not be prepared first.
    const text = Math.min(resource.diff.length, room) > budget.left ? undefined : resourceText(resource, room);
    if (text === undefined || text.length > budget.left) left.push(resource.title);
    else {
      budget.left -= text.length;
      shown.push(text);
    }
  }
  const groups = grouped(shown, room);
  const blocks = groups.map((group, index) => blockOf(group, { count, index: index + 1, of: groups.length, open }));
  if (left.length === 0) return blocks;
  const names = shortened(left.join("\n"), Math.min(limit / 2, 8000));
  const where = page === undefined ? "" : `; log in to read [their diff](<${page}>)`;
  return [...blocks, `${left.length} more changed resources are too long to show here${where}:\n\n${fence(names)}`];
}

/** How the definition changes, in a collapsible of its own; none if it does not. */
export function definitionBlock(plan: Evaluated | Unevaluated, { limit, budget, open }: DiffRoom): readonly string[] {
  if (plan.definition === undefined) return [];
  const summary = "Diff of the definition";
  const own = { ...DEFINITION, diff: plan.definition };
  const text = resourceText(own, Math.min(limit - details(summary, diffFence(""), { open }).length, MAX_DEFINITION));
  budget.left -= text.length;
  return [details(summary, diffFence(text), { open })];
}

const DEFINITION = { action: "update", title: "Application", kind: "Application", hook: false, whole: false } as const;
/** What people write by hand is shorter. */
const MAX_DEFINITION = 10_000;

interface Place {
  /** Resources of the whole diff. */
  readonly count: number;
  /** 1-based number of the block, of so many. */
  readonly index: number;
  readonly of: number;
  readonly open: boolean;
}

function blockOf(text: string, { count, index, of, open }: Place): string {
  const summary = titleOf(count);
  return details(of === 1 ? summary : `${summary}, ${index} of ${of}`, diffFence(text), { open });
}

function titleOf(count: number): string {
  return `Diff (${counted(count, "resource")} changed)`;
}

const MAX_TITLES = 2000;

/** In place of a diff that another application has as well: which one, and what it is about here. */
export function sameDiffBlock(
  { diff, application }: EvaluatedPlan,
  resources: readonly ResourceChange[],
  open: boolean,
): string {
  const titles = resources.map(({ title }) => title).join("\n");
  const known = diff.resources.map(({ title }) => title).join("\n");
  const here = titles === known ? "." : `, here in:\n\n${fence(shortened(titles, MAX_TITLES))}`;
  return details(titleOf(resources.length), `Same as ${code(application)}${here}`, { open });
}

/** The diff of one resource, cut to what fits into `room` together with a fence that is longer than what it holds. */
function resourceText(resource: ResourceChange, room: number): string {
  // As it will stand in the fence, so that what is measured is what is shown.
  const title = withoutDeceivers(`# ${resource.action}${resource.hook ? " (hook)" : ""}: ${resource.title}`);
  const all = withoutDeceivers(resource.diff)
    .trimEnd()
    .split("\n")
    .map((line) => shortened(line, MAX_LINE));
  const whole = [title, ...all].join("\n");
  const fenceLonger = diffFence(whole).length - whole.length;
  const kept: string[] = [];
  let length = title.length + fenceLonger + ROOM_FOR_CUT;
  for (const line of all) {
    length += line.length + 1;
    if (length > room) break;
    kept.push(line);
  }
  const cut = all.length - kept.length;
  return [title, ...kept, ...(cut > 0 ? [`# … ${cut} more lines are not shown`] : [])].join("\n");
}

/** For the line that says how much was cut. */
const ROOM_FOR_CUT = 60;
/** A longer line is data, not something that people read in a diff. */
const MAX_LINE = 2000;

/** Joins texts as long as they fit into `room` together with their fence; each fits alone. */
function grouped(texts: readonly string[], room: number): readonly string[] {
  const groups: string[][] = [];
  const shortest = 2 * delimiterOf("").length;
  let length = 0;
  let fences = shortest;
  for (const text of texts) {
    // Added up, since measuring the joined text anew for each of thousands of texts takes seconds.
    const own = 2 * delimiterOf(text).length;
    const joined = { length: length + "\n\n".length + text.length, fences: Math.max(fences, own) };
    const group = groups.at(-1);
    if (group !== undefined && joined.length + joined.fences - shortest <= room) {
      group.push(text);
      ({ length, fences } = joined);
    } else {
      groups.push([text]);
      [length, fences] = [text.length, own];
    }
  }
  return groups.map((group) => group.join("\n\n"));
}
