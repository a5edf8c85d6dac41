import { createHash, createHmac, randomUUID, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import * as z from "zod";
import type { User } from "../../core/model/change-request.js";
import { isJsonObject } from "../../core/model/json.js";
import type { Clock } from "../../core/ports/clock.js";
import type { Log } from "../../core/ports/log.js";
import { HOSTB_TOKEN_HEADERS } from "../../names.js";
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
import { queueEvent, type Translation, type WebhookIntake, webhookRoute, type WebhookRoute } from "../webhook-route.js";

/**
 * Pure; never throws, whatever the payload's shape. The kind comes from the body, so that it depends on no header:
 * https://docs.gitlab.com/user/project/integrations/webhook_events/
 * @param delivery Our id of the delivery.
 */
export function translateGitLabEvent(delivery: string, payload: unknown): Translation {
  const kind = isJsonObject(payload) ? payload.object_kind : undefined;
  if (typeof kind !== "string") {
    return { ignored: "the event has no object_kind; custom webhook templates are not supported" };
  }
  switch (kind) {
    case "merge_request":
      return translateMergeRequest(delivery, payload);
    case "note":
      return translateNote(delivery, payload);
    case "push":
      return translatePush(payload);
    default:
      return { ignored: "events of this kind are not used" };
  }
}

/** An account in GitLab's payloads and answers. */
export const userField = z
  .object({ id: idField, username: loginField })
  .transform(({ id, username }): User => ({ id, login: username, bot: isBot(username) }));

const projectSchema = z.object({ id: idField, path_with_namespace: repositoryField });

const mergeRequestSchema = z.object({
  project: projectSchema,
  object_attributes: z.object({
    iid: numberField,
    action: z.string().nullish(),
    oldrev: z.string().nullish(),
    last_commit: z.object({ id: revisionField }).optional().catch(undefined),
  }),
  changes: z
    .object({
      target_branch: z.unknown().optional(),
      /** All that GitLab before 16.10 tells of another target branch: https://gitlab.com/gitlab-org/gitlab/-/issues/224610 */
      merge_status: z.unknown().optional(),
      draft: z.object({ previous: z.unknown(), current: z.unknown() }).nullish().catch(undefined),
      /** Newer releases send this when a reviewer requests changes. */
      reviewers: z.unknown().optional(),
    })
    .nullish()
    .catch(undefined),
});

function translateMergeRequest(delivery: string, payload: unknown): Translation {
  const parsed = mergeRequestSchema.safeParse(payload);
  if (!parsed.success) return UNREADABLE;
  const { project, object_attributes: attributes, changes } = parsed.data;
  const origin = eventOrigin(delivery, project, attributes.iid);
  switch (attributes.action ?? "") {
    case "open":
      return { ...origin, kind: "updated", reason: "opened" };
    case "reopen":
      return { ...origin, kind: "updated", reason: "reopened" };
    case "update":
      // GitLab sends `update` for titles and labels too; `oldrev` is there only when commits came.
      if (attributes.oldrev) {
        return { ...origin, kind: "updated", reason: "pushed", pushed: attributes.last_commit?.id };
      }
      if (changes?.target_branch || changes?.merge_status) return { ...origin, kind: "updated", reason: "retargeted" };
      if (changes?.draft?.previous === true && changes.draft.current === false) {
        return { ...origin, kind: "updated", reason: "ready" };
      }
      if (changes?.draft?.current === true || changes?.reviewers) return { ...origin, kind: "reviewed" };
      return { ignored: "neither commits, nor the target branch, nor the draft state, nor reviewers changed" };
    case "close":
    case "merge":
      return { ...origin, kind: "closed" };
    case "approval":
    case "approved":
    case "unapproval":
    case "unapproved":
      return { ...origin, kind: "reviewed" };
    default:
      return { ignored: "this action is not used" };
  }
}

const noteSchema = z.object({
  event_type: z.string().nullish(),
  project: projectSchema,
  user: userField,
  object_attributes: z.object({
    id: idField,
    note: commentField.nullish(),
    noteable_type: z.string().nullish(),
    author_id: idField.nullish(),
    action: z.string().nullish(),
    type: z.string().nullish(),
    position: z.unknown().optional(),
    system: z.boolean().nullish(),
    internal: z.boolean().nullish(),
    confidential: z.boolean().nullish(),
    created_at: z.string().nullish(),
    updated_at: z.string().nullish(),
  }),
  merge_request: z.object({ iid: numberField }).nullish().catch(undefined),
});

function translateNote(delivery: string, payload: unknown): Translation {
  const parsed = noteSchema.safeParse(payload);
  if (!parsed.success) return UNREADABLE;
  const { event_type, project, user, object_attributes: note, merge_request } = parsed.data;
  if (note.noteable_type !== "MergeRequest" || !merge_request) {
    return { ignored: "the comment is not on a merge request" };
  }
  if (note.system === true) return { ignored: "GitLab itself wrote the comment" };
  if (note.internal === true || note.confidential === true || event_type === "confidential_note") {
    return { ignored: "the comment is internal, and an answer would be public" };
  }
  if (note.type === "DiffNote" || (note.position !== undefined && note.position !== null)) {
    return { ignored: "comments on lines of the diff are not commands" };
  }
  if (!isNew(note)) return { ignored: "only new comments are commands" };
  if (note.author_id && note.author_id !== user.id) {
    return { ignored: "the sender is not the comment's author" };
  }
  return {
    ...eventOrigin(delivery, project, merge_request.iid),
    kind: "commented",
    commentId: note.id,
    body: note.note ?? "",
    author: user,
  };
}

/** https://docs.gitlab.com/user/project/integrations/webhook_events/#push-events: `after` is all zeros for a deleted branch. */
const pushSchema = z.object({
  ref: pushedBranchField,
  after: z.string(),
  project: projectSchema.extend({ default_branch: z.unknown() }),
});

function translatePush(payload: unknown): Translation {
  const parsed = pushSchema.safeParse(payload);
  if (!parsed.success) return UNREADABLE;
  const { ref: branch, after, project } = parsed.data;
  if (branch === undefined || /^0+$/.test(after)) return { ignored: "no branch got commits" };
  const isDefault = branch === project.default_branch;
  return { kind: "branch-pushed", host: "hostb", ...repositoryOf(project), branch, isDefault };
}

/** Before 16.11 GitLab sent no action with notes, neither for new nor for edited ones. */
function isNew(note: z.output<typeof noteSchema>["object_attributes"]): boolean {
  if (note.action !== undefined && note.action !== null) return note.action === "create";
  return Boolean(note.created_at) && note.created_at === note.updated_at;
}

/**
 * Accounts of project and group access tokens, and service accounts with the name that GitLab gives them. GitLab marks
 * no bot in its payloads: https://docs.gitlab.com/user/project/settings/project_access_tokens/#bot-users-for-projects
 */
export function isBot(username: string): boolean {
  return /^(?:project|group)_\d+_bot(?:_|\d|$)/.test(username) || username.startsWith("service_account_");
}

const UNREADABLE: Translation = { ignored: "the event lacks members that GitLab documents" };

function eventOrigin(delivery: string, project: z.output<typeof projectSchema>, number: number) {
  return { delivery, change: { host: "hostb", ...repositoryOf(project), number } } as const;
}

function repositoryOf({ id: repositoryId, path_with_namespace: repository }: z.output<typeof projectSchema>) {
  return { repository, repositoryId };
}

interface GitLabWebhookOptions extends WebhookIntake {
  /** The secret token of the webhook; needed without a signing token. */
  readonly secret: string | undefined;
  /** The webhook's signing token (GitLab 19.1 and later). If it is set, the secret token is not looked at. */
  readonly signingToken: string | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

/** The route for GitLab's webhooks. @throws {RangeError} without a usable secret or signing token. */
export function gitlabWebhook({ secret, signingToken, clock, log, ...intake }: GitLabWebhookOptions): WebhookRoute {
  if (secret === "") throw new RangeError("gitlab.webhook_secret is empty");
  const key = signingToken === undefined ? undefined : signingKey(signingToken);
  if (key === undefined && secret === undefined) {
    throw new RangeError("gitlab has neither a secret nor a signing token");
  }
  return webhookRoute(
    {
      host: "hostb",
      inspect(headers) {
        if (key !== undefined) return signatureCheck(headers, key, clock.now());
        return secret === undefined ? undefined : tokenCheck(headers, secret);
      },
      receive(headers, body, payload) {
        // A redelivery keeps its id; GitLab before 17.4 sends none. For a signed delivery only the signed id counts, or
        // an eavesdropper could replay it under another id.
        const given = headers[key === undefined ? "idempotency-key" : "webhook-id"];
        const event = translateGitLabEvent(deliveryId("hostb", given, body), payload);
        // Within a minute, an approval that was taken back and given again has the body of the first one.
        const isAlike = given === undefined && "kind" in event && event.kind === "reviewed";
        return queueEvent(isAlike ? { ...event, delivery: deliveryId("hostb", randomUUID(), body) } : event, intake);
      },
    },
    intake,
    log.child({ host: "hostb" }),
  );
}

/** The token is in a header, so nothing in the body can change the verdict. */
function tokenCheck(headers: IncomingHttpHeaders, secret: string): BodyCheck | undefined {
  const expected = digest(secret);
  const known = HOSTB_TOKEN_HEADERS.some((name) => {
    const given = headers[name];
    return typeof given === "string" && timingSafeEqual(digest(given), expected);
  });
  return known ? { update: () => undefined, passes: () => true } : undefined;
}

/** All digests have the same length, so comparing them does not reveal the length of the secret. */
function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

/** The largest difference between a delivery's timestamp and our clock. */
const MAX_AGE_MS = 5 * 60_000;
/** Required by Standard Webhooks; GitLab generates 32. */
const MIN_KEY_BYTES = 24;
const TOKEN = /^whsec_([A-Za-z0-9+/]+={0,2})$/;

/** Reads a signing token: `whsec_` and the key in base64. @throws {RangeError} if it is malformed or too short. */
export function signingKey(token: string): Buffer {
  const key = Buffer.from(TOKEN.exec(token)?.[1] ?? "", "base64");
  if (key.length < MIN_KEY_BYTES) {
    throw new RangeError("gitlab.signing_token is not a whsec_ token of 24 bytes or more");
  }
  return key;
}

/**
 * Checks the signature of a delivery. Undefined if the headers alone show that it is not signed with this key: without an
 * id, a time within five minutes of `now`, or a signature of a known form. One valid signature of several is enough (a
 * token may be changing). The signature covers id, time and bytes.
 * https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
export function signatureCheck(headers: IncomingHttpHeaders, key: Buffer, now: Date): BodyCheck | undefined {
  const id = single(headers["webhook-id"]);
  const timestamp = single(headers["webhook-timestamp"]);
  if (id === "" || !/^\d{1,12}$/.test(timestamp)) return undefined;
  if (Math.abs(now.getTime() - Number(timestamp) * 1000) > MAX_AGE_MS) return undefined;
  const given = signaturesIn(single(headers["webhook-signature"]));
  if (given.length === 0) return undefined;
  const hmac = createHmac("sha256", key).update(`${id}.${timestamp}.`);
  return {
    update: (piece) => hmac.update(piece),
    passes() {
      const expected = hmac.digest();
      return given.some((signature) => timingSafeEqual(signature, expected));
    },
  };
}

/** Signatures of version 1, the only one that svc knows. */
function signaturesIn(header: string): readonly Buffer[] {
  return header.split(" ").flatMap((signature) => {
    const encoded = /^v1,([A-Za-z0-9+/]{43}=)$/.exec(signature)?.[1];
    return encoded === undefined ? [] : [Buffer.from(encoded, "base64")];
  });
}

function single(header: IncomingHttpHeaders[string]): string {
  return typeof header === "string" ? header : "";
}
