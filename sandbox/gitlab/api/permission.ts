import type { Instance } from "../model/instance.js";
import type { MergeRequest } from "../model/merge-request.js";

/**
 * Maintainers may merge into protected branches, Developers into others
 * (https://docs.gitlab.com/user/project/repository/branches/protected/).
 */
export function mayMerge(instance: Instance, merge: MergeRequest): boolean {
  const level = merge.project.members.get(instance.bot.id) ?? 0;
  return level >= (merge.project.protectedBranches.has(merge.targetBranch) ? 40 : 30);
}
