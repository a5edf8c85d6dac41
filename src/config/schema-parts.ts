import { LRUCache } from "lru-cache";
import { RE2JS } from "re2js";
import * as z from "zod";
import { COMMAND_ACCESS, MERGE_METHODS, ON_FAILURE, UPDATE_BRANCH } from "../core/model/settings.js";
import { HOST_IDS, HOST_PREFIXES } from "../names.js";
import { nearest } from "./nearest.js";
import { namePatternProblem, PATTERN_FORM, patternProblem } from "./pattern.js";
import { ADDRESS_FORM, isRepositoryAddress, repositoryProblem } from "./repository-names.js";
import { OTHER_NAMES } from "./server/section-names.js";

/** Text in which `${NAME}` was expanded. It may stand for a number or a boolean. */
export class Expanded {
  constructor(readonly text: string) {}
}

/** Rejects a value. Without a message, the problem says what is allowed. */
export class Wrong {
  constructor(readonly message?: string) {}
}

/** Reads a setting. An error message says what is `allowed`, and never quotes the value. `.meta` adds to the JSON Schema, `title` for people. */
export function leaf<T>(allowed: string, read: (input: unknown) => T | Wrong) {
  return z.unknown().transform((input, context): T => {
    const value = read(input);
    if (!(value instanceof Wrong)) return value;
    context.issues.push({ code: "custom", input, message: value.message ?? misplaced(allowed, input) });
    return z.NEVER;
  });
}

export function textLeaf<T>(allowed: string, read: (text: string) => T | Wrong) {
  return leaf(allowed, (input) => {
    const text = textOf(input);
    return text === undefined ? new Wrong() : read(text);
  });
}

/** Text that matches an expression. @param allowed Says in words what matches. */
export function formed(allowed: string, form: RegExp, title = "text") {
  return textLeaf(allowed, (value) => (form.test(value) ? value : new Wrong())).meta({
    title,
    type: "string",
    pattern: form.source,
  });
}

export function text() {
  return textLeaf("text that is not empty (quote numbers)", (value) =>
    value.trim() === "" ? new Wrong() : value,
  ).meta({ title: "text", type: "string", pattern: "\\S" });
}

/** Also for names that come beside secrets. Refuses surrounding white space: editors add it, and then every comparison fails. */
export function secret() {
  return textLeaf("text that is not empty and has no space or line break at its ends (quote numbers)", (value) =>
    value.trim() === "" || value.trim() !== value ? new Wrong() : value,
  ).meta({ title: "text", type: "string", pattern: "^\\S(?:[\\s\\S]*\\S)?$" });
}

const SIGNING_SECRET = /^whsec_([A-Za-z0-9+/]+={0,2})$/;

/** A Standard Webhooks key: `whsec_` and the Base64 of at least 24 bytes. */
export function signingSecret(allowed: string) {
  return textLeaf(allowed, (value) => {
    const key = SIGNING_SECRET.exec(value)?.[1] ?? "";
    return Buffer.from(key, "base64").length >= 24 ? value : new Wrong();
  }).meta({ title: "text", type: "string", pattern: SIGNING_SECRET.source });
}

export function flag() {
  return leaf("true or false", (input) => {
    if (typeof input === "boolean") return input;
    if (input instanceof Expanded && input.text === "true") return true;
    return input instanceof Expanded && input.text === "false" ? false : new Wrong();
  }).meta({ title: "true/false", type: "boolean" });
}

export function count(smallest: number, largest: number) {
  const most = largest === Number.MAX_SAFE_INTEGER ? "upwards" : `to ${largest}`;
  return leaf(`a whole number from ${smallest} ${most}`, (input) => {
    const value = input instanceof Expanded && /^\d{1,15}$/.test(input.text) ? Number(input.text) : input;
    if (typeof value !== "number" || !Number.isInteger(value)) return new Wrong();
    return value >= smallest && value <= largest ? value : new Wrong();
  }).meta({ title: "number", type: "integer", minimum: smallest, maximum: largest });
}

/** A duration, read as milliseconds; `longest` is written like `24h`. */
export function duration(longest: string) {
  const most = parseDuration(longest) ?? 0;
  return textLeaf(`a duration such as 30s, 10m or 1h30m, ${longest} at most`, (value) => {
    const milliseconds = parseDuration(value);
    return milliseconds === undefined || milliseconds > most ? new Wrong() : milliseconds;
  }).meta({ title: "duration", type: "string", pattern: "^(?=.*[1-9])(?:\\d+(?:ms|s|m|h|d|w))+$" });
}

