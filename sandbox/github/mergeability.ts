import type { Pull, World } from "./world.js";

export type Mergeability = "mergeable" | "conflicts" | "unknown";

/** Whether a merge would conflict. "unknown" while reads are pending and unless it is open. */
export async function readMergeability(world: World, pull: Pull): Promise<Mergeability> {
  if (pull.state !== "open") return "unknown";
  if (pull.pendingReads > 0) {
    pull.pendingReads -= 1;
    return "unknown";
  }
  const tip = await baseTip(world, pull);
  return (await world.store.conflicts(pull.repository.fullName, tip, pull.headSha)) ? "conflicts" : "mergeable";
}

/** The base branch's tip, or its last known one if it was deleted. */
export async function baseTip(world: World, pull: Pull): Promise<string> {
  return (await world.store.resolve(pull.repository.fullName, `refs/heads/${pull.baseBranch}`)) ?? pull.baseSha;
}

export async function mergeBaseOf(world: World, pull: Pull): Promise<string> {
  const base = pull.merged === undefined ? await baseTip(world, pull) : pull.baseSha;
  return (await world.store.mergeBase(pull.repository.fullName, base, pull.headSha)) ?? base;
}

/** Numbers of a pull request's commits, files and lines. */
export async function sizeOf(
  world: World,
  pull: Pull,
): Promise<{ commits: number; changed_files: number; additions: number; deletions: number }> {
  const from = await mergeBaseOf(world, pull);
  const repository = pull.repository.fullName;
  const [files, commits] = await Promise.all([
    world.store.changedPaths(repository, from, pull.headSha),
    world.store.countCommits(repository, from, pull.headSha),
  ]);
  return {
    commits,
    changed_files: files.length,
    additions: files.reduce((sum, file) => sum + file.additions, 0),
    deletions: files.reduce((sum, file) => sum + file.deletions, 0),
  };
}
