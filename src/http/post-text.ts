import { AnswerTimedOut, parseRetryAfter } from "./fetch-text.js";
import { proxied } from "./proxy.js";

/** What the head of an answer says. */
export interface PostAnswer {
  readonly status: number;
  /** Milliseconds; undefined if the answer does not ask for a pause. */
  readonly retryAfterMs: number | undefined;
}

export interface PostRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Milliseconds of real time until the head of the answer. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly now: Date;
}

/**
 * Posts a text, and looks at nothing but the head of the answer: its body is thrown away unread. A redirect is an answer like any
 * other: it is not followed.
 * @throws {AnswerTimedOut}, the caller's abort reason, or what `fetch` throws.
 */
export async function postText({ url, headers, body, timeoutMs, signal, now }: PostRequest): Promise<PostAnswer> {
  signal.throwIfAborted();
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(new AnswerTimedOut(`no answer within ${timeoutMs} ms`)), timeoutMs);
  const onAbort = () => stop.abort(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  // `fetchChunks` says why it does not wait for fetch.
  const stopped = new Promise<never>((_resolve, reject) => {
    stop.signal.addEventListener("abort", () => reject(stop.signal.reason as Error), { once: true });
  });
  try {
    const init: RequestInit = { method: "POST", headers, body, redirect: "manual", signal: stop.signal };
    const response = await Promise.race([stopped, fetch(url, proxied(init))]);
    // Closes the connection: an answer of many bytes, or of one a minute, costs nothing.
    void response.body?.cancel().catch(() => undefined);
    return { status: response.status, retryAfterMs: parseRetryAfter(response.headers.get("retry-after"), now) };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}
