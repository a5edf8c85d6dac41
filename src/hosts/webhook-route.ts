import type { IncomingHttpHeaders } from "node:http";
import type { Request, RequestHandler } from "express";
import type { BranchPushed, HostEvent } from "../core/model/event.js";
import { isJsonObject, type JsonObject, parseJson } from "../core/model/json.js";
import type { Log } from "../core/ports/log.js";
import { type HostId, WEBHOOK_PATHS } from "../names.js";
import {
  type BodyBudget,
  type BodyCheck,
  MAX_BODY_BYTES,
  type Receipt,
  receiveBody,
  sendAnswer,
  type WebhookAnswer,
  type WebhookRefusal,
} from "./receive-body.js";

/** The event of a delivery, or why the delivery is ignored. */
export type Translation = HostEvent | BranchPushed | { readonly ignored: string };

/** Puts an event into the queue. Resolves to false if its delivery was accepted before. */
export type Push = (event: HostEvent) => Promise<boolean>;

/** What the service hands to each webhook route. */
export interface WebhookIntake {
  readonly push: Push;
  /** Called for every push to a branch; the webhook's answer does not wait for it. Never throws. */
  readonly onBranchPushed: (pushed: BranchPushed) => void;
  /** Shared by all routes. */
  readonly bodies: BodyBudget;
  readonly countRefusal: (host: HostId, reason: WebhookRefusal) => void;
}

/** One code host's side of its webhook route. */
interface WebhookSource {
  readonly host: HostId;
  /** Checks the headers before the body is read. Undefined if no body can be authentic with them. */
  inspect(headers: IncomingHttpHeaders): BodyCheck | undefined;
  /** Only translates and queues, because the sender waits. Rejects if the event could not be queued. */
  receive(headers: IncomingHttpHeaders, body: Buffer, payload: JsonObject): Promise<Receipt>;
}

export interface WebhookRoute {
  readonly path: string;
  readonly post: RequestHandler;
}

export async function queueEvent(
  event: Translation,
  { push, onBranchPushed }: Pick<WebhookIntake, "push" | "onBranchPushed">,
): Promise<Receipt> {
  if ("ignored" in event) return { kind: "ignored", reason: event.ignored };
  if (event.kind === "branch-pushed") {
    onBranchPushed(event);
    return { kind: "accepted" };
  }
  if (await push(event)) return { kind: "accepted" };
  return { kind: "ignored", reason: "this delivery was accepted before" };
}

/**
 * Checks, in this order: announced size (413), content encoding (415), what the headers show of the secret (401), room
 * for the body (503); while it arrives its size (413), its speed (408) and room again; the secret (401) and JSON (400).
 * After that the answer is always 200, since hosts switch off webhooks that fail, or 503 if the queue is closed.
 */
export function webhookRoute(source: WebhookSource, { bodies, countRefusal }: WebhookIntake, log: Log): WebhookRoute {
  const path = WEBHOOK_PATHS[source.host];
  const report = reporter(path, log);
  return {
    path,
    async post(request, response) {
      const answer = await answerDelivery(source, bodies, request);
      if (answer.kind === "refused") countRefusal(source.host, answer.reason);
      report(answer, request.ip);
      sendAnswer(answer, request, response);
    },
  };
}

async function answerDelivery(source: WebhookSource, bodies: BodyBudget, request: Request): Promise<WebhookAnswer> {
  const announced = Number(request.headers["content-length"] ?? 0);
  if (announced > MAX_BODY_BYTES) return refused("too_large");
  const encoding = request.headers["content-encoding"]?.trim().toLowerCase() ?? "identity";
  if (encoding !== "identity") return refused("encoded");
  const check = source.inspect(request.headers);
  if (check === undefined) return refused("secret");
  const share = bodies.open(request.ip, announced);
  if (share === undefined) return refused("no_room");
  try {
    const received = await receiveBody(request, { check, share, limits: bodies.limits });
    if (received.kind === "refused") return received;
    if (!check.passes()) return refused("secret");
    return await receive(source, request.headers, Buffer.concat(received.pieces));
  } finally {
    share.release();
  }
}

async function receive(source: WebhookSource, headers: IncomingHttpHeaders, body: Buffer): Promise<WebhookAnswer> {
  const payload = parseJson(body.toString("utf8"));
  if (!isJsonObject(payload)) return refused("not_json");
  try {
    return await source.receive(headers, body, payload);
  } catch (error) {
    return { kind: "refused", reason: "not_queued", cause: error };
  }
}

function refused(reason: WebhookRefusal) {
  return { kind: "refused", reason } as const;
}

/** Warnings per minute and route: strangers must not be able to fill the log. The metrics count everything. */
const MOST_WARNINGS = 60;

function reporter(path: string, log: Log): (answer: WebhookAnswer, remote: string | undefined) => void {
  let minute = 0;
  let warnings = 0;
  const mayWarn = () => {
    const now = Math.floor(performance.now() / 60_000);
    warnings = now === minute ? warnings + 1 : 1;
    minute = now;
    return warnings <= MOST_WARNINGS;
  };
  return (answer, remote) => {
    if (answer.kind === "ignored") log.debug({ path, reason: answer.reason }, "webhook ignored");
    if (answer.kind !== "refused") return;
    switch (answer.reason) {
      case "secret":
        if (mayWarn()) log.warn({ path, remote }, "webhook secret mismatch");
        return;
      case "no_room":
        if (mayWarn()) log.warn({ path, remote }, "webhook refused: other bodies leave no room for it");
        return;
      case "too_slow":
        if (mayWarn()) log.warn({ path, remote }, "webhook refused: its body came too slowly");
        return;
      case "not_queued":
        log.error({ path, err: answer.cause }, "webhook event could not be queued");
        return;
      case "too_large":
      case "encoded":
      case "cut":
      case "not_json":
        return;
    }
  };
}
