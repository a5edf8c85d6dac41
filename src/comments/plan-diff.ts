import type { ResourceChange } from "../core/model/manifest-diff.js";
import type { Evaluated, Unevaluated } from "../core/model/plan.js";
import { code, delimiterOf, details, diffFence, fence, shortened, withoutDeceivers } from "./markdown.js";
import { type Block, type Halves, counted } from "./parts.js";
import type { EvaluatedPlan } from "./plan-summary.js";

export interface DiffRoom {
  /** How many characters of a diff are shown; one that is absent is left out. */
  readonly rooms: DiffRooms;
  /** Characters for the names of what is left out. */
  readonly names: number;
  /** Where people can read what is left out. */
  readonly page: string | undefined;
  /** Characters of what a failed check printed. */
  readonly outputs: number;
  /** The collapsibles are open. */
  readonly open: boolean;
  /** The heading of the application. */
  readonly section: string;
}

/** A resource, or the plan of an application for the diff of its definition. */
export type Diffed = ResourceChange | Evaluated | Unevaluated;
export type DiffRooms = ReadonlyMap<Diffed, number>;

/** The change against the target branch, or what the cluster differs by already. */
type DiffOf = "change" | "drift";

/** The diffs of resources in a collapsible, and the names of those for which there is no room. */
export function diffBlocks(resources: readonly ResourceChange[], room: DiffRoom, of: DiffOf): readonly Block[] {
  const { rooms, names, page, open, section } = room;
  const texts: Fenced[] = [];
  const left: string[] = [];
  for (const resource of resources) {
    const given = rooms.get(resource);
    if (given === undefined) left.push(resource.title);
    else texts.push(fenced(resourceText(resource, given)));
  }
  const shown = texts.length === 0 ? [] : [blockOf({ summary: titleOf(resources.length, of), texts, open, section })];
  if (left.length === 0) return shown;
  const where = page === undefined ? "" : `; log in to read [their diff](<${page}>)`;
  const verb = left.length === 1 ? "is" : "are";
  const listed = fence(shortened(left.join("\n"), names));
  const text = `${left.length} more ${of === "drift" ? "drifted" : "changed"} ${left.length === 1 ? "resource" : "resources"} ${verb} too long to show here${where}:\n\n${listed}`;
  return [...shown, { text, section }];
}

/** How the definition changes, in a collapsible of its own; none if it does not. */
export function definitionBlocks(plan: Evaluated | Unevaluated, { rooms, open, section }: DiffRoom): readonly Block[] {
  if (plan.definition === undefined) return [];
  const given = rooms.get(plan);
  if (given === undefined) return [{ text: "The diff of its definition is too long to show here.", section }];
  const texts = [fenced(resourceText({ ...DEFINITION, diff: plan.definition }, given))];
  return [blockOf({ summary: "Diff of the definition", texts, open, section })];
}

const DEFINITION = { action: "update", title: "Application", kind: "Application", hook: false, whole: false } as const;

/** Diffs in one collapsible. */
interface Shown {
  readonly summary: string;
  readonly texts: readonly Fenced[];
  readonly open: boolean;
  readonly section: string;
}

interface Fenced {
  readonly text: string;
  /** Characters by which it makes its fence longer; measured once, since that takes long. */
  readonly longer: number;
}

const CONTINUED = " (continued)";

function blockOf(shown: Shown): Block {
  return { text: written(shown), section: shown.section, split: (room) => split(shown, room) };
}

function written({ summary, texts, open }: Shown): string {
  return details(summary, diffFence(texts.map(({ text }) => text).join("\n\n")), { open });
}

function fenced(text: string): Fenced {
  return { text, longer: 2 * (delimiterOf(text).length - delimiterOf("").length) };
}

/** As many diffs as fit, and of the next one the lines that fit. */
function split(shown: Shown, room: number): Halves | undefined {
  const { summary, texts } = shown;
  const inner = room - written({ ...shown, texts: [] }).length;
  let taken = 0;
  let length = 0;
  let longer = 0;
  for (const one of texts) {
    const fence = Math.max(longer, one.longer);
    if (length + one.text.length + fence > inner) break;
    [taken, length, longer] = [taken + 1, length + one.text.length + "\n\n".length, fence];
  }
  const next = texts[taken];
  if (next === undefined) return undefined;
  const [head, tail] = cutLines(next, inner - length - Math.max(longer, next.longer)) ?? [undefined, next];
  const first = [...texts.slice(0, taken), ...(head === undefined ? [] : [head])];
  if (first.length === 0) return undefined;
  const rest = [tail, ...texts.slice(taken + 1)];
  const again = summary.endsWith(CONTINUED) ? summary : summary + CONTINUED;
  return { first: written({ ...shown, texts: first }), rest: blockOf({ ...shown, summary: again, texts: rest }) };
}

/** A shorter piece of a diff is not worth its heading. */
const LEAST = 1500;

/** Cuts a diff between two lines; its title is repeated. Undefined if the room is too little. */
function cutLines({ text, longer }: Fenced, room: number): readonly [Fenced, Fenced] | undefined {
  if (room < LEAST) return undefined;
  const end = text.lastIndexOf("\n", room);
  const [title = ""] = text.split("\n", 1);
  if (end <= title.length) return undefined;
  const again = title.endsWith(CONTINUED) ? title : title + CONTINUED;
  return [
    { text: text.slice(0, end), longer },
    { text: `${again}${text.slice(end)}`, longer },
  ];
}

function titleOf(count: number, of: DiffOf): string {
  const resources = counted(count, "resource");
  return of === "drift" ? `Drift (${resources} already different in the cluster)` : `Diff (${resources} changed)`;
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
  return details(titleOf(resources.length, "change"), `Same as ${code(application)}${here}`, { open });
}

/** The diff of one resource with its title, cut at a line to what fits into `room`. */
function resourceText(resource: ResourceChange, room: number): string {
  // As it will stand in the fence, so that what is measured is what is shown.
  const name = shortened(resource.title, MAX_TITLE);
  const title = withoutDeceivers(`# ${resource.action}${resource.hook ? " (hook)" : ""}: ${name}`);
  const all = withoutDeceivers(resource.diff)
    .trimEnd()
    .split("\n")
    .map((line) => shortened(line, MAX_LINE));
  const kept: string[] = [];
  let length = title.length + ROOM_FOR_CUT;
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
const MAX_TITLE = 500;
/** A longer line is data, not something that people read in a diff. */
const MAX_LINE = 2000;
