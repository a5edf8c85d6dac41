import { createHmac } from "node:crypto";
import { errorCode } from "../config/files.js";
import type { NotificationReceiver } from "../config/server/server.js";
import type { Clock } from "../core/ports/clock.js";
import type { Delivery, OutboxOptions } from "../core/ports/notifications.js";
import { AnswerTimedOut, postText } from "../http/fetch-text.js";
import { SERVICE } from "../names.js";

/** Real time until a receiver has to answer, in milliseconds. */
const ANSWER_WITHIN_MS = 15_000;

/** One attempt to deliver a message. Its problems name neither the address, which may be a secret, nor what was answered. */
export function createDelivery(
  receivers: readonly NotificationReceiver[],
  { clock, timeoutMs = ANSWER_WITHIN_MS }: { readonly clock: Clock; readonly timeoutMs?: number },
): OutboxOptions["deliver"] {
  const byName = new Map(receivers.map((receiver) => [receiver.name, receiver]));
  return async (message, signal): Promise<Delivery> => {
    const receiver = byName.get(message.receiver);
    if (receiver === undefined) return failed("is not in the server's file any more");
    const { url, secret } = receiver;
    const now = clock.now();
    const signed = secret === undefined ? {} : signatureHeaders(message, secret, now);
    const headers = { "content-type": "application/json", "user-agent": SERVICE, ...signed };
    try {
      const { status, retryAfterMs } = await postText({ url, headers, body: message.body, timeoutMs, signal, now });
      if (status >= 200 && status < 300) return { kind: "delivered" };
      const what = status >= 300 && status < 400 ? ", a redirect, which is not followed" : "";
      return failed(`answered ${status}${what}`, retryAfterMs);
    } catch (error) {
      if (error instanceof AnswerTimedOut) return failed(`did not answer within ${timeoutMs / 1000} s`);
      return failed(`cannot be reached (${causeOf(error)})`);
    }
  };
}

function failed(problem: string, retryAfterMs?: number): Delivery {
  return { kind: "failed", problem, retryAfterMs };
}

/** `fetch` wraps what happened to the connection. Its messages may quote the address. */
function causeOf(error: unknown): string {
  const wrapped = typeof error === "object" && error !== null && "cause" in error ? error.cause : undefined;
  return errorCode(wrapped ?? error) ?? "unknown reason";
}

/** The headers that sign an attempt: https://www.standardwebhooks.com */
export function signatureHeaders(
  { id, body }: { readonly id: string; readonly body: string },
  secret: string,
  now: Date,
): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(now.getTime() / 1000));
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  const signature = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
  return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": `v1,${signature}` };
}
