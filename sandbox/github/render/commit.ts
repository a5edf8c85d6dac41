import type { ChangedPath } from "../../git/changed-paths.js";
import type { CommitFacts } from "../../git/commit-log.js";
import type { JsonObject } from "../examples.js";
import { nodeId, type Repository, type World } from "../world.js";
import { renderUser } from "./user.js";

export function renderCommit(world: World, repository: Repository, commit: CommitFacts): JsonObject {
  const api = `${world.apiUrl}/repos/${repository.fullName}`;
  const page = `${world.url}/${repository.fullName}`;
  const account = (email: string): JsonObject | null => {
    const person = world.accountOf(email);
    return person === undefined ? null : renderUser(world, person);
  };
  return {
    sha: commit.id,
    node_id: nodeId("C", commit.id),
    commit: {
      author: { name: commit.author, email: commit.email, date: commit.date },
      committer: { ...commit.committer, date: commit.date },
      message: commit.message,
      tree: { sha: commit.tree, url: `${api}/git/trees/${commit.tree}` },
      url: `${api}/git/commits/${commit.id}`,
      comment_count: 0,
      verification: { verified: false, reason: "unsigned", signature: null, payload: null, verified_at: null },
    },
    url: `${api}/commits/${commit.id}`,
    html_url: `${page}/commit/${commit.id}`,
    comments_url: `${api}/commits/${commit.id}/comments`,
    author: account(commit.email),
    committer: account(commit.committer.email),
    parents: commit.parents.map((sha) => ({ sha, url: `${api}/commits/${sha}`, html_url: `${page}/commit/${sha}` })),
  };
}

export function renderChangedFile(world: World, repository: Repository, head: string, file: ChangedPath): JsonObject {
  const path = file.path.split("/").map(encodeURIComponent).join("/");
  const page = `${world.url}/${repository.fullName}`;
  return {
    sha: file.blob,
    filename: file.path,
    status: file.status,
    additions: file.additions,
    deletions: file.deletions,
    changes: file.additions + file.deletions,
    blob_url: `${page}/blob/${head}/${path}`,
    raw_url: `${page}/raw/${head}/${path}`,
    contents_url: `${world.apiUrl}/repos/${repository.fullName}/contents/${path}?ref=${head}`,
    ...(file.previous === undefined ? {} : { previous_filename: file.previous }),
  };
}
