import { exampleMember, rewritten, type JsonObject } from "../examples.js";
import { isPull, nodeId, type Comment, type Issue, type Pull, type World } from "../world.js";
import { associationOf, renderLabel } from "./pull.js";
import { reactionRollup } from "./reaction.js";
import { renderApp, renderUser } from "./user.js";

export function renderComment(world: World, issue: Issue | Pull, comment: Comment): JsonObject {
  const { fullName } = issue.repository;
  const url = `${world.apiUrl}/repos/${fullName}/issues/comments/${comment.id}`;
  const page = `${world.url}/${fullName}/${isPull(issue) ? "pull" : "issues"}/${issue.number}`;
  return {
    url,
    html_url: `${page}#issuecomment-${comment.id}`,
    issue_url: `${world.apiUrl}/repos/${fullName}/issues/${issue.number}`,
    id: comment.id,
    node_id: nodeId("IC", comment.id),
    user: renderUser(world, comment.author),
    created_at: comment.createdAt,
    updated_at: comment.updatedAt,
    author_association: associationOf(world, issue.repository, comment.author),
    performed_via_github_app: comment.viaApp ? renderApp(world) : null,
    body: comment.body,
    reactions: reactionRollup(`${url}/reactions`, comment.reactions),
  };
}

/** The issue of an `issue_comment` event; a pull request has the member `pull_request`. */
export function renderIssue(world: World, issue: Issue | Pull): JsonObject {
  const { fullName } = issue.repository;
  const api = `${world.apiUrl}/repos/${fullName}`;
  const page = `${world.url}/${fullName}`;
  const members = rewritten(exampleMember("issue_comment", "created", "issue"), [
    ["https://api.github.com/repos/Codertocat/Hello-World/issues/1", `${api}/issues/${issue.number}`],
    ["https://api.github.com/repos/Codertocat/Hello-World", api],
  ]);
  const path = isPull(issue) ? "pull" : "issues";
  return {
    ...members,
    html_url: `${page}/${path}/${issue.number}`,
    id: issue.id,
    node_id: nodeId(isPull(issue) ? "PR" : "I", issue.id),
    number: issue.number,
    title: issue.title,
    user: renderUser(world, issue.author),
    labels: issue.labels.map((name) => renderLabel(world, issue, name)),
    state: issue.state,
    assignee: null,
    assignees: [],
    milestone: null,
    comments: issue.comments.length,
    created_at: issue.createdAt,
    updated_at: issue.updatedAt,
    closed_at: issue.closedAt ?? null,
    author_association: associationOf(world, issue.repository, issue.author),
    body: null,
    reactions: reactionRollup(`${api}/issues/${issue.number}/reactions`, []),
    performed_via_github_app: null,
    state_reason: null,
    ...(isPull(issue)
      ? {
          draft: issue.draft,
          pull_request: {
            url: `${api}/pulls/${issue.number}`,
            html_url: `${page}/pull/${issue.number}`,
            diff_url: `${page}/pull/${issue.number}.diff`,
            patch_url: `${page}/pull/${issue.number}.patch`,
            merged_at: issue.merged?.at ?? null,
          },
        }
      : {}),
  };
}
