import * as z from "zod";
import type { User } from "../../core/model/change-request.js";
import {
  commentField,
  idField,
  loginField,
  numberField,
  pushedBranchField,
  repositoryField,
} from "../payload-fields.js";
import type { Translation } from "../webhook-route.js";

/** The events that the App subscribes to: https://docs.github.com/webhooks/webhook-events-and-payloads */
export const SUBSCRIBED_EVENTS = ["pull_request", "issue_comment", "pull_request_review", "push"] as const;
type SubscribedEvent = (typeof SUBSCRIBED_EVENTS)[number];

export function isSubscribed(name: string): name is SubscribedEvent {
  return (SUBSCRIBED_EVENTS as readonly string[]).includes(name);
}

/**
 * Pure; never throws, whatever the payload's shape.
 * @param delivery Our id of the delivery.
 */
export function translateGitHubEvent(name: string, delivery: string, payload: unknown): Translation {
  if (!isSubscribed(name)) return { ignored: "events of this kind are not used" };
  switch (name) {
    case "pull_request":
      return translatePullRequest(delivery, payload);
    case "issue_comment":
      return translateComment(delivery, payload);
    case "pull_request_review":
      return translateReview(delivery, payload);
    case "push":
      return translatePush(delivery, payload);
  }
}

const repositorySchema = z.object({ full_name: repositoryField });

const pullRequestSchema = z.object({
  action: z.string(),
  repository: repositorySchema,
  pull_request: z.object({ number: numberField, merged: z.boolean().nullish() }),
  changes: z.object({ base: z.unknown().optional() }).nullish().catch(undefined),
});

function translatePullRequest(delivery: string, payload: unknown): Translation {
  const parsed = pullRequestSchema.safeParse(payload);
  if (!parsed.success) return UNREADABLE;
  const { action, repository, pull_request, changes } = parsed.data;
  const origin = eventOrigin(delivery, repository.full_name, pull_request.number);
  switch (action) {
    case "opened":
      return { ...origin, kind: "updated", reason: "opened" };
    case "reopened":
      return { ...origin, kind: "updated", reason: "reopened" };
    case "synchronize":
      return { ...origin, kind: "updated", reason: "pushed" };
    case "ready_for_review":
      return { ...origin, kind: "updated", reason: "ready" };
    case "edited":
      if (changes?.base === undefined || changes.base === null) return { ignored: "the base branch did not change" };
      return { ...origin, kind: "updated", reason: "retargeted" };
    case "closed":
      return { ...origin, kind: "closed", merged: pull_request.merged === true };
    default:
      return { ignored: "this action is not used" };
  }
}

/** An account in GitHub's payloads and answers. */
export const userField = z
  .object({ id: idField, login: loginField, type: z.string().nullish() })
  .transform(({ id, login, type }): User => ({ id, login, bot: isBot(login, type) }));

const commentSchema = z.object({
  action: z.string(),
  repository: repositorySchema,
  issue: z.object({ number: numberField, pull_request: z.unknown().optional() }),
  comment: z.object({
    id: idField,
    body: commentField.nullish(),
    user: userField.nullish(),
  }),
});

function translateComment(delivery: string, payload: unknown): Translation {
  const parsed = commentSchema.safeParse(payload);
  if (!parsed.success) return UNREADABLE;
  const { action, repository, issue, comment } = parsed.data;
  if (action !== "created") return { ignored: "only new comments are commands" };
  if (issue.pull_request === undefined || issue.pull_request === null) {
    return { ignored: "the comment is on an issue, not on a pull request" };
  }
  if (!comment.user) return { ignored: "the comment's account was deleted" };
  return {
    ...eventOrigin(delivery, repository.full_name, issue.number),
    kind: "commented",
    commentId: comment.id,
    body: comment.body ?? "",
    author: comment.user,
  };
}

const reviewSchema = z.object({
  action: z.string(),
  repository: repositorySchema,
  pull_request: z.object({ number: numberField }),
});

function translateReview(delivery: string, payload: unknown): Translation {
  const parsed = reviewSchema.safeParse(payload);
  if (!parsed.success) return UNREADABLE;
  const { action, repository, pull_request } = parsed.data;
  if (!["submitted", "dismissed", "edited"].includes(action)) return { ignored: "this action is not used" };
  return { ...eventOrigin(delivery, repository.full_name, pull_request.number), kind: "reviewed" };
}

const pushSchema = z.object({ ref: pushedBranchField, deleted: z.boolean().nullish(), repository: repositorySchema });

function translatePush(delivery: string, payload: unknown): Translation {
  const parsed = pushSchema.safeParse(payload);
  if (!parsed.success) return UNREADABLE;
  const { ref: branch, deleted, repository } = parsed.data;
  if (branch === undefined || deleted === true) return { ignored: "no branch got commits" };
  return { kind: "branch-pushed", delivery, host: "hosta", repository: repository.full_name, branch };
}

/** People cannot register a login that ends in `[bot]`. */
export function isBot(login: string, type: string | null | undefined): boolean {
  return (type ?? "User") !== "User" || login.endsWith("[bot]");
}

const UNREADABLE: Translation = { ignored: "the event lacks members that GitHub documents" };

function eventOrigin(delivery: string, repository: z.output<typeof repositoryField>, number: number) {
  return { delivery, change: { host: "hosta", repository, number } } as const;
}
