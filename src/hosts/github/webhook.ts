import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { Probot } from "probot";
import * as z from "zod";
import type { User } from "../../core/model/change-request.js";
import type { Log } from "../../core/ports/log.js";
import {
  commentField,
  deliveryId,
  idField,
  loginField,
  numberField,
  pushedBranchField,
  repositoryField,
  revisionField,
} from "../host-answer.js";
import type { BodyCheck } from "../receive-body.js";
import {
  queueEvent,
  type Receipt,
  type Translation,
  type WebhookIntake,
  webhookRoute,
  type WebhookRoute,
} from "../webhook-route.js";
import { QUEUE_BRANCHES } from "./commit-reports.js";

/** The events that the App subscribes to: https://docs.github.com/webhooks/webhook-events-and-payloads */
const SUBSCRIBED_EVENTS = ["pull_request", "issue_comment", "pull_request_review", "push", "merge_group"] as const;
type SubscribedEvent = (typeof SUBSCRIBED_EVENTS)[number];

function isSubscribed(name: string): name is SubscribedEvent {
  return (SUBSCRIBED_EVENTS as readonly string[]).includes(name);
}

/** Never throws, whatever the payload's shape. @param delivery Our id of the delivery. */
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
      return translatePush(payload);
    case "merge_group":
      return translateMergeGroup(delivery, payload);
  }
}

const repositorySchema = z.object({ id: idField, full_name: repositoryField });

const pullRequestSchema = z.object({
  action: z.string(),
  repository: repositorySchema,
  pull_request: z.object({
    number: numberField,
    head: z.object({ sha: revisionField }).optional().catch(undefined),
  }),
  changes: z.object({ base: z.unknown().optional() }).nullish().catch(undefined),
});

