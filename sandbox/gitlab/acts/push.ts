import type { FileChanges, Push } from "../../forge.js";
import type { Instance } from "../model/instance.js";
import type { MergeRequest } from "../model/merge-request.js";
import type { Project, PushEvent } from "../model/project.js";
import { branchMoved, type BranchMove } from "./heads.js";

/** Records who moved a branch, as GitLab's push events do. */
export async function recordPush(
  instance: Instance,
  project: Project,
  push: Pick<PushEvent, "by" | "branch" | "before" | "after">,
): Promise<void> {
  const { title } = await instance.commits.read(project.path, push.after);
  const commits =
    push.before === undefined ? 1 : await instance.store.countCommits(project.path, push.before, push.after);
  project.pushes.push({ ...push, id: instance.nextId(), commits, title, at: instance.now() });
}

/** Commits to the source branch; as the author, unless the push says otherwise. Returns the commit. */
export function pushToHead(
  instance: Instance,
  { sourceProject, sourceBranch, author }: MergeRequest,
  changes: FileChanges,
  push: Push,
  move: Pick<BranchMove, "silent"> = {},
): Promise<string> {
  const by = push.by ?? author.username;
  const moved = { ...move, by: instance.people.named(by) };
  return pushToBranch(instance, sourceProject, sourceBranch, changes, { ...push, by }, moved);
}

/** Commits to any branch. */
export async function pushToBranch(
  instance: Instance,
  project: Project,
  branch: string,
  changes: FileChanges,
  push: Push & { readonly by: string },
  move: BranchMove = {},
): Promise<string> {
  const { store } = instance;
  const from = await store.resolve(project.path, `refs/heads/${project.defaultBranch}`);
  const before = await store.resolve(project.path, `refs/heads/${branch}`);
  const by = instance.people.named(push.by);
  const id = await store.commit(project.path, branch, changes, { author: push.by, ...push, from });
  await recordPush(instance, project, { by, branch, before, after: id });
  await branchMoved(instance, project, branch, move);
  return id;
}

/**
 * Rebases the source branch in the background, as the token's account: https://docs.gitlab.com/api/merge_requests/#rebase-a-merge-request
 * It takes the branch as it is then.
 */
export async function rebaseBranch(instance: Instance, merge: MergeRequest): Promise<void> {
  const { project, sourceProject, sourceBranch, targetBranch } = merge;
  const { bot, store } = instance;
  merge.mergeError = null;
  try {
    const onto = await store.resolve(project.path, `refs/heads/${targetBranch}`);
    if (onto === undefined) throw new Error(`${project.path} has no branch ${targetBranch}`);
    const before = await store.resolve(sourceProject.path, `refs/heads/${sourceBranch}`);
    const after = await store.rebaseBranch(sourceProject.path, sourceBranch, onto, bot.username);
    await recordPush(instance, sourceProject, { by: bot, branch: sourceBranch, before, after });
    await branchMoved(instance, sourceProject, sourceBranch, { by: bot });
  } catch {
    merge.mergeError = "Rebase failed. Please rebase locally";
  }
}

/** A person merges the target branch into the source branch with git, and pushes. */
export async function updateBranch(instance: Instance, merge: MergeRequest, by: string): Promise<string> {
  const { project, sourceBranch, targetBranch } = merge;
  const merging = await instance.store.resolve(project.path, `refs/heads/${targetBranch}`);
  if (merging === undefined) throw new Error(`${project.path} has no branch ${targetBranch}`);
  const message = `Merge branch '${targetBranch}' into '${sourceBranch}'`;
  return pushToHead(instance, merge, {}, { by, merging, message });
}