/** A duration, read as milliseconds, or `off`. */
export function durationOrOff(longest: string, shortest: string) {
  const [least = 0, most = 0] = [shortest, longest].map(parseDuration);
  const bounds = `${shortest} at least and ${longest} at most`;
  return textLeaf(`off, or a duration such as 30s, 10m or 1h30m, ${bounds}`, (value): number | "off" | Wrong => {
    if (value === "off") return value;
    const milliseconds = parseDuration(value);
    const fits = milliseconds !== undefined && milliseconds >= least && milliseconds <= most;
    return fits ? milliseconds : new Wrong();
  }).meta({
    title: "duration or `off`",
    type: "string",
    pattern: "^(?=off$|.*[1-9])(?:off|(?:\\d+(?:ms|s|m|h|d|w))+)$",
  });
}

export function oneOf<const T extends string>(values: readonly T[]) {
  return textLeaf(
    `one of ${values.join(", ")}`,
    (value) => values.find((known) => known === value) ?? new Wrong(),
  ).meta({ title: "text", type: "string", enum: [...values] });
}

/** An http or https address. Strips trailing slashes unless `exact`. */
export function url({ exact } = { exact: false }) {
  return textLeaf("an address that begins with http:// or https://, without user, query and fragment", (value) =>
    isWebAddress(value) ? (exact ? value : value.replace(/\/+$/, "")) : new Wrong(),
  ).meta({ title: "address", type: "string", pattern: "^[hH][tT][tT][pP][sS]?://[^\\s?#]+$" });
}

/** Text of which `problemOf` says what is wrong with it; an empty problem stands for what is allowed. */
function sound(allowed: string, problemOf: (value: string) => string | undefined, meant = (value: string) => value) {
  return textLeaf(allowed, (value) => {
    const problem = problemOf(value);
    return problem === undefined ? meant(value) : new Wrong(problem === "" ? undefined : problem);
  });
}

export function pattern() {
  return sound("an exact name, or a pattern with `*`", patternProblem).meta({ title: "pattern", ...PATTERN_FORM });
}

/** The JSON Schema of a pattern of names. It accepts more than `namePatternProblem`. */
const NAME_PATTERN_FORM = { ...PATTERN_FORM, pattern: `^(?!.*\\s)${PATTERN_FORM.pattern.slice(1)}` } as const;

/** A pattern of names in Kubernetes, such as those of applications. These have no capitals: `Web` means `web`. */
export function namePattern(problemOf = namePatternProblem) {
  const allowed = "an exact name, or a pattern with `*`";
  return sound(allowed, problemOf, (value) => value.toLowerCase()).meta({ title: "pattern", ...NAME_PATTERN_FORM });
}

/** A regular expression for text to redact. */
export function redaction() {
  const form = { title: "expression", type: "string", pattern: "\\S", maxLength: 512 } as const;
  return sound("a regular expression", redactionProblem).meta(form);
}

export function listOf<T extends z.ZodType>(item: T, most = 1000) {
  return z.array(item, { error: (issue) => misplaced("a list", issue.input) }).max(most, `at most ${most} entries`);
}

/** A map of known keys. An empty section counts as present. */
export function section<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  const names = Object.keys(shape);
  const known = names.map((key) => OTHER_NAMES.find(({ name }) => name === key)?.other ?? key);
  const strict = z.strictObject(shape, {
    error: (issue) => {
      if (issue.code !== "unrecognized_keys") return misplaced(`a section with ${known.join(", ")}`, issue.input);
      return issue.keys.map((key) => unknownKey(key, known, names)).join("\n"); // one line per key, see `validate`
    },
  });
  return z.preprocess((input) => input ?? (input === null ? {} : input), strict);
}

function unknownKey(key: string, known: readonly string[], others: readonly string[]): string {
  const meant = nearest(key, known) ?? nearest(key, others);
  return meant === undefined
    ? `unknown key; allowed here: ${known.join(", ")}`
    : `unknown key; did you mean \`${meant}\`?`;
}

function misplaced(allowed: string, input: unknown): string {
  return input === undefined ? `is required: ${allowed}` : `expected ${allowed}; found ${kindOf(input)}`;
}

function textOf(input: unknown): string | undefined {
  if (input instanceof Expanded) return input.text;
  return typeof input === "string" ? input : undefined;
}

function kindOf(input: unknown): string {
  if (input === null) return "nothing";
  const value = textOf(input);
  if (value !== undefined) return value.trim() === "" ? "empty text" : "other text";
  if (Array.isArray(input)) return "a list";
  if (typeof input === "boolean") return "true or false";
  return typeof input === "number" ? "a number" : "a section";
}

