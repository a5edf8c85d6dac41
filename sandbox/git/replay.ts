import { runGit } from "./run-git.js";

export interface ReplayedCommit {
  readonly tree: string;
  readonly message: string;
  readonly author: string;
}

const identity = ["-c", "user.name=sandbox", "-c", "user.email=sandbox@localhost"];

/**
 * The tree of a merge of two commits, or undefined if they conflict. Needs no working tree
 * (git-merge-tree(1), git 2.38).
 */
export async function mergedTree(folder: string, base: string, head: string): Promise<string | undefined> {
  const args = ["merge-tree", "--write-tree", "--no-messages", "--name-only", base, head];
  const { status, stdout } = await runGit(folder, args, { expected: [1] });
  return status === 0 ? stdout.trim() : undefined;
}

/** Rebases the head's own commits onto the base. Returns them oldest first. @throws {Error} on a conflict. */
export async function replay(folder: string, base: string, head: string): Promise<ReplayedCommit[]> {
  const format = "--format=%T%x00%P%x00%an%x00%B%x01";
  const log = await runGit(folder, ["log", "--reverse", "--no-merges", format, `${base}..${head}`]);
  let tip = await treeOf(folder, base);
  const replayed: ReplayedCommit[] = [];
  for (const entry of log.stdout.split("\x01")) {
    const [tree, parents, author, message] = entry.trimStart().split("\0");
    if (tree === undefined || parents === undefined || author === undefined || message === undefined) continue;
    const parent = parents.split(" ")[0] ?? "";
    const next = await pick(folder, parent === "" ? undefined : await treeOf(folder, parent), tree, tip);
    if (next === undefined) throw new Error("This branch cannot be rebased: a commit conflicts");
    if (next === tip) continue;
    replayed.push({ tree: next, message, author });
    tip = next;
  }
  return replayed;
}

/**
 * One cherry-pick: applies the change from `before` to `tree` onto `onto`. git 2.39's merge-tree takes no merge base,
 * so this makes three commits whose only common ancestor has the tree `before`.
 */
async function pick(
  folder: string,
  before: string | undefined,
  tree: string,
  onto: string,
): Promise<string | undefined> {
  if (before === onto) return tree;
  return mergedTree(folder, ...(await sidesOf(folder, before, tree, onto)));
}

async function sidesOf(
  folder: string,
  before: string | undefined,
  tree: string,
  onto: string,
): Promise<[string, string]> {
  const ancestor = before === undefined ? [] : ["-p", await commitTree(folder, before, [])];
  return Promise.all([commitTree(folder, onto, ancestor), commitTree(folder, tree, ancestor)]);
}

/** The files in which `takenBack` finds a conflict, sorted. */
export async function conflictsOfTakingBack(
  folder: string,
  from: string,
  to: string,
  onto: string,
): Promise<readonly string[]> {
  const [before = "", after, now = ""] = await Promise.all([from, to, onto].map((one) => treeOf(folder, one)));
  const sides = await sidesOf(folder, after, before, now);
  const args = ["merge-tree", "--write-tree", "--no-messages", "--name-only", "-z", ...sides];
  const { stdout } = await runGit(folder, args, { expected: [1] });
  return stdout.split("\0").slice(1, -1).sort();
}

/** The tree of `onto` without what changed between two commits; undefined if that conflicts. */
export async function takenBack(
  folder: string,
  from: string,
  to: string,
  onto: string,
): Promise<{ readonly tree: string; readonly empty: boolean } | undefined> {
  const [before, after, now] = await Promise.all([from, to, onto].map((one) => treeOf(folder, one)));
  const tree = await pick(folder, after, before ?? "", now ?? "");
  return tree === undefined ? undefined : { tree, empty: tree === now };
}

async function commitTree(folder: string, tree: string, parents: readonly string[]): Promise<string> {
  return (await runGit(folder, [...identity, "commit-tree", ...parents, "-m", "pick", tree])).stdout.trim();
}

async function treeOf(folder: string, revision: string): Promise<string> {
  return (await runGit(folder, ["rev-parse", `${revision}^{tree}`])).stdout.trim();
}
