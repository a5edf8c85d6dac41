import { DELETED_TEXT, NEW_TEXT, UNCHANGED_TEXT } from "../scenarios/plan-comment.js";
import type { ExpectedPlan } from "./case-schema.js";

type Verdict = ExpectedPlan["applications"][string]["verdict"];

/** What a reader learns of one application from a plan comment. */
export interface ApplicationFacts {
  readonly verdict: Verdict;
  readonly create: readonly string[];
  readonly update: readonly string[];
  readonly delete: readonly string[];
  /** Action and title. */
  readonly hooks: readonly string[];
  /** What the cluster already differs by, action and title. */
  readonly drift: readonly string[];
  /** The lines of updates that begin with `+` or `-`, trimmed behind the sign. */
  readonly lines: readonly string[];
  /** The counts on top, as numbers to create, update, delete and of hooks. */
  readonly counts: readonly [number, number, number, number];
  /** The whole section. */
  readonly text: string;
}

export interface SetFacts {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly string[];
  readonly text: string;
}

/** What a reader learns of an application that is only previewed. */
export interface PreviewFacts extends Omit<ApplicationFacts, "verdict"> {
  readonly change: string;
  readonly of: string;
}

export interface PlanFacts {
  readonly applications: Readonly<Record<string, ApplicationFacts>>;
  readonly previews: Readonly<Record<string, PreviewFacts>>;
  /** Reason by application. */
  readonly notDeployed: Readonly<Record<string, string>>;
  readonly sets: Readonly<Record<string, SetFacts>>;
  readonly notes: readonly string[];
}

