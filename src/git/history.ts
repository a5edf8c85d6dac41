import { revision, type Revision } from "../core/model/brand.js";
import { only } from "../core/model/errors.js";
import type { CloneSource, RevertedCommits } from "../core/ports/code-host.js";
import type { CommitRange, CommitSummary } from "../core/ports/repositories.js";
import { GitFailure, remoteProblem } from "./git-process.js";
import type { MirrorRepository } from "./mirror-repository.js";

/** A mirror, and the host that its missing history comes from. */
export interface History {
  readonly folder: MirrorRepository;
  readonly source: CloneSource;
  readonly signal: AbortSignal;
}

/**
 * Whether a merge by git gives exactly this commit's tree. It merges the commit's two parents, or the two commits in `of`. False
 * for a conflict, for several merge bases, and where the history cannot be fetched. @throws {GitFailure} if the host does not answer.
 */
export async function isCleanMerge(
  history: History,
  commit: Revision,
  of?: readonly [Revision, Revision],
): Promise<boolean> {
  const { tree, parents } = await partsOf(history, commit);
  const [one, other, third]: readonly Revision[] = of ?? parents;
  if (tree === undefined || one === undefined || other === undefined || third !== undefined) return false;
  for (const depth of [0, ...DEPTHS]) {
    if (depth > 0 && !(await couldDeepen(history, of ?? [commit], depth))) return false;
    if (await isHistoryKnown(history, one, other)) return (await mergedTree(history, one, other)) === tree;
  }
  return false;
}

async function couldDeepen(
  { folder, source, signal }: History,
  commits: readonly Revision[],
  depth: number,
): Promise<boolean> {
  return folder.deepen(source, commits, depth, signal).then(
    () => true,
    only(GitFailure, () => false),
  );
}

/** The parts of a commit (gitformat-signature(5) shows them), whose parents need not be here. */
async function partsOf({ folder, signal }: History, commit: Revision) {
  const [found] = await folder.contents([commit], signal);
  const text = found?.type === "commit" ? found.content.toString("utf8") : "";
  const [header = "", message = ""] = text.split(/\n\n(.*)/s, 2);
  const tree = /^tree ([0-9a-f]+)$/m.exec(header)?.[1];
  return { tree, parents: [...header.matchAll(/^parent ([0-9a-f]+)$/gm)].map(([, id = ""]) => revision(id)), message };
}

/** Whether the history down to the only merge base is here: with a part of it, git would take an older base. */
async function isHistoryKnown(history: History, one: Revision, other: Revision): Promise<boolean> {
  const { folder, signal } = history;
  if (!(await folder.hasCommits([one, other], signal))) return false;
  const cut = await folder.shallowCommits();
  const unshared = linesIn(await folder.local(["rev-list", "--end-of-options", `${one}...${other}`], signal));
  if (unshared.some((id) => cut.has(id))) return false;
  return (await mergeBases(history, one, other)).length === 1;
}

async function mergeBases({ folder, signal }: History, one: Revision, other: Revision): Promise<readonly string[]> {
  try {
    return linesIn(await folder.local(["merge-base", "--all", "--end-of-options", one, other], signal));
  } catch (error) {
    // git exits with 1, without a word, if there are none.
    if (error instanceof GitFailure && error.kind === "exit" && error.stderr === "") return [];
    throw error;
  }
}

/** The tree of the merge (git-merge-tree(1)); undefined if the two conflict. git fetches the contents that it has to compare. */
async function mergedTree({ folder, source, signal }: History, one: Revision, other: Revision) {
  const args = ["merge-tree", "--write-tree", "--no-messages", "--end-of-options", one, other];
  try {
    return (await folder.remote(args, source, signal)).toString("latin1").trim();
  } catch (error) {
    if (error instanceof GitFailure && error.kind === "exit" && remoteProblem(error) === undefined) return undefined;
    throw error;
  }
}

/**
 * Merges the tree of `onto` with the one before the reverted commits, upon the one after them. The merge-tree of git 2.39 takes no merge
 * base, so this writes three commits of which one is the only common ancestor of the other two.
 */
export async function revertConflicts(
  history: History,
  { newest, oldest }: RevertedCommits,
  onto: Revision,
): Promise<readonly string[] | undefined> {
  const { folder, source, signal } = history;
  const before = await parentWithTree(history, oldest);
  if (before === undefined || !(await folder.hasCommits([newest, onto], signal))) return undefined;
  const made = async (of: string, ...parents: readonly string[]): Promise<string> => {
    const args = ["commit-tree", ...parents.flatMap((parent) => ["-p", parent]), "-m", "revert", `${of}^{tree}`];
    return (await folder.local([...AS_NOBODY, ...args], signal)).toString("latin1").trim();
  };
  try {
    const base = await made(newest);
    const [ours, theirs] = [await made(onto, base), await made(before, base)];
    const args = ["merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", "--end-of-options", ours, theirs];
    const [, ...files] = fieldsOf(await folder.remote(args, source, signal, { expected: [1] }));
    return files.sort();
  } catch (error) {
    if (error instanceof GitFailure && error.kind !== "not-started") return undefined;
    throw error;
  }
}

