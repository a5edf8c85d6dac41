import { secretSentences } from "../core/diff/manifest-diff.js";
import type { ApplicationName } from "../core/model/brand.js";
import { type CheckResult, type FailedCheck, isFailed } from "../core/model/check.js";
import { counted, listed } from "../core/model/host-words.js";
import type { AgainstCluster, ManifestDiff, NameChanges, ResourceChange } from "../core/model/plan/manifest-diff.js";
import type { Evaluated, Unevaluated } from "../core/model/plan/plan.js";
import {
  type Block,
  block,
  capitalised,
  code,
  delimiterOf,
  details,
  diffFence,
  fence,
  firstLines,
  plainName,
  sentence,
  shortened,
  withoutDeceivers,
  failureTitle,
  countsOf,
} from "./parts.js";

/** An application and its diff. */
export interface Diffing {
  readonly application: ApplicationName;
  readonly diff: ManifestDiff;
}

export interface DiffRoom {
  /** The application before it whose diff is the same, so that it is not repeated. */
  readonly sameAs?: Diffing | undefined;
  /** How many characters of a diff are shown; one that is absent is left out. */
  readonly rooms: DiffRooms;
  /** Characters for the names of what is left out. */
  readonly names: number;
  /** Where people can read what is left out. */
  readonly page: string | undefined;
  readonly outputs: number;
  readonly open: boolean;
  readonly section: string;
}

/** A resource, or the plan of an application for the diff of its definition. */
export type Diffed = ResourceChange | Evaluated | Unevaluated;
export type DiffRooms = ReadonlyMap<Diffed, number>;

/** A change against the target branch, or a difference that the cluster already has. */
type DiffOf = "change" | "drift";

/** The diffs of resources in a collapsible, or which application has the same, and the names of those without room. */
export function diffBlocks(resources: readonly ResourceChange[], room: DiffRoom, of: DiffOf): readonly Block[] {
  if (of === "change" && room.sameAs !== undefined) {
    return [block(sameDiff(room.sameAs, resources, room.open), room.section)];
  }
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
  const more = `${left.length} more ${of === "drift" ? "drifted" : "changed"} ${left.length === 1 ? "resource" : "resources"} ${verb} too long to show here${where}:\n\n${listed}`;
  return [...shown, block(more, section)];
}

/** The diff of the definition in its own collapsible, if it changes. */
export function definitionBlocks(plan: Evaluated | Unevaluated, { rooms, open, section }: DiffRoom): readonly Block[] {
  if (plan.definition === undefined) return [];
  const given = rooms.get(plan);
  if (given === undefined) return [block("The diff of its definition is too long to show here.", section)];
  const texts = [fenced(resourceText({ ...DEFINITION, diff: plan.definition }, given))];
  return [blockOf({ summary: "Diff of the definition", texts, open, section })];
}

const DEFINITION = { action: "update", title: "Application", kind: "Application", hook: false, whole: false } as const;

interface Shown {
  readonly summary: string;
  readonly texts: readonly Fenced[];
  readonly open: boolean;
  readonly section: string;
}

