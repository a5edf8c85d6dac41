import { promisify } from "node:util";
import { gunzip, gunzipSync } from "node:zlib";
import { Agent, type Dispatcher, EnvHttpProxyAgent, getGlobalDispatcher } from "undici";

interface Proxies {
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

/** Sends every later request of this process through proxies, by `CONNECT`, or through none, as before the first call. */
export function useProxies(given: Proxies | undefined): void {
  if (given === undefined) return void (used = undefined);
  // undici reads the environment for what is undefined, and takes blanks for an address.
  const { httpProxy = "", httpsProxy = "", noProxy } = given;
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

/** The connections of every server that has none of its own, through the proxies. */
export function connectionsOfProcess(): Dispatcher {
  return used?.dispatcher ?? getGlobalDispatcher();
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

/** The headers of an answer by lower-case name; the values of a repeated header are joined by commas. */
export type AnswerHeaders = ReadonlyMap<string, string>;

export interface Answer {
  readonly status: number;
  readonly headers: AnswerHeaders;
  readonly text: string;
}

export interface BinaryAnswer extends Omit<Answer, "text"> {
  readonly bytes: Buffer;
  /** Whether the bytes are still gzip; see `leavePacked`. */
  readonly packed: boolean;
}

/** Fetches a whole answer within limits. @throws {AnswerTimedOut | AnswerTooLarge}, the caller's abort reason, or what `fetch` throws. */
export async function fetchText(url: string | URL, init: RequestInit, limits: AnswerLimits): Promise<Answer> {
  return within(limits, async (signal) => {
    const response = await fetch(url, proxied({ ...init, signal }));
    const decoder = new TextDecoder();
    const parts: string[] = [];
    let size = 0;
    for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
      size += chunk.byteLength;
      if (size > limits.maxBytes) throw tooLarge(limits.maxBytes);
      parts.push(decoder.decode(chunk, { stream: true }));
    }
    parts.push(decoder.decode());
    return { status: response.status, headers: new Map(response.headers), text: parts.join("") };
  });
}

function tooLarge(maxBytes: number, cause?: unknown): AnswerTooLarge {
  return new AnswerTooLarge(`more than ${maxBytes} bytes`, { cause });
}

interface DirectRequest {
  readonly url: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | undefined;
  /** A successful answer of more than a few KiB stays in gzip. Its limit then is that of the packed bytes. */
  readonly leavePacked?: boolean;
}

const unpackInThread = promisify(gunzip);
/** A packed answer of this size is unpacked right here: a thread costs more. It holds at most 4 MiB (https://zlib.net/zlib_tech.html). */
const FEW_BYTES = 4 * 1024;

/**
 * Like `fetchText`, over connections of `createDispatcher`, with a third of the CPU time of `fetch` for a small answer. Unpacks
 * gzip; does not follow redirects.
 * @throws {AnswerTimedOut | AnswerTooLarge}, the caller's abort reason, or what undici or zlib throws.
 */
export async function requestBytes(
  connections: Dispatcher,
  request: DirectRequest,
  limits: AnswerLimits,
): Promise<BinaryAnswer> {
  const { maxBytes } = limits;
  return within(limits, async (signal) => {
    const answer = await received(connections, request, maxBytes, signal);
    const { status, headers, bytes } = answer;
    if (bytes.length === 0 || headers.get("content-encoding")?.toLowerCase() !== "gzip") return answer;
    const isLeft = request.leavePacked === true && status >= 200 && status <= 299 && bytes.length > FEW_BYTES;
    return isLeft ? { ...answer, packed: true } : { ...answer, bytes: await unpacked(bytes, maxBytes) };
  });
}

async function unpacked(bytes: Buffer, maxBytes: number): Promise<Buffer> {
  const unpack = bytes.length <= FEW_BYTES ? gunzipSync : unpackInThread;
  try {
    return await unpack(bytes, { maxOutputLength: maxBytes });
  } catch (error) {
    throw isTooLong(error) ? tooLarge(maxBytes, error) : error;
  }
}

function isTooLong(error: unknown): boolean {
  return typeof error === "object" && error !== null && "code" in error && error.code === "ERR_BUFFER_TOO_LARGE";
}

function received(
  connections: Dispatcher,
  { url, method, headers, body }: DirectRequest,
  maxBytes: number,
  signal: AbortSignal,
): Promise<BinaryAnswer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    let head: Pick<BinaryAnswer, "status" | "headers">;
    const options = { origin: url.origin, path: url.pathname + url.search, method, headers, body: body ?? null };
    connections.dispatch(options, {
      onRequestStart(controller) {
        const abort = () => controller.abort(signal.reason as Error);
        // It may have waited for a connection.
        if (signal.aborted) abort();
        else signal.addEventListener("abort", abort, { once: true });
      },
      onResponseStart(_controller, status, given) {
        head = { status, headers: headersOf(given) };
      },
      onResponseData(controller, chunk) {
        size += chunk.length;
        if (size > maxBytes) controller.abort(tooLarge(maxBytes));
        else chunks.push(chunk);
      },
      onResponseEnd: () => resolve({ ...head, bytes: Buffer.concat(chunks), packed: false }),
      onResponseError: (_controller, error) => reject(error),
    });
  });
}

function headersOf(given: Readonly<Record<string, string | string[] | undefined>>): AnswerHeaders {
  return new Map(
    Object.entries(given).map(([name, value = ""]) => [name, typeof value === "string" ? value : value.join(", ")]),
  );
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

/** `Retry-After`: seconds, or an HTTP date. @returns Milliseconds from `now`, 0 for the past; undefined if unreadable. */
export function parseRetryAfter(header: string | null | undefined, now: Date): number | undefined {
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

/** Posts a text and reads only the head of the answer; follows no redirect. @throws {AnswerTimedOut}, the abort reason, or what `fetch` throws. */
export async function postText({ url, headers, body, timeoutMs, signal, now }: PostRequest): Promise<PostAnswer> {
  return within({ timeoutMs, signal }, async (stop) => {
    const response = await fetch(url, proxied({ method: "POST", headers, body, redirect: "manual", signal: stop }));
    // Closes the connection: an answer of many bytes, or of one a minute, costs nothing.
    void response.body?.cancel().catch(() => undefined);
    return { status: response.status, retryAfterMs: parseRetryAfter(response.headers.get("retry-after"), now) };
  });
}
