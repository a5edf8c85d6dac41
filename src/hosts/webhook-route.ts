import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { Request, RequestHandler } from "express";
import type { HostEvent } from "../core/model/event.js";
import { isJsonObject, type JsonObject, parseJson } from "../core/model/json.js";
import type { Log } from "../core/ports/log.js";

/** The event of a delivery, or why the delivery is ignored. */
export type Translation = HostEvent | { readonly ignored: string };

/** Puts an event into the queue. Resolves to false if its delivery was accepted before. */
export type Push = (event: HostEvent) => Promise<boolean>;

export type Receipt = { readonly kind: "accepted" } | { readonly kind: "ignored"; readonly reason: string };

/** One code host's side of its webhook route. */
export interface WebhookSource {
  readonly path: string;
  /** Whether the sender knows the secret. Must compare in constant time and never throw. */
  isAuthentic(headers: IncomingHttpHeaders, body: Buffer): boolean;
  /** Only translates and queues, because the sender waits. Rejects if the event could not be queued. */
  receive(headers: IncomingHttpHeaders, body: Buffer, payload: JsonObject): Promise<Receipt>;
}

export interface WebhookRoute {
  readonly path: string;
  readonly post: RequestHandler;
}

export async function queueEvent(event: Translation, push: Push): Promise<Receipt> {
  if ("ignored" in event) return { kind: "ignored", reason: event.ignored };
  if (await push(event)) return { kind: "accepted" };
  return { kind: "ignored", reason: "this delivery was accepted before" };
}

/**
 * Checks, in this order: size (413), content encoding (415), secret (401), JSON object (400). After that the answer is
 * always 200, since hosts switch off webhooks that fail, or 503 if the queue is closed. Does not answer through
 * Express, which would compute an `ETag` for every answer.
 */
export function webhookRoute(source: WebhookSource, log: Log): WebhookRoute {
  return {
    path: source.path,
    async post(request, response) {
      const { status, body } = await answer(source, log, request);
      const text = Buffer.from(JSON.stringify(body));
      response.writeHead(status, { "content-type": "application/json; charset=utf-8", "content-length": text.length });
      response.end(text);
    },
  };
}

interface Answer {
  readonly status: number;
  readonly body: { readonly error: string } | { readonly status: "accepted" | "ignored"; readonly reason?: string };
}

async function answer(source: WebhookSource, log: Log, request: Request): Promise<Answer> {
  if (Number(request.headers["content-length"] ?? 0) > MAX_BYTES) return refuse(413, TOO_LARGE);
  const encoding = request.headers["content-encoding"]?.trim().toLowerCase() ?? "identity";
  if (encoding !== "identity") return refuse(415, "the webhook's body must not be compressed or otherwise encoded");
  let body: Buffer | undefined;
  try {
    body = await readBody(request);
  } catch {
    return refuse(400, "the webhook's body ended early");
  }
  if (body === undefined) return refuse(413, TOO_LARGE);
  if (!source.isAuthentic(request.headers, body)) {
    log.warn({ path: source.path, remote: request.ip }, SECRET_MISMATCH);
    return refuse(401, SECRET_MISMATCH);
  }
  const payload = parseJson(body.toString("utf8"));
  if (!isJsonObject(payload)) {
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

/** Both hosts send at most 25 MB. */
const MAX_BYTES = 25 * 1024 * 1024;

function refuse(status: number, error: string): Answer {
  return { status, body: { error } };
}

/**
 * Reads the raw bytes of a request. Stops as soon as there are too many, whatever the headers promised, and resolves to
 * undefined; Express's own reader would read an oversized body to the end first. Rejects if the request ends early.
 */
function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const take = (chunk: Buffer) => {
      size += chunk.length;
      if (size <= MAX_BYTES) {
        chunks.push(chunk);
        return;
      }
      request.off("data", take).pause();
      resolve(undefined);
    };
    request.on("data", take);
    request.once("end", () => resolve(Buffer.concat(chunks, size)));
    request.on("error", reject);
    request.once("close", () => {
      // Not created after a complete request: the stack trace of an error is costly.
      if (!request.readableEnded) reject(new Error("the request ended early"));
    });
  });
}
