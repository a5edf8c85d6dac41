import { exampleMember, rewritten, type JsonObject } from "../examples.js";
import { readMergeability, sizeOf } from "../mergeability.js";
import { reviewDecision } from "../reviews.js";
import { nodeId, type Issue, type Person, type Pull, type Repository, type Review, type World } from "../world.js";
import { renderBaseRepository } from "./repository.js";
import { renderUser } from "./user.js";

/** A pull request without computed members, as in review webhooks. */
export function renderSimplePull(world: World, pull: Pull): JsonObject {
  const template = exampleMember("pull_request", "opened", "pull_request");
  const api = `${world.apiUrl}/repos/${pull.repository.fullName}`;
  const members = rewritten(template, [
    ["https://api.github.com/repos/Codertocat/Hello-World/pulls/2", `${api}/pulls/${pull.number}`],
    ["https://api.github.com/repos/Codertocat/Hello-World/issues/2", `${api}/issues/${pull.number}`],
    [`https://api.github.com/repos/Codertocat/Hello-World/statuses/${exampleHead}`, `${api}/statuses/${pull.headSha}`],
    ["https://api.github.com/repos/Codertocat/Hello-World", api],
    [
      "https://github.com/Codertocat/Hello-World/pull/2",
      `${world.url}/${pull.repository.fullName}/pull/${pull.number}`,
    ],
  ]);
  const kept = Object.entries(members).filter(([name]) => !computedMembers.has(name));
  return {
    ...Object.fromEntries(kept),
    id: pull.id,
    node_id: nodeId("PR", pull.id),
    number: pull.number,
    state: pull.state,
    locked: false,
    title: pull.title,
    user: renderUser(world, pull.author),
    body: pull.body === "" ? null : pull.body,
    created_at: pull.createdAt,
    updated_at: pull.updatedAt,
    closed_at: pull.closedAt ?? null,
    merged_at: pull.merged?.at ?? null,
    merge_commit_sha: pull.merged?.commit ?? null,
    assignee: null,
    assignees: [],
    requested_reviewers: [...pull.reviewRequests].map((person) => renderUser(world, person)),
    requested_teams: [],
    labels: pull.labels.map((name) => renderLabel(world, pull, name)),
    milestone: null,
    draft: pull.draft,
    head: renderSide(world, pull.headRepository, pull.headBranch, pull.headSha),
    base: renderSide(world, pull.repository, pull.baseBranch, pull.baseSha),
    author_association: associationOf(world, pull.repository, pull.author),
    auto_merge: null,
    active_lock_reason: null,
    // https://docs.github.com/pull-requests/reference/stacked-pull-requests-apis-and-webhooks
    ...(pull.stackBase === undefined ? {} : { stack: { base: { ref: pull.stackBase, sha: pull.baseSha } } }),
  };
}

const exampleHead = "ec26c3e57ca3a959ca5aad62de7213c562f8c821";
const computedMembers = new Set([
  "merged",
  "mergeable",
  "rebaseable",
  "mergeable_state",
  "merged_by",
  "comments",
  "review_comments",
  "maintainer_can_modify",
  "commits",
  "additions",
  "deletions",
  "changed_files",
]);

/** A full pull request. Webhooks never include the mergeability; reading it over the API computes it. */
export async function renderPull(world: World, pull: Pull, reader: "api" | "webhook"): Promise<JsonObject> {
  const [size, mergeability] = await Promise.all([
    sizeOf(world, pull),
    reader === "api" ? readMergeability(world, pull) : ("unknown" as const),
  ]);
  return {
    ...renderSimplePull(world, pull),
    merged: pull.merged !== undefined,
    mergeable: mergeability === "unknown" ? null : mergeability === "mergeable",
    rebaseable: mergeability === "unknown" ? null : mergeability === "mergeable",
    mergeable_state: mergeStateOf(world, pull, mergeability),
    merged_by: pull.merged === undefined ? null : renderUser(world, pull.merged.by),
    comments: pull.comments.length,
    review_comments: 0,
    maintainer_can_modify: pull.headRepository !== pull.repository,
    ...size,
  };
}

export function mergeStateOf(world: World, pull: Pull, mergeability: "mergeable" | "conflicts" | "unknown"): string {
  if (mergeability === "unknown") return "unknown";
  if (mergeability === "conflicts") return "dirty";
  if (pull.draft) return "draft";
  const decision = reviewDecision(world, pull);
  return decision === null || decision === "APPROVED" ? "clean" : "blocked";
}

function renderSide(world: World, repository: Repository, branch: string, sha: string): JsonObject {
  return {
    label: `${repository.owner.login}:${branch}`,
    ref: branch,
    sha,
    user: renderUser(world, repository.owner),
    repo: renderBaseRepository(world, repository),
  };
}

export function renderLabel(world: World, issue: Issue, name: string): JsonObject {
  return {
    id: issue.id + issue.labels.indexOf(name),
    node_id: nodeId("LA", name),
    url: `${world.apiUrl}/repos/${issue.repository.fullName}/labels/${encodeURIComponent(name)}`,
    name,
    description: null,
    color: "ededed",
    default: false,
  };
}

/** Says little about permissions, as on GitHub: an outsider may be a CONTRIBUTOR. */
export function associationOf(world: World, repository: Repository, person: Person): string {
  if (repository.owner.login === person.login) return "OWNER";
  if (world.mayWrite(repository, person)) return "COLLABORATOR";
  return repository.contributors.has(person) ? "CONTRIBUTOR" : "NONE";
}

/** A review in a webhook, with the state in lower case. */
export function renderReview(world: World, pull: Pull, review: Review): JsonObject {
  const html = `${world.url}/${pull.repository.fullName}/pull/${pull.number}#pullrequestreview-${review.id}`;
  const url = `${world.apiUrl}/repos/${pull.repository.fullName}/pulls/${pull.number}`;
  return {
    id: review.id,
    node_id: nodeId("PRR", review.id),
    user: renderUser(world, review.author),
    body: null,
    state: review.state.toLowerCase(),
    html_url: html,
    pull_request_url: url,
    author_association: associationOf(world, pull.repository, review.author),
    _links: { html: { href: html }, pull_request: { href: url } },
    submitted_at: review.submittedAt,
    commit_id: review.commit,
  };
}