function isWebAddress(value: string): boolean {
  if (!/^https?:\/\/[^\s?#]+$/i.test(value) || !URL.canParse(value)) return false;
  const { username, password } = new URL(value);
  return username === "" && password === "";
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: SECOND, m: MINUTE, h: HOUR, d: DAY, w: 7 * DAY };

/** The longest duration that any setting accepts, in milliseconds. */
export const LONGEST_DURATION = 365 * DAY;

/** Parses `30s`, `10m` or `1h30m` to milliseconds; undefined for zero and for more than a year. */
export function parseDuration(text: string): number | undefined {
  if (text.length > 64 || !/^(?:\d+(?:ms|s|m|h|d|w))+$/.test(text)) return undefined;
  let total = 0;
  for (const [, count, unit] of text.matchAll(/(\d+)(ms|s|m|h|d|w)/g)) {
    total += Number(count) * (UNITS[unit ?? ""] ?? Number.NaN);
  }
  return total > 0 && total <= LONGEST_DURATION ? total : undefined;
}

/** Settings of both files: `defaults` in the server's, and the top level of a repository's, which overrides them. */
export const SHARED_SETTINGS = {
  autoplan: flag().describe("plan when a pull request is opened or updated"),
  require_approval: flag().describe(
    "a sync, except a dry run, needs an approval of the current head commit by someone with write access other than the author",
  ),
  require_up_to_date: flag().describe("refuse a sync that would revert newer changes of the base branch"),
  require_healthy: flag().describe(
    "a sync succeeds only once Argo CD has reported the application as Healthy, or Suspended, for 30 seconds",
  ),
  health_timeout: duration("1h").describe("how long an application may take to get healthy"),
  on_failure: oneOf(ON_FAILURE).describe(
    "what becomes of an application that had to get healthy and did not. `keep`: it stays as it is; `rollback`: svc rolls it back by itself, once, unless another pull request was deployed since",
  ),
  auto_merge: flag().describe("merge after a fully successful sync"),
  merge_method: oneOf(MERGE_METHODS).describe("how to merge; on GitLab the project decides between merge and rebase"),
  update_branch: oneOf(UPDATE_BRANCH).describe(
    "whether svc brings the base branch into the branch of a pull request: `never`; on `command`, by `svc update`; or `on_turn` as well: by itself, when a lock that it waited for is free and the branch has to be updated",
  ),
  skip_no_changes: flag().describe("skip applications whose plan proved that nothing changes"),
  delete_source_branch: flag().describe("delete the source branch after a merge by svc"),
} as const;

/** `defaults`: the shared settings, and those that repositories cannot override. */
export function defaultsSection() {
  return section({
    autoplan: SHARED_SETTINGS.autoplan.prefault(true),
    allowed_repos: listOf(repository())
      .prefault([])
      .describe(
        "repositories that svc serves; empty: all. With a prefix, as in `github:acme/*`, those of one host, without one those of every host. `gitlab:acme/**` has those of subgroups too",
      ),
    require_approval: SHARED_SETTINGS.require_approval.prefault(false),
    approval_from_committers: flag()
      .prefault(false)
      .describe("count an approval also if who gave it wrote or pushed commits that nobody else approved"),
    require_up_to_date: SHARED_SETTINGS.require_up_to_date.prefault(true),
    require_healthy: SHARED_SETTINGS.require_healthy.prefault(false),
    health_timeout: SHARED_SETTINGS.health_timeout.prefault("5m"),
    on_failure: SHARED_SETTINGS.on_failure.prefault("keep"),
    update_branch: SHARED_SETTINGS.update_branch.prefault("command"),
    auto_merge: SHARED_SETTINGS.auto_merge.prefault(false),
    merge_method: SHARED_SETTINGS.merge_method.prefault("squash"),
    skip_no_changes: SHARED_SETTINGS.skip_no_changes.prefault(false),
    delete_source_branch: SHARED_SETTINGS.delete_source_branch.prefault(false),
    prune: flag().prefault(false).describe("delete resources that are no longer in the repository, as with `--prune`"),
    plan_drafts: flag().prefault(false).describe("plan drafts automatically"),
    allow_forks: flag()
      .prefault(false)
      .describe("let people with write access run commands on pull requests from forks"),
    command_access: oneOf(COMMAND_ACCESS)
      .prefault("write")
      .describe("who may give commands: people with `write` access, or `anyone` who can comment"),
    allowed_bots: listOf(text().transform((login) => login.toLowerCase()))
      .prefault([])
      .describe(
        "bots whose comments may be commands, by their login, ignoring case, such as `renovate[bot]`; on GitHub, which tells no access of Apps, they need no write access",
      ),
    protected_branches: listOf(branch())
      .prefault([])
      .describe(
        "branches that svc never deletes and never updates, besides `main`, `master`, `develop` and `development`",
      ),
  });
}

/** Characters that git refuses in the name of a branch: https://git-scm.com/docs/git-check-ref-format */
const IN_NO_BRANCH = /[\s~^:?*[\\]/;

function branch() {
  return textLeaf("the name of a branch", (value) => {
    if (value === "") return new Wrong();
    return IN_NO_BRANCH.test(value)
      ? new Wrong("no branch can have this name, and patterns mean nothing here: name each branch")
      : value;
  }).meta({ title: "text", type: "string", pattern: "^[^\\s~^:?*[\\\\]+$" });
}

/** A map whose keys are names that the file chooses. An empty one counts as present. */
export function mapOf<Value extends z.ZodType>(key: string, form: RegExp, value: Value) {
  const names = z
    .string()
    .regex(form)
    .meta({ title: `<${key}>`, pattern: form.source });
  const map = z.record(names, value, {
    error: ({ code, input }) => {
      if (code === "invalid_key") return `is not the name of an ${key}`;
      return misplaced(`a section with a key for each ${key}`, input);
    },
  });
  return z.preprocess((input) => input ?? (input === null ? {} : input), map);
}

/** Repositories of one host, or without a prefix those of every host. */
export function repository() {
  const allowed = "a repository as <org>/<repo> or <host>:<org>/<repo>, or a pattern such as github:<org>/*";
  return sound(allowed, repositoryProblem).meta({ title: "<org>/<repo>", ...REPOSITORY_FORM });
}

/** A repository of one host. That two hosts need the host's prefix is a rule of the whole file. */
export function repositoryOfHost() {
  const allowed = "a repository as <host>:<org>/<repo>, a pattern such as github:<org>/*, or a repository's address";
  return sound(allowed, (value) => (isRepositoryAddress(value) ? undefined : repositoryProblem(value))).meta({
    title: "<host>:<org>/<repo>",
    anyOf: [REPOSITORY_FORM, ADDRESS_FORM],
  });
}

const LONGEST_PATTERN = 512;
const MARK = "(redacted)";
/** Longer lines are data that nobody reads, and matching them takes long. */
const LONGEST_LINE = 16 * 1024;

const compiled = new LRUCache<string, RE2JS>({ max: 1000 });

/** Explains why a text is no pattern of `redact`, by the syntax of RE2, which matches in linear time; undefined if it is one. */
export function redactionProblem(pattern: string): string | undefined {
  if (pattern.trim() === "") return "the expression is empty";
  if (pattern.length > LONGEST_PATTERN) return `the expression is longer than ${LONGEST_PATTERN} characters`;
  try {
    return compile(pattern).matcher("").find() ? "the expression matches the empty text" : undefined;
  } catch {
    return "not a regular expression as RE2 takes it, which has neither look-around nor back-references";
  }
}

/** Replaces what the patterns match in each line. Lines too long to match are left out. */
export function redact(text: string, patterns: readonly string[]): string {
  if (patterns.length === 0) return text;
  return text
    .split("\n")
    .map((line) => redactLine(line, patterns))
    .join("\n");
}

function redactLine(line: string, patterns: readonly string[]): string {
  if (line.length > LONGEST_LINE) return `(a line of ${line.length} characters, too long to look for what to redact)`;
  return patterns.reduce((left, pattern) => compile(pattern).matcher(left).replaceAll(MARK), line);
}

function compile(pattern: string): RE2JS {
  const known = compiled.get(pattern);
  if (known !== undefined) return known;
  const fresh = RE2JS.compile(pattern);
  compiled.set(pattern, fresh);
  return fresh;
}

/** A repository's pattern has a slash, or is `*` or `**`. */
const PARTS = `^(?=(?:(?:${HOST_IDS.flatMap((id) => HOST_PREFIXES[id]).join("|")}):)?\\*{1,2}$|.*/)`;

/** The JSON Schema of a repository with or without a host's prefix. */
const REPOSITORY_FORM = { ...PATTERN_FORM, pattern: `${PARTS}${PATTERN_FORM.pattern.slice(1)}` };
