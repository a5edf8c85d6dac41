import { renderComment } from "../render/comment.js";
import { renderReaction } from "../render/reaction.js";
import { permits } from "../tokens.js";
import { type Comment, isPull, type Issue, type Pull, type Reaction } from "../world.js";
import { ApiError, notFound, page, type Answer, type Call, type Route } from "./call.js";

/** Longer comments are refused with 422. */
export const maximumCommentLength = 65_536;

const writing = [
  ["pull_requests", "write"],
  ["issues", "write"],
] as const;

export const commentRoutes: readonly Route[] = [
  {
    method: "get",
    template: "/repos/{owner}/{repo}/issues/{issue_number}/comments",
    caller: "installation",
    needs: [
      ["pull_requests", "read"],
      ["issues", "read"],
    ],
    handle: (call) => {
      const issue = issueOf(call);
      const since = typeof call.query.since === "string" ? Date.parse(call.query.since) : 0;
      const newer = issue.comments.filter(({ updatedAt }) => Date.parse(updatedAt) >= since);
      const { items, headers } = page(call, newer);
      return { status: 200, body: items.map((comment) => renderComment(call.world, issue, comment)), headers };
    },
  },
  {
    method: "get",
    template: "/repos/{owner}/{repo}/issues/comments",
    caller: "installation",
    needs: [
      ["pull_requests", "read"],
      ["issues", "read"],
    ],
    handle: listRepositoryComments,
  },
  {
    method: "post",
    template: "/repos/{owner}/{repo}/issues/{issue_number}/comments",
    caller: "installation",
    needs: writing,
    handle: createComment,
  },
  {
    method: "get",
    template: "/repos/{owner}/{repo}/issues/comments/{comment_id}",
    caller: "installation",
    needs: [
      ["pull_requests", "read"],
      ["issues", "read"],
    ],
    handle: (call) => {
      const found = call.world.comment(call.repository, Number(call.params.comment_id));
      if (found === undefined) throw notFound();
      return { status: 200, body: renderComment(call.world, found.issue, found.comment) };
    },
  },
  {
    method: "patch",
    template: "/repos/{owner}/{repo}/issues/comments/{comment_id}",
    caller: "installation",
    needs: writing,
    handle: editComment,
  },
  {
    method: "post",
    template: "/repos/{owner}/{repo}/issues/comments/{comment_id}/reactions",
    caller: "installation",
    needs: writing,
    handle: createReaction,
  },
];

/** Of all issues and pull requests, in the order of their ids unless `sort` says otherwise. */
function listRepositoryComments(call: Call): Answer {
  const { repository, query, world } = call;
  const since = typeof query.since === "string" ? Date.parse(query.since) : 0;
  const upwards = query.sort !== undefined && query.direction !== "asc" ? -1 : 1;
  const timeOf = ({ createdAt, updatedAt }: Comment) => Date.parse(query.sort === "updated" ? updatedAt : createdAt);
  const all = [...repository.issues.values(), ...repository.pulls.values()]
    .flatMap((issue) => issue.comments.map((comment) => ({ issue, comment })))
    .filter(({ comment }) => Date.parse(comment.updatedAt) >= since)
    .sort((one, other) => upwards * (timeOf(one.comment) - timeOf(other.comment) || one.comment.id - other.comment.id));
  const { items, headers } = page(call, all);
  return { status: 200, body: items.map(({ issue, comment }) => renderComment(world, issue, comment)), headers };
}

function createComment(call: Call): Answer {
  const { world, announce } = call;
  const issue = issueOf(call);
  const comment = world.addComment(issue, { author: world.bot, viaApp: true, body: bodyOf(call) });
  announce.comment(issue, comment, undefined);
  const body = renderComment(world, issue, comment);
  return { status: 201, body, headers: { Location: String(body.url) } };
}

function editComment(call: Call): Answer {
  const { world, repository, announce } = call;
  const found = world.comment(repository, Number(call.params.comment_id));
  if (found === undefined) throw notFound();
  if (found.comment.author !== world.bot) throw new ApiError(403, "Resource not accessible by integration");
  const previous = found.comment.body;
  found.comment.body = bodyOf(call);
  found.comment.updatedAt = world.now();
  found.comment.edited = true;
  announce.comment(found.issue, found.comment, previous);
  return { status: 200, body: renderComment(world, found.issue, found.comment) };
}

function issueOf({ repository, params }: Call): Issue | Pull {
  const number = Number(params.issue_number);
  const issue = repository.pulls.get(number) ?? repository.issues.get(number);
  if (issue === undefined) throw notFound();
  return issue;
}

function bodyOf({ body }: Call): string {
  const text = String(body.body);
  const invalid = (message: string): ApiError =>
    new ApiError(422, "Validation Failed", [
      { resource: "IssueComment", code: "unprocessable", field: "data", message },
    ]);
  if (text.trim() === "") throw invalid("Body cannot be blank");
  if (text.length > maximumCommentLength) {
    throw invalid(`Body is too long (maximum is ${maximumCommentLength} characters)`);
  }
  return text;
}

/**
 * Adds a reaction, without a webhook. Repeating a reaction returns 200 and adds nothing. GitHub's page names the permission
 * for issues, but the one for what the comment hangs from decides: https://github.com/github/docs/issues/43843
 */
function createReaction({ world, repository, params, body, token }: Call): Answer {
  const found = world.comment(repository, Number(params.comment_id));
  if (found === undefined) throw notFound();
  const needed = isPull(found.issue) ? "pull_requests" : "issues";
  if (token === undefined || !permits(token, repository, needed, "write")) {
    throw new ApiError(403, "Resource not accessible by integration");
  }
  const { reactions } = found.comment;
  const content = String(body.content);
  const known = reactions.find((one) => one.by === world.bot && one.content === content);
  if (known !== undefined) return { status: 200, body: renderReaction(world, known) };
  const reaction: Reaction = { id: world.newId(), by: world.bot, content, createdAt: world.now() };
  reactions.push(reaction);
  return { status: 201, body: renderReaction(world, reaction) };
}