/** Commits need an author, and these are never published. */
const AS_NOBODY = ["-c", "user.name=none", "-c", "user.email=none"];

/** Returns the first parent of a commit, after fetching it if it is missing; undefined if there is none or it cannot be fetched. */
async function parentWithTree(history: History, commit: Revision): Promise<Revision | undefined> {
  const { folder, signal } = history;
  for (const depth of [0, ...DEPTHS]) {
    if (depth > 0 && !(await couldDeepen(history, [commit], depth))) return undefined;
    const [parent] = (await partsOf(history, commit)).parents;
    if (parent !== undefined && (await folder.hasCommits([parent], signal))) return parent;
  }
  return undefined;
}

const PATHS = ["--name-only", "--no-renames", "--ignore-submodules=none"];
const MAX_COMMITS = 200;
const MAX_LOG_OUTPUT = 32 * 1024 * 1024;
/** Commits are fetched without history. It is fetched in these steps, counted in parents, until the answer is known. */
const DEPTHS = [32, 256, 1024];
const TOO_LARGE: ReadonlySet<GitFailure["kind"]> = new Set(["too-big", "too-much-output"]);

/** The commits that `to` has and `from` lacks; incomplete if their history is too long or large. @throws {GitFailure} */
export async function commitsBetween(history: History, from: Revision, to: Revision): Promise<CommitRange> {
  const { folder, source, signal } = history;
  if (from === to) return { commits: [], complete: true };
  let range: CommitRange | undefined;
  try {
    range = await knownRange(history, from, to);
    for (const depth of DEPTHS) {
      if (range?.complete === true || range?.commits.length === MAX_COMMITS) return range;
      await folder.deepen(source, [from, to], depth, signal);
      range = await knownRange(history, from, to);
    }
  } catch (error) {
    if (!(error instanceof GitFailure && TOO_LARGE.has(error.kind))) throw error;
    range ??= { commits: [], complete: false };
  }
  if (range === undefined) throw new GitFailure("unknown-commit", "");
  return range;
}

/** Reads the range from the history on disk; undefined if it lacks one of the two commits. */
async function knownRange(history: History, from: Revision, to: Revision): Promise<CommitRange | undefined> {
  const { folder, signal } = history;
  if (!(await folder.hasCommits([from, to], signal))) return undefined;
  const cut = await folder.shallowCommits();
  if (cut.has(to)) return (await onlyCommit(history, from, to)) ?? { commits: [], complete: false };
  const format = ["log", "-z", `--format=${LOG_FORMAT}`];
  const range = ["--date-order", `--max-count=${MAX_COMMITS + 1}`, ...LOG_PATHS, "--end-of-options", to, `^${from}`];
  const logged = parseLog(await folder.local([...format, ...range, "--"], signal, { maxOutput: MAX_LOG_OUTPUT }));
  // Commits in the history of `from` whose parents are missing or that have none.
  const oldest = ["--max-parents=0", "--no-patch", "--end-of-options", from, "--"];
  const doubtful = newestCut(parseLog(await folder.local([...format, ...oldest], signal)), cut);
  const sure = logged.filter(({ id, time }) => !cut.has(id) && time > doubtful);
  return {
    commits: sure
      .slice(0, MAX_COMMITS)
      .map(({ id, parents, subject, paths }): CommitSummary => ({ id, parents, subject, paths })),
    complete: sure.length === logged.length && sure.length <= MAX_COMMITS,
  };
}

/** The range of a commit whose only parent is `from`, as of most change requests: it needs no history. */
async function onlyCommit(history: History, from: Revision, to: Revision): Promise<CommitRange | undefined> {
  const { folder, signal } = history;
  const { parents, message } = await partsOf(history, to);
  if (parents.length !== 1 || parents[0] !== from) return undefined;
  const args = ["diff-tree", "-r", "-z", ...PATHS, "--end-of-options", from, to];
  const paths = fieldsOf(await folder.local(args, signal, { maxOutput: MAX_LOG_OUTPUT })).sort();
  return { commits: [{ id: to, parents, subject: subjectOf(message), paths }], complete: true };
}

/** The newest time at which the history of `from` was cut. Commits that are older may belong to that history. */
function newestCut(oldest: readonly Pick<LoggedCommit, "id" | "time">[], cut: ReadonlySet<string>): number {
  return Math.max(-Infinity, ...oldest.filter(({ id }) => cut.has(id)).map(({ time }) => time));
}