interface Fenced {
  readonly text: string;
  /** Characters that it adds to its fence; measured once because that is slow. */
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

function split(shown: Shown, room: number): ReturnType<NonNullable<Block["split"]>> {
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

/** Stands for a diff that an earlier application has too: names that one, and the resources here if they differ. */
function sameDiff({ diff, application }: Diffing, resources: readonly ResourceChange[], open: boolean): string {
  const titles = resources.map(({ title }) => title).join("\n");
  const known = diff.resources.map(({ title }) => title).join("\n");
  const here = titles === known ? "." : `, here in:\n\n${fence(shortened(titles, MAX_TITLES))}`;
  return details(titleOf(resources.length, "change"), `Same as ${code(application)}${here}`, { open });
}

/** The diff of one resource with its title, cut at a line to what fits into `room`. */
function resourceText(resource: ResourceChange, room: number): string {
  // Cleaned first, so that the measured length is the shown one. Nothing but Kubernetes says that a name is one line.
  const name = shortened(resource.title.replace(/\s+/g, " "), MAX_TITLE);
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

const ROOM_FOR_CUT = 60;
const MAX_TITLE = 500;
/** A longer line is data, not something that people read in a diff. */
const MAX_LINE = 2000;

/** Equal for equal diffs, whatever the objects are called; undefined if a diff is cut or hides values. */
export function diffKey(resources: readonly ResourceChange[]): string | undefined {
  if (resources.length === 0 || resources.some(({ whole, kind }) => !whole || kind === "Secret")) return undefined;
  return JSON.stringify(resources.map(({ action, kind, hook, diff }) => [action, kind, hook, diff]));
}

const HIDDEN_IN_CLUSTER = "Argo CD hides the values of Secrets, so those of the cluster are not compared.";

export function secretLines(diff: ManifestDiff): readonly string[] {
  const sentences = secretSentences(diff, quiet);
  const lines = sentences.length < 2 ? sentences : [sentences.map((one) => `- ${one}`).join("\n")];
  return diff.hiddenSecrets && againstCluster(diff) !== undefined ? [...lines, HIDDEN_IN_CLUSTER] : lines;
}

export function stayLines({ stay }: ManifestDiff): readonly string[] {
  return stay === undefined ? [] : [`**Stays:** ${stay} left in the cluster by any sync (Prune=false)`];
}

/** What the cluster told about the diff; undefined if it was not asked. */
export function againstCluster({ basis }: ManifestDiff): AgainstCluster | undefined {
  return basis.kind === "live" || basis.kind === "both" ? basis : undefined;
}

const MAX_NAMES = 20;
const MAX_NAME = 150;

/** A name as `plainName` writes it, cut where it is long. */
export function quiet(name: string): string {
  return plainName(shortened(name, MAX_NAME));
}

const MAX_CAUTIONS = 15;
const MAX_CAUTION = 400;

/** Cautions, and the applications and ApplicationSets that manifests create, change and delete. */
export function consequenceLines({ cautions, children, sets }: ManifestDiff): readonly string[] {
  const lines = cautions.map((text) => `- ${capitalised(sentence(shortened(text, MAX_CAUTION)))}.`);
  return [
    ...(lines.length === 0 ? [] : [["**Caution:**", ...firstLines(lines, MAX_CAUTIONS, "more like these")].join("\n")]),
    ...childrenLine("Applications", children),
    ...childrenLine("ApplicationSets", sets),
  ];
}

function childrenLine(what: string, { created, changed, deleted }: NameChanges): readonly string[] {
  const parts = Object.entries({ create: created, change: changed, delete: deleted }).flatMap(([verb, names]) =>
    names.length === 0 ? [] : [`${verb}: ${namesIn(names)}`],
  );
  return parts.length === 0 ? [] : [`${what} it would ${parts.join("; ")}`];
}

export function namesIn(names: readonly string[]): string {
  return listed(
    names.map((name) => code(shortened(name, MAX_NAME))),
    MAX_NAMES,
  );
}

/** The number of checks, and each failed one expanded with its output. @param outputs see `outputRoom`. */
export function checkBlocks(
  checks: readonly CheckResult[],
  { section, outputs: room }: { readonly section: string | undefined; readonly outputs: number },
): readonly Block[] {
  if (checks.length === 0) return [];
  const failed = checks.filter(isFailed).map((one) => failureText(one, room));
  return [`**Checks:** ${countsOf(checks)}`, ...failed].map((text) => block(text, section));
}

function failureText(failed: FailedCheck, room: number): string {
  const { output } = failed.outcome;
  const said = output === "" ? "It printed nothing." : fence(shortened(output, room));
  return details(`❌ ${failureTitle(failed)}`, said, { open: true });
}
