import type { IncomingHttpHeaders } from "node:http";
import type { Request, RequestHandler } from "express";
import { isJsonObject, type JsonObject } from "../core/model/json.js";
import type { Log } from "../core/ports/log.js";
import { MAX_WEBHOOK_BYTES, readBody } from "./read-body.js";

/** What became of an authentic delivery. */
export type Receipt = { readonly kind: "accepted" } | { readonly kind: "ignored"; readonly reason: string };

/** One code host's side of its webhook route. */
export interface WebhookSource {
  readonly path: string;
  /** Whether the sender knows the secret; must compare in constant time and never throw. */
  isAuthentic(headers: IncomingHttpHeaders, body: Buffer): boolean;
  /** Translates and pushes, no more: the sender is waiting for the answer. Rejects when the event could not be queued. */
  receive(headers: IncomingHttpHeaders, body: Buffer, payload: JsonObject): Promise<Receipt>;
}

/** Where a code host sends its webhooks, and what answers them. */
export interface WebhookRoute {
  readonly path: string;
  readonly post: RequestHandler;
}

/**
 * The route of a webhook. In this order: size (413), content encoding (415), secret (401), JSON object (400), and then
 * always 200, since a host may switch off a webhook that is answered with errors; 503 only when the queue is closed.
 */
export function webhookRoute(source: WebhookSource, log: Log): WebhookRoute {
  return { path: source.path, post: answerWebhook(source, log) };
}

/** Written without Express, which would digest each answer for an `ETag` that no sender of webhooks asks for. */
function answerWebhook(source: WebhookSource, log: Log): RequestHandler {
  return async (request, response) => {
    const { status, body } = await answer(source, log, request);
    const text = Buffer.from(JSON.stringify(body));
    response.writeHead(status, { "content-type": "application/json; charset=utf-8", "content-length": text.length });
    response.end(text);
  };
}

interface Answer {
  readonly status: number;
  readonly body: { readonly error: string } | { readonly status: "accepted" | "ignored"; readonly reason?: string };
}

async function answer(source: WebhookSource, log: Log, request: Request): Promise<Answer> {
  if (Number(request.headers["content-length"] ?? 0) > MAX_WEBHOOK_BYTES) return refuse(413, TOO_LARGE);
  const encoding = request.headers["content-encoding"]?.trim().toLowerCase() ?? "identity";
  if (encoding !== "identity") return refuse(415, "the webhook's body must not be compressed or otherwise encoded");
  let body: Buffer | undefined;
  try {
    body = await readBody(request, MAX_WEBHOOK_BYTES);
  } catch {
    return refuse(400, "the webhook's body ended early");
  }
  if (body === undefined) return refuse(413, TOO_LARGE);
  if (!source.isAuthentic(request.headers, body)) {
    log.warn({ path: source.path, remote: request.ip }, SECRET_MISMATCH);
    return refuse(401, SECRET_MISMATCH);
  }
  const payload = parseObject(body);
  if (payload === undefined) {
    return refuse(400, "the webhook's body is not a JSON object; set its content type to application/json");
  }
  try {
    const receipt = await source.receive(request.headers, body, payload);
    if (receipt.kind === "accepted") return { status: 200, body: { status: "accepted" } };
    log.debug({ path: source.path, reason: receipt.reason }, "webhook ignored");
    return { status: 200, body: { status: "ignored", reason: receipt.reason } };
  } catch (error) {
    log.error({ path: source.path, err: error }, "webhook event could not be queued");
    return refuse(503, "the event could not be queued; deliver it again later");
  }
}

const SECRET_MISMATCH = "webhook secret mismatch";
const TOO_LARGE = "the webhook's body is larger than 25 MB";

function refuse(status: number, error: string): Answer {
  return { status, body: { error } };
}

function parseObject(body: Buffer): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(body.toString("utf8"));
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