/** Ids of the regular files that a path was along the first parents, newest first, each once, at most `MAX_COMMITS` commits back. */
export async function fileVersions(
  { folder, source, signal }: History,
  of: Revision,
  path: string,
): Promise<readonly string[]> {
  // All first parents of the commit (`--sparse`), with what changes about the path.
  const args = [
    "log",
    "-z",
    "--first-parent",
    "--sparse",
    `--max-count=${MAX_COMMITS + 1}`,
    `--format=${FILE_LOG_FORMAT}`,
  ];
  const changes = ["--raw", "--no-abbrev", "--no-renames", "--diff-merges=first-parent"];
  const logged = [...args, ...changes, "--end-of-options", of, "--", `:(literal)${path}`];
  let log = parseFileLog(await folder.local(logged, signal));
  const last = log.commits.at(-1);
  const cut = last === undefined || (await folder.shallowCommits()).has(last);
  if (cut && log.commits.length <= MAX_COMMITS) {
    await folder.deepen(source, [of], MAX_COMMITS + 1, signal);
    log = parseFileLog(await folder.local(logged, signal));
  }
  return [...new Set(log.versions)];
}

/** What `git diff --name-only` prints by default. git fetches the contents that it has to compare. */
export async function printedPaths(
  { folder, source, signal }: History,
  from: Revision,
  to: Revision,
): Promise<readonly string[]> {
  const args = ["diff-tree", "-r", "-M", "--name-only", "--end-of-options", from, to];
  return linesIn(await folder.remote(args, source, signal, { maxOutput: MAX_LOG_OUTPUT }));
}

function linesIn(output: Buffer): readonly string[] {
  return output
    .toString("latin1")
    .split("\n")
    .filter((line) => line !== "");
}

/** Format for `git log`: an empty field, id, parents, seconds, message, then paths; each ends with a zero byte. */
const LOG_FORMAT = "%x00%H%x00%P%x00%ct%x00%B";

/** Compares a merge with its first parent (git-log(1)). */
const LOG_PATHS = [...PATHS, "--diff-merges=first-parent"];

interface LoggedCommit extends CommitSummary {
  /** Commit time in seconds since 1970. */
  readonly time: number;
}

const MAX_SUBJECT = 100;

/** Parses `git log -z --name-only` with `LOG_FORMAT`. */
export function parseLog(output: Buffer): readonly LoggedCommit[] {
  const fields = fieldsOf(output);
  const commits: LoggedCommit[] = [];
  let at = 0;
  while (at < fields.length) {
    const [start, id = "", parents = "", seconds = "", message = ""] = fields.slice(at, at + 5);
    if (start !== "" || !/^[0-9a-f]{40,64}$/.test(id) || !/^[0-9a-f ]*$/.test(parents) || !/^-?\d+$/.test(seconds)) {
      throw new GitFailure("unexpected-answer", "git gave an unexpected answer");
    }
    at += 5;
    const end = fields.indexOf("", at);
    const paths = fields.slice(at, end < 0 ? undefined : end);
    at += paths.length;
    // git puts a line break before the first path of a commit.
    const named = paths.map((path, index) => (index === 0 ? path.replace(/^\n/, "") : path));
    commits.push({
      id: revision(id),
      parents: parents === "" ? [] : parents.split(" ").map(revision),
      time: Number(seconds),
      subject: subjectOf(message),
      paths: [...new Set(named)].sort(),
    });
  }
  return commits;
}

/** Removes control characters and those that change the direction of writing: they could disguise a line. */
function subjectOf(message: string): string {
  const [line = ""] = message.trimStart().split(/[\r\n]/, 1);
  const plain = line.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "").trim();
  return Array.from(plain).slice(0, MAX_SUBJECT).join("");
}

/** Bytes that are not UTF-8 become U+FFFD. */
function fieldsOf(output: Buffer): string[] {
  const fields = output.toString("utf8").split("\0");
  if (fields.pop() !== "") throw new GitFailure("unexpected-answer", "git's answer is incomplete");
  return fields;
}

/** Format for `git log --raw`: an empty field and the id; each ends with a zero byte. */
const FILE_LOG_FORMAT = "%x00%H";

interface FileLog {
  readonly commits: readonly string[];
  /** Ids of regular files, newest first. */
  readonly versions: readonly string[];
}

/** Reads `git log -z --raw --no-abbrev` with `FILE_LOG_FORMAT`, of one path. */
function parseFileLog(output: Buffer): FileLog {
  const fields = output.toString("latin1").split("\0");
  const [commits, versions]: [string[], string[]] = [[], []];
  for (const [index, field] of fields.entries()) {
    if (/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(field) && fields[index - 1] === "") commits.push(field);
    const [, oldMode, newMode, oldId, newId] =
      /^\n?:([0-7]{6}) ([0-7]{6}) ([0-9a-f]{40,64}) ([0-9a-f]{40,64}) [A-Z]/.exec(field) ?? [];
    if (isRegular(newMode) && newId !== undefined) versions.push(newId);
    if (isRegular(oldMode) && oldId !== undefined) versions.push(oldId);
  }
  if (commits.length === 0) throw new GitFailure("unexpected-answer", "git gave an unexpected answer");
  return { commits, versions };
}

function isRegular(mode: string | undefined): boolean {
  return mode === "100644" || mode === "100755" || mode === "100664";
}
