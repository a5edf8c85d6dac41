import { Agent, type Dispatcher, EnvHttpProxyAgent } from "undici";

/** Addresses of the proxies that this process uses. */
export interface Proxies {
  /** Used for `http:` addresses, and for `https:` ones without `httpsProxy`. */
  readonly httpProxy: string | undefined;
  readonly httpsProxy: string | undefined;
  /** Hosts that are reached directly, between commas; each stands for its subdomains as well. */
  readonly noProxy: string;
}

interface ConnectionOptions extends Pick<Agent.Options, "headersTimeout" | "bodyTimeout" | "maxHeaderSize"> {
  /** Accepts any certificate of the server. */
  readonly insecure: boolean;
  readonly connectTimeout: number;
}

let used: { readonly proxies: Proxies; readonly dispatcher: Dispatcher } | undefined;

/** Sends every later request of this process through proxies, by `CONNECT`. Without this call there are none. */
export function useProxies({ httpProxy, httpsProxy, noProxy }: Proxies): void {
  const proxies = { httpProxy, httpsProxy, noProxy };
  used = { proxies, dispatcher: new EnvHttpProxyAgent(proxies) };
}

/** Creates connections for one server, apart from those of the process. */
export function createDispatcher({ insecure, connectTimeout, ...limits }: ConnectionOptions): Dispatcher {
  const tls = { rejectUnauthorized: !insecure, timeout: connectTimeout };
  const options = { ...limits, connect: tls };
  if (used === undefined) return new Agent(options);
  return new EnvHttpProxyAgent({ ...options, ...used.proxies, requestTls: tls, proxyTls: { timeout: connectTimeout } });
}

/** Sends a request of `fetch` through the proxies, unless it brings its own dispatcher. */
export function proxied(init: RequestInit): RequestInit {
  if (used === undefined || "dispatcher" in init) return init;
  return Object.assign({ ...init }, { dispatcher: used.dispatcher });
}

/** Ends a sentence about a failed connection; empty without proxies. */
export function proxyHint(): string {
  return used === undefined
    ? ""
    : "; svc connects through the proxy of HTTP_PROXY or HTTPS_PROXY, except to the hosts in NO_PROXY";
}

export class AnswerTooLarge extends Error {
  override readonly name = "AnswerTooLarge";
}

/** An answer did not arrive completely before its deadline. */
export class AnswerTimedOut extends Error {
  override readonly name = "AnswerTimedOut";
}

export interface AnswerLimits {
  /** Milliseconds of real time for the whole exchange, including the body. */
  readonly timeoutMs: number;
  /** Counted after decompression, so that a small compressed answer cannot fill the memory. */
  readonly maxBytes: number;
  readonly signal?: AbortSignal | null | undefined;
}

export interface Answer extends Pick<Response, "status" | "headers"> {
  readonly text: string;
}

interface BinaryAnswer extends Pick<Response, "status" | "headers"> {
  readonly bytes: Uint8Array;
}

/**
 * Fetches a whole answer within limits that hold whatever the connection does.
 * @throws {AnswerTimedOut | AnswerTooLarge}, the caller's abort reason, or what `fetch` throws.
 */
export async function fetchText(url: string | URL, init: RequestInit, limits: AnswerLimits): Promise<Answer> {
  const decoder = new TextDecoder();
  const parts: string[] = [];
  const add = (chunk: Uint8Array) => parts.push(decoder.decode(chunk, { stream: true }));
  const { status, headers } = await fetchChunks(url, init, limits, add);
  parts.push(decoder.decode());
  return { status, headers, text: parts.join("") };
}

/** Like `fetchText`, for an answer that is not text. */
export async function fetchBytes(url: string | URL, init: RequestInit, limits: AnswerLimits): Promise<BinaryAnswer> {
  const chunks: Uint8Array[] = [];
  const { status, headers } = await fetchChunks(url, init, limits, (chunk) => chunks.push(chunk));
  return { status, headers, bytes: Buffer.concat(chunks) };
}

async function fetchChunks(
  url: string | URL,
  init: RequestInit,
  limits: AnswerLimits,
  onChunk: (chunk: Uint8Array) => void,
): Promise<Response> {
  return within(limits, async (signal) => {
    const response = await fetch(url, proxied({ ...init, signal }));
    let size = 0;
    for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
      size += chunk.byteLength;
      if (size > limits.maxBytes) throw new AnswerTooLarge(`more than ${limits.maxBytes} bytes`);
      onChunk(chunk);
    }
    return response;
  });
}

/** Settles with the exchange, at its deadline or when the caller aborts, whichever is first. */
async function within<T>(
  { signal, timeoutMs }: Pick<AnswerLimits, "signal" | "timeoutMs">,
  exchange: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  // Not AbortSignal.any over AbortSignal.timeout: on Node.js 20 the pair can be collected before it fires (nodejs/node#54614).
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(new AnswerTimedOut(`no answer within ${timeoutMs} ms`)), timeoutMs);
  const onAbort = () => stop.abort(signal?.reason);
  signal?.addEventListener("abort", onAbort, { once: true });
  // Does not wait for fetch: if it is aborted between the last byte received and the last byte read, the fetch of Node.js 20
  // and 22 never settles (nodejs/undici#4089).
  const stopped = new Promise<never>((_resolve, reject) => {
    stop.signal.addEventListener("abort", () => reject(stop.signal.reason as Error), { once: true });
  });
  try {
    return await Promise.race([stopped, exchange(stop.signal)]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
  }
}

/** The answer as a `Response`, for client libraries that accept a `fetch`. */
export function responseOf({ status, headers, text }: Answer): Response {
  const hasNoBody = [204, 205, 304].includes(status);
  return new Response(hasNoBody ? null : text, { status, headers });
}

/** `Retry-After`: seconds, or an HTTP date. @returns Milliseconds from `now`, 0 for the past; undefined if unreadable. */
export function parseRetryAfter(header: string | null, now: Date): number | undefined {
  const text = header?.trim() ?? "";
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000;
  // `Date.parse` alone would read "-5" as a date.
  const date = /^[A-Z][a-z]{2}, /.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now.getTime());
}

interface PostAnswer {
  readonly status: number;
  /** The pause that the answer asks for, in milliseconds. */
  readonly retryAfterMs: number | undefined;
}

interface PostRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Milliseconds of real time until the head of the answer. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly now: Date;
}

/**
 * Posts a text and reads only the head of the answer: the body is thrown away unread. Redirects are not followed.
 * @throws {AnswerTimedOut}, the caller's abort reason, or what `fetch` throws.
 */
export async function postText({ url, headers, body, timeoutMs, signal, now }: PostRequest): Promise<PostAnswer> {
  return within({ timeoutMs, signal }, async (stop) => {
    const response = await fetch(url, proxied({ method: "POST", headers, body, redirect: "manual", signal: stop }));
    // Closes the connection: an answer of many bytes, or of one a minute, costs nothing.
    void response.body?.cancel().catch(() => undefined);
    return { status: response.status, retryAfterMs: parseRetryAfter(response.headers.get("retry-after"), now) };
  });
}
