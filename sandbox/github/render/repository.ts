import { exampleMember, rewritten, type JsonObject } from "../examples.js";
import { nodeId, type Repository, type World } from "../world.js";
import { renderUser } from "./user.js";

/** A repository in webhooks. */
export function renderRepository(world: World, repository: Repository): JsonObject {
  const { fullName } = repository;
  const open = repository.pulls.size + repository.issues.size - repository.closed;
  const host = new URL(world.url).host;
  return {
    ...rewritten(exampleMember("pull_request", "opened", "repository"), [
      ["https://api.github.com/repos/Codertocat/Hello-World", `${world.apiUrl}/repos/${fullName}`],
      ["https://github.com/Codertocat/Hello-World", `${world.url}/${fullName}`],
      ["git://github.com/Codertocat/Hello-World", `git://${host}/${fullName}`],
      ["git@github.com:Codertocat/Hello-World", `git@${new URL(world.url).hostname}:${fullName}`],
    ]),
    id: repository.id,
    node_id: nodeId("R", repository.id),
    name: repository.name,
    full_name: fullName,
    private: repository.private,
    visibility: repository.private ? "private" : "public",
    owner: renderUser(world, repository.owner),
    fork: repository.parent !== undefined,
    default_branch: repository.defaultBranch,
    created_at: repository.createdAt,
    updated_at: repository.createdAt,
    pushed_at: repository.createdAt,
    open_issues: open,
    open_issues_count: open,
    has_discussions: false,
    allow_forking: true,
  };
}

/** A repository in a pull request, which includes the allowed merge methods. */
export function renderBaseRepository(world: World, repository: Repository): JsonObject {
  return {
    ...renderRepository(world, repository),
    allow_merge_commit: repository.mergeMethods.has("merge"),
    allow_squash_merge: repository.mergeMethods.has("squash"),
    allow_rebase_merge: repository.mergeMethods.has("rebase"),
    delete_branch_on_merge: false,
  };
}
