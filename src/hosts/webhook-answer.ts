import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import { costOfPiece } from "./body-budget.js";

/** What became of an authentic delivery. */
export type Receipt = { readonly kind: "accepted" } | { readonly kind: "ignored"; readonly reason: string };

/** Why a delivery was refused, as the metrics name it. `cut`: its sender left before the end. */
export type WebhookRefusal =
  "too_large" | "encoded" | "secret" | "no_room" | "too_slow" | "cut" | "not_json" | "not_queued";

export interface Refused<Reason extends WebhookRefusal = WebhookRefusal> {
  readonly kind: "refused";
  readonly reason: Reason;
  /** The error behind it, for the log. */
  readonly cause?: unknown;
}

export type WebhookAnswer = Receipt | Refused;

/** The status and text of each refusal. */
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
export function sendAnswer(answer: WebhookAnswer, request: IncomingMessage, response: ServerResponse): void {
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

/**
 * Answers before the whole body came, then closes the connection. Not at once: many senders write the whole body before
 * they read, and with bytes still unread the connection would end in a reset that hides the answer.
 */
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
