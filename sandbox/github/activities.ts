import { type Activity, type Repository, type World } from "./world.js";

/** What GitHub reports in place of a commit before a branch was created. */
export const NO_COMMIT = "0".repeat(40);

/** Records what moved a branch (https://docs.github.com/rest/repos/repos#list-repository-activities). */
export function recordPush(
  world: World,
  repository: Repository,
  { branch, ...push }: Pick<Activity, "before" | "after" | "by" | "type"> & { readonly branch: string },
): void {
  repository.activities.push({ ...push, id: world.newId(), ref: `refs/heads/${branch}`, at: world.now() });
}