/** Reads a plan comment as a person would; nothing of it is taken from anywhere else. */
export function planFacts(comment: string): PlanFacts {
  const parts = comment.split(
    /\n(?=### |---\n|Not deployed by this (?:PR|MR):|No longer affected|Affected, but|Notes:)/,
  );
  const sections = (title: string): readonly (readonly [string, string])[] =>
    parts.flatMap((part) => {
      const name = new RegExp(`^### ${title}: \`([^\`]+)\``).exec(part)?.[1];
      return name === undefined ? [] : [[name, part] as const];
    });
  const texts = sections("Application");
  const list = (title: RegExp) => linesOf(parts.find((part) => title.test(part)) ?? "");
  return {
    applications: Object.fromEntries(
      texts.map(([name, text]) => [name, applicationFacts(text, resourcesOf(text, new Map(texts)))]),
    ),
    previews: Object.fromEntries(parts.flatMap(previewsIn)),
    sets: Object.fromEntries(sections("ApplicationSet").map(([name, text]) => [name, setFacts(text)])),
    notDeployed: Object.fromEntries(
      list(/^Not deployed by this (?:PR|MR):/).flatMap((line) => {
        const [, name, reason] = /^- `([^`]+)`: (.*)$/.exec(line) ?? [];
        return name === undefined ? [] : [[name, reason ?? ""]];
      }),
    ),
    notes: list(/^Notes:/).filter((line) => line.startsWith("- ")),
  };
}

function applicationFacts(text: string, resources: readonly ResourceFacts[]): ApplicationFacts {
  return { verdict: verdictOf(text), ...changeFacts(text, resources) };
}

function changeFacts(text: string, resources: readonly ResourceFacts[]): Omit<ApplicationFacts, "verdict"> {
  const titles = (action: string) =>
    resources.filter((one) => !one.hook && one.action === action).map(({ title }) => title);
  return {
    create: titles("create"),
    update: titles("update"),
    delete: titles("delete"),
    hooks: resources.filter(({ hook }) => hook).map(({ action, title }) => `${action} ${title}`),
    drift: [...text.matchAll(DRIFT)].flatMap(([part]) =>
      resourcesIn(part).map(({ action, title }) => `${action} ${title}`),
    ),
    lines: resources.filter(({ action }) => action === "update").flatMap(({ lines }) => lines),
    counts: [
      numberIn(text, /^\*\*(?:Changes|Creates):\*\* (\d+) (?:to create|resource)/m),
      // What a sync leaves has a diff like what it updates.
      numberIn(text, /^\*\*Changes:\*\* \d+ to create, (\d+) to update/m) +
        numberIn(text, /^\*\*Left as is:\*\* (\d+) /m),
      // What stays whatever a sync prunes has a diff like what is deleted.
      numberIn(text, /^\*\*Deletes:\*\* (\d+) (?:to delete|resource)/m) + numberIn(text, /^\*\*Stays:\*\* (\d+) left/m),
      numberIn(text, /^\*\*Hooks:\*\* (\d+) changed/m),
    ],
    text,
  };
}

/** The previews of one origin, each below a line such as "**`shop-it`** (added), and the same in 2 more: `a`, `b`". */
function previewsIn(part: string): readonly (readonly [string, PreviewFacts])[] {
  const of = /^### Applications (?:of the ApplicationSet|below) `([^`]+)`/.exec(part)?.[1];
  if (of === undefined) return [];
  return part.split(/^(?=\*\*`)/m).flatMap((text) => {
    const [, first, change = "", more = ""] = /^\*\*`([^`]+)`\*\* \((\w+)\)(.*)$/m.exec(text) ?? [];
    if (first === undefined) return [];
    const names = [first, ...[...more.matchAll(/`([^`]+)`/g)].map(([, name]) => name ?? "")];
    return names.map((name) => [name, { ...changeFacts(text, resourcesIn(text)), change, of }] as const);
  });
}

function verdictOf(text: string): Verdict {
  if (text.includes(NEW_TEXT)) return "new";
  if (text.includes(DELETED_TEXT)) return "deleted";
  if (text.includes("**Changes:** could not be evaluated")) return "unevaluated";
  if (text.includes(UNCHANGED_TEXT) || text.includes("No changes but the commit id, in ")) return "unchanged";
  if (text.includes("render the same, and the cluster has it.")) return "unchanged";
  return UNSEEN.some((one) => text.includes(one)) ? "unknown" : "changed";
}

const UNSEEN = ["No visible changes.", "The head commit and the target branch do not render the same, but"];

/** The collapsible of what the cluster already differs by. */
const DRIFT = /^<details(?: open)?><summary>Drift .*?^<\/details>$/gms;

interface ResourceFacts {
  readonly action: string;
  readonly hook: boolean;
  readonly title: string;
  readonly lines: readonly string[];
}

/** The resources of an application, whose diff may be said to be the same as that of another one. */
function resourcesOf(text: string, texts: ReadonlyMap<string, string>): readonly ResourceFacts[] {
  const [same, name = "", , titles] = /^Same as `([^`]+)`(?:\.|, here in:\n\n(`{3,})\n(.*?)\n\2)$/ms.exec(text) ?? [];
  // A definition's own diff is none of a resource.
  if (same === undefined) return resourcesIn(text.replace(DRIFT, "")).filter(({ title }) => title !== "Application");
  const here = titles?.split("\n").map((title) => title.trim());
  return resourcesOf(texts.get(name) ?? "", texts).map((one, at) => ({ ...one, title: here?.[at] ?? one.title }));
}

/** The resources of the fenced diffs: a line `# update (hook): <title>` and hunks below it. */
function resourcesIn(text: string): readonly ResourceFacts[] {
  const diffs = [...text.matchAll(/^(`{3,})diff\n(.*?)\n\1$/gms)].map(([, , diff]) => diff ?? "");
  return diffs.flatMap((diff) =>
    diff.split(/^(?=# (?:create|update|delete)\b)/m).flatMap((part) => {
      const [, action, hook, title] = /^# (create|update|delete)( \(hook\))?: (.*)$/m.exec(part) ?? [];
      if (action === undefined || title === undefined) return [];
      const changed = linesOf(part).filter((line) => /^[+-]/.test(line));
      const lines = changed.map((line) => `${line.charAt(0)} ${line.slice(1).trim()}`);
      return [{ action, hook: hook !== undefined, title, lines }];
    }),
  );
}

function setFacts(text: string): SetFacts {
  const names = (verb: string) =>
    [...(new RegExp(`^- ${verb} (.*)$`, "m").exec(text)?.[1] ?? "").matchAll(/`([^`]+)`/g)].map(
      ([, name]) => name ?? "",
    );
  return { added: names("adds"), removed: names("removes"), changed: names("changes"), text };
}

function numberIn(text: string, pattern: RegExp): number {
  return Number(pattern.exec(text)?.[1] ?? 0);
}

function linesOf(text: string): readonly string[] {
  return text.split("\n");
}
