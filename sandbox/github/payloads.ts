import { exampleMember, examplePayload, type JsonObject } from "./examples.js";
import { queueBranch } from "./merge-queue.js";
import { renderComment, renderIssue } from "./render/comment.js";
import { renderLabel, renderPull, renderReview, renderSimplePull } from "./render/pull.js";
import { renderRepository } from "./render/repository.js";
import { renderOrganization, renderUser } from "./render/user.js";
import {
  nodeId,
  type Comment,
  type Issue,
  type Person,
  type Pull,
  type QueueEntry,
  type Repository,
  type Review,
  type World,
} from "./world.js";

export type PullAction =
  | { readonly action: "opened" | "reopened" | "closed" | "ready_for_review" | "converted_to_draft" }
  | { readonly action: "enqueued" | "dequeued" | "stacked" }
  | { readonly action: "synchronize"; readonly before: string; readonly after: string }
  | { readonly action: "edited"; readonly changes: JsonObject }
  | { readonly action: "labeled"; readonly label: string };

/** Body of a `pull_request` event. */
export async function pullPayload(world: World, pull: Pull, what: PullAction, sender: Person): Promise<JsonObject> {
  // There are no examples of these. They have the members of an opened one, and an edited one has `changes`.
  const hasNone = ["edited", "enqueued", "dequeued", "stacked"].includes(what.action);
  const example = examplePayload("pull_request", hasNone ? "opened" : what.action);
  const details = what.action === "labeled" ? { label: renderLabel(world, pull, what.label) } : what;
  return {
    ...example,
    action: what.action,
    number: pull.number,
    pull_request: await renderPull(world, pull, "webhook"),
    ...details,
    ...surroundings(world, pull.repository, sender),
  };
}

/** Body of an `issue_comment` event; `previous` is the text before an edit. */
export function commentPayload(
  world: World,
  issue: Issue | Pull,
  comment: Comment,
  sender: Person,
  previous: string | undefined,
): JsonObject {
  const action = previous === undefined ? "created" : "edited";
  return {
    ...examplePayload("issue_comment", action),
    action,
    ...(previous === undefined ? {} : { changes: { body: { from: previous } } }),
    issue: renderIssue(world, issue),
    comment: renderComment(world, issue, comment),
    ...surroundings(world, issue.repository, sender),
  };
}

/** Body of a `pull_request_review` event. Its pull request lacks computed members. */
export function reviewPayload(world: World, pull: Pull, review: Review): JsonObject {
  return {
    ...examplePayload("pull_request_review", "submitted"),
    action: "submitted",
    review: renderReview(world, pull, review),
    pull_request: renderSimplePull(world, pull),
    ...surroundings(world, pull.repository, review.author),
  };
}

/** Body of a `push` event of a branch. */
export function pushPayload(
  world: World,
  repository: Repository,
  { branch, before, after }: { readonly branch: string; readonly before: string; readonly after: string },
  sender: Person,
): JsonObject {
  return {
    ...examplePayload("push", undefined),
    ref: `refs/heads/${branch}`,
    before,
    after,
    created: /^0+$/.test(before),
    deleted: false,
    forced: false,
    base_ref: null,
    commits: [],
    head_commit: null,
    pusher: { name: sender.login, email: null },
    ...surroundings(world, repository, sender),
  };
}

/** Body of a `merge_group` event: the entries after `base`, up to `last`. */
export function mergeGroupPayload(world: World, base: string, last: QueueEntry): JsonObject {
  const { repository, baseBranch } = last.pull;
  return {
    ...examplePayload("merge_group", "checks_requested"),
    merge_group: {
      ...exampleMember("merge_group", "checks_requested", "merge_group"),
      head_sha: last.headSha,
      head_ref: `refs/heads/${queueBranch(last)}`,
      base_sha: base,
      base_ref: `refs/heads/${baseBranch}`,
    },
    ...surroundings(world, repository, world.person("github-merge-queue[bot]")),
  };
}

/** Body of the `push` event of a merge into the base branch. */
export function mergePushPayload(world: World, pull: Pull, sender: Person): JsonObject {
  const after = pull.merged?.commit ?? pull.headSha;
  return pushPayload(world, pull.repository, { branch: pull.baseBranch, before: pull.baseSha, after }, sender);
}

/** Body of the `repository` event of a new name. https://docs.github.com/webhooks/webhook-events-and-payloads#repository */
export function renamedPayload(world: World, repository: Repository, from: string): JsonObject {
  const [owner = "", name = ""] = from.split("/");
  const kept = owner === repository.owner.login;
  return {
    action: kept ? "renamed" : "transferred",
    changes: kept
      ? { repository: { name: { from: name } } }
      : { owner: { from: { organization: renderOrganization(world, world.person(owner)) } } },
    ...surroundings(world, repository, repository.owner),
  };
}

function surroundings(world: World, repository: Repository, sender: Person): JsonObject {
  const installation = world.installationOf(repository.owner);
  return {
    repository: renderRepository(world, repository),
    organization: repository.owner.type === "Organization" ? renderOrganization(world, repository.owner) : undefined,
    installation: { id: installation, node_id: nodeId("IN", installation) },
    sender: renderUser(world, sender),
  };
}