function translatePullRequest(delivery: string, payload: unknown): Translation {
  const parsed = pullRequestSchema.safeParse(payload);
  if (!parsed.success) return UNREADABLE;
  const { action, repository, pull_request, changes } = parsed.data;
  const origin = eventOrigin(delivery, repository, pull_request.number);
  switch (action) {
    case "opened":
      return { ...origin, kind: "updated", reason: "opened" };
    case "reopened":
      return { ...origin, kind: "updated", reason: "reopened" };
    case "synchronize":
      return { ...origin, kind: "updated", reason: "pushed", pushed: pull_request.head?.sha };
    case "ready_for_review":
      return { ...origin, kind: "updated", reason: "ready" };
    case "converted_to_draft":
    case "enqueued":
    case "dequeued":
    case "stacked":
      return { ...origin, kind: "reviewed" };
    case "edited":
      if (changes?.base === undefined || changes.base === null) return { ignored: "the base branch did not change" };
      return { ...origin, kind: "updated", reason: "retargeted" };
    case "closed":
      return { ...origin, kind: "closed" };
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
    ...eventOrigin(delivery, repository, issue.number),
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
  return { ...eventOrigin(delivery, repository, pull_request.number), kind: "reviewed" };
}

const pushSchema = z.object({
  ref: pushedBranchField,
  deleted: z.boolean().nullish(),
  repository: repositorySchema.extend({ default_branch: z.unknown() }),
});

function translatePush(payload: unknown): Translation {
  const parsed = pushSchema.safeParse(payload);
  if (!parsed.success) return UNREADABLE;
  const { ref: branch, deleted, repository } = parsed.data;
  if (branch === undefined || deleted === true) return { ignored: "no branch got commits" };
  if (branch.startsWith(QUEUE_BRANCHES)) return { ignored: "the branch belongs to a merge queue" };
  const isDefault = branch === repository.default_branch;
  return { kind: "branch-pushed", host: "hosta", ...repositoryOf(repository), branch, isDefault };
}

const mergeGroupSchema = z.object({
  action: z.string(),
  repository: repositorySchema,
  merge_group: z.object({
    head_sha: revisionField,
    base_sha: revisionField,
    head_ref: pushedBranchField,
    base_ref: pushedBranchField,
  }),
});

/** The number in the branch's name only chooses the lane: who is in the group is asked. */
function translateMergeGroup(delivery: string, payload: unknown): Translation {
  const parsed = mergeGroupSchema.safeParse(payload);
  if (!parsed.success) return UNREADABLE;
  const { action, repository, merge_group: group } = parsed.data;
  if (action !== "checks_requested") return { ignored: "this action is not used" };
  const number = numberField.safeParse(Number(/\/pr-(\d+)-[0-9a-f]+$/.exec(group.head_ref ?? "")?.[1])).data;
  if (number === undefined || group.base_ref === undefined) return UNREADABLE;
  const { head_sha: headRevision, base_sha: baseRevision, base_ref: baseBranch } = group;
  return { ...eventOrigin(delivery, repository, number), kind: "merge-group", headRevision, baseRevision, baseBranch };
}

/** People cannot register a login that ends in `[bot]`. */
export function isBot(login: string, type: string | null | undefined): boolean {
  return (type ?? "User") !== "User" || login.endsWith("[bot]");
}

const UNREADABLE: Translation = { ignored: "the event lacks members that GitHub documents" };

function eventOrigin(delivery: string, repository: z.output<typeof repositorySchema>, number: number) {
  return { delivery, change: { host: "hosta", ...repositoryOf(repository), number } } as const;
}

function repositoryOf({ id: repositoryId, full_name: repository }: z.output<typeof repositorySchema>) {
  return { repository, repositoryId };
}

interface GitHubWebhookOptions extends WebhookIntake {
  /** The secret of the App's webhook. */
  readonly secret: string;
  readonly probot: Probot;
  readonly log: Log;
}

type ProbotEvent = Parameters<Probot["receive"]>[0];

/**
 * The route for GitHub's webhooks, in front of a Probot app that translates events and queues them. Probot's own
 * middleware is not used: it has no size limit, answers 400 to a wrong signature, and 500 if a handler fails.
 * @throws {RangeError} if the secret is empty: anybody could sign then.
 */
export function githubWebhook({ secret, probot, log, ...intake }: GitHubWebhookOptions): WebhookRoute {
  if (secret === "") throw new RangeError("github.webhook_secret is empty");
  const key = createSecretKey(secret, "utf8");
  const receive = receiveThrough(probot, intake, log);
  return webhookRoute(
    {
      host: "hosta",
      inspect: (headers) => signatureCheck(key, headers["x-hub-signature-256"]),
      async receive(headers, body, payload) {
        const id = deliveryId("hosta", headers["x-github-delivery"], body);
        const event = { id, name: eventName(headers), payload };
        return isProbotEvent(event) ? receive(event) : { kind: "ignored", reason: "events of this kind are not used" };
      },
    },
    intake,
    log.child({ host: "hosta" }),
  );
}

/** Where a payload has the function that the handler reports to. */
const REPORT = Symbol("report");

/** Registers the handler of all events. Probot logs whole events with a handler's error, so it reports to its delivery and never throws. */
function receiveThrough(probot: Probot, intake: WebhookIntake, log: Log): (event: ProbotEvent) => Promise<Receipt> {
  probot.on([...SUBSCRIBED_EVENTS], ({ id, name, payload }) => {
    const { [REPORT]: report } = payload as { readonly [REPORT]?: (receipt: Promise<Receipt>) => void };
    report?.(queueEvent(translateGitHubEvent(name, id, payload), intake));
  });
  return (event) =>
    new Promise((resolve) => {
      Object.assign(event.payload, { [REPORT]: resolve });
      probot
        .receive(event)
        // Handlers never throw, so Probot itself failed. Delivering the event again would not help.
        .catch((error: unknown) => log.warn({ err: error, delivery: event.id }, "Probot could not read an event"))
        // Has no effect if the handler reported: a promise settles once.
        .finally(() => resolve({ kind: "ignored", reason: "the event is unreadable" }));
    });
}

function eventName(headers: IncomingHttpHeaders): string {
  const name = headers["x-github-event"];
  return typeof name === "string" ? name : "";
}

/** Checks the name only: the handler reads payloads through schemas of our own. */
function isProbotEvent(event: { id: string; name: string; payload: unknown }): event is ProbotEvent {
  return isSubscribed(event.name);
}

/** https://docs.github.com/webhooks/using-webhooks/validating-webhook-deliveries */
function signatureCheck(key: KeyObject, header: IncomingHttpHeaders[string]): BodyCheck | undefined {
  const given = typeof header === "string" ? /^sha256=([0-9a-f]{64})$/.exec(header)?.[1] : undefined;
  if (given === undefined) return undefined;
  const hmac = createHmac("sha256", key);
  return {
    update: (piece) => hmac.update(piece),
    passes: () => timingSafeEqual(hmac.digest(), Buffer.from(given, "hex")),
  };
}
