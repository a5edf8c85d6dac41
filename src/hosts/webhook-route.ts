import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { Request, RequestHandler } from "express";
import type { BranchPushed, HostEvent } from "../core/model/event.js";
import { isJsonObject, type JsonObject, parseJson } from "../core/model/json.js";
import type { Log } from "../core/ports/log.js";
import { type HostId, WEBHOOK_PATHS } from "../names.js";
import { type BodyBudget, type BodyCheck, costOfPiece, MAX_BODY_BYTES, receiveBody } from "./receive-body.js";

/** What became of an authentic delivery. */
export type Receipt = { readonly kind: "accepted" } | { readonly kind: "ignored"; readonly reason: string };

/** Why a delivery was refused, as the metrics name it. `cut`: its sender left before the end. */
export type WebhookRefusal =
  | "too_large"
  | "encoded"
  | "secret"
  | "no_room"
  | "too_slow"
  | "cut"
  | "not_json"
  | "not_queued";

interface Refused {
  readonly kind: "refused";
  readonly reason: WebhookRefusal;
  /** The error behind it, for the log. */
  readonly cause?: unknown;
}

type WebhookAnswer = Receipt | Refused;

/** The event of a delivery, or why the delivery is ignored. */
export type Translation = HostEvent | BranchPushed | { readonly ignored: string };

/** Puts an event into the queue. Resolves to false if its delivery was accepted before. */
type Push = (event: HostEvent) => Promise<boolean>;

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

const REFUSALS: Readonly<Record<WebhookRefusal, readonly [status: number, error: string]>> = {
  too_large: [413, "the webhook's body is larger than 25 MB"],
  encoded: [415, "the webhook's body must not be compressed or otherwise encoded"],
  secret: [401, "webhook secret mismatch"],
  no_room: [503, "the bodies of other webhooks leave no room for this one; deliver it again later"],
  too_slow: [408, "the webhook's body came too slowly"],
  cut: [400, "the webhook's body ended early"],
  not_json: [400, "the webhook's body is not a JSON object; set its content type to application/json"],
  not_queued: [503, "the event could not be queued; deliver it again later"],
};

/** When a refused delivery may be sent again: other bodies are gone by then, since none may take longer. */
const RETRY_AFTER_SECONDS = "10";

/** What is read and thrown away of a body after its refusal, in bytes and milliseconds. */
const LINGER_BYTES = 1024 * 1024;
const LINGER_MS = 2_000;

/** Does not answer through Express, which would compute an `ETag` for every answer. */
function sendAnswer(answer: WebhookAnswer, request: IncomingMessage, response: ServerResponse): void {
  if (response.destroyed) return;
  const [status, body] = statusAndBody(answer);
  const text = Buffer.from(JSON.stringify(body));
  const headers: OutgoingHttpHeaders = {
    "content-type": "application/json; charset=utf-8",
    "content-length": text.length,
  };
  if (status === 503) headers["retry-after"] = RETRY_AFTER_SECONDS;
  if (request.complete) response.writeHead(status, headers).end(text);
  else answerEarly(request, response.writeHead(status, { ...headers, connection: "close" }), text);
}

function statusAndBody(answer: WebhookAnswer): readonly [status: number, body: object] {
  switch (answer.kind) {
    case "accepted":
      return [200, { status: "accepted" }];
    case "ignored":
      return [200, { status: "ignored", reason: answer.reason }];
    case "refused": {
      const [status, error] = REFUSALS[answer.reason];
      return [status, { error }];
    }
  }
}

/** Answers before the whole body came, then closes the connection, but not at once: unread bytes would end it in a reset that hides the answer. */
function answerEarly(request: IncomingMessage, response: ServerResponse, text: Buffer): void {
  response.write(text);
  let discarded = 0;
  // Node.js closes the connection after the end of this answer.
  const close = () => {
    clearTimeout(timer);
    response.end();
  };
  const timer = setTimeout(close, LINGER_MS);
  request.on("data", (piece: Buffer) => {
    discarded += costOfPiece(piece.length);
    if (discarded > LINGER_BYTES) close();
  });
  request.once("end", close);
  request.once("close", close);
}
