import type { Instance } from "../model/instance.js";
import type { Person } from "../model/people.js";
import type { Project } from "../model/project.js";
import { projectBody, repositoryBody } from "./project-body.js";

/** Sends a "Push Hook" (https://docs.gitlab.com/user/project/integrations/webhook_events/#push-events). */
export async function sendPushHook(
  instance: Instance,
  project: Project,
  branch: string,
  by: Person | undefined,
): Promise<void> {
  // Only projects that the webhook is set on send it.
  if (project.forkOf !== undefined) return;
  const after = await instance.store.resolve(project.path, `refs/heads/${branch}`);
  instance.hooks.send("Push Hook", {
    object_kind: "push",
    event_name: "push",
    before: "0".repeat(40),
    after: after ?? "0".repeat(40),
    ref: `refs/heads/${branch}`,
    ref_protected: project.protectedBranches.has(branch),
    checkout_sha: after ?? null,
    user_id: by?.id ?? null,
    user_username: by?.username ?? null,
    project_id: project.id,
    project: projectBody(instance, project),
    commits: [],
    total_commits_count: 1,
    repository: repositoryBody(instance, project),
  });
}
