import { HostFailure } from "../core/model/errors.js";
import { parseJson } from "../core/model/json.js";
import type { Clock } from "../core/ports/clock.js";
import { type Answer, AnswerTimedOut, AnswerTooLarge, fetchText, proxyHint, responseOf } from "../http/fetch-text.js";
import { type FailureWords, isRateLimited, pauseAskedFor } from "./host-answer.js";
import { REPORTED_WAIT_MS, type ReportedWait } from "./limit-waits.js";

interface HostRequest {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
  readonly signal?: AbortSignal | null;
}

export type HostFetch = (address: string | URL, request?: HostRequest) => Promise<Response>;

interface HostFetchOptions {
  readonly words: FailureWords;
  /** The only origin that receives requests, and so the credentials. */
  readonly origin: string;
  readonly clock: Clock;
  /** Deadline of one attempt, in milliseconds of real time. */
  readonly requestTimeoutMs: number;
  /** Whether the request changes nothing. Writes are repeated only after the rate limit, when nothing was done. */
  readonly isRead: RequestTest;
  /** GitHub answers 301 within its own origin for a renamed repository; reads follow that. */
  readonly followsOwnRedirects: boolean;
  /** Reports a wait of more than ten seconds that the host asked for. */
  readonly waits: (until: Date) => ReportedWait;
  /** Called with the headers of every answer. */
  readonly onAnswer?: (headers: Headers) => void;
}

type RequestTest = (method: string, url: URL, body: string | undefined) => boolean;

/** A comparison of two commits on GitHub may carry the patches of 300 files. */
const MAX_ANSWER_BYTES = 32 * 1024 * 1024;
const MAX_TRIES = 3;
const MAX_REDIRECTS = 3;
const MAX_RETRY_AFTER_MS = 60_000;

/**
 * A `fetch` for a code host's client library. It reads answers completely, limits their size and checks that successful
 * ones are JSON. It returns statuses of 400 and above, which the library turns into errors.
 * @returns A function that throws `HostFailure` (unreachable, or an unusable answer), or the signal's reason.
 */
export function createHostFetch(options: HostFetchOptions): HostFetch {
  const { clock, onAnswer } = options;
  const writes = createHolds(options);
  return async (address, request = {}) => {
    const url = new URL(address);
    const method = (request.method ?? "GET").toUpperCase();
    const signal = request.signal ?? undefined;
    const reads = options.isRead(method, url, request.body);
    const credentials = request.headers?.authorization ?? "";
    for (let attempt = 1; ; attempt += 1) {
      if (!reads) await writes.pass(credentials, signal);
      const outcome = await tryOnce(options, { url, method, reads, request });
      if (outcome instanceof Response) onAnswer?.(outcome.headers);
      const pause = attempt < MAX_TRIES ? pauseBeforeRetry(outcome, { attempt, reads, now: clock.now() }) : undefined;
      if (pause === undefined) {
        if (outcome instanceof Response) return outcome;
        throw outcome;
      }
      if (reads) await clock.sleep(pause, signal);
      else writes.hold(credentials, pause);
    }
  };
}

/** After a write was refused by the host's limit, all writes with the same credentials wait as long as the host asked. */
function createHolds({ clock, waits }: HostFetchOptions) {
  /** The end of the wait in milliseconds since 1970, by credentials. */
  const heldUntil = new Map<string, number>();
  const now = () => clock.now().getTime();
  return {
    hold(credentials: string, ms: number): void {
      for (const [one, until] of heldUntil) if (until <= now()) heldUntil.delete(one);
      heldUntil.set(credentials, Math.max(heldUntil.get(credentials) ?? 0, now() + ms));
    },
    async pass(credentials: string, signal: AbortSignal | undefined): Promise<void> {
      for (let until = heldUntil.get(credentials) ?? 0; until > now(); until = heldUntil.get(credentials) ?? 0) {
        const reported = until - now() > REPORTED_WAIT_MS ? waits(new Date(until)) : undefined;
        await clock.sleep(until - now(), signal).finally(() => reported?.end());
      }
    },
  };
}

/** Milliseconds until the next attempt; undefined if there is none. `attempt` 1 is the first. */
function pauseBeforeRetry(
  outcome: Response | HostFailure,
  { attempt, reads, now }: { readonly attempt: number; readonly reads: boolean; readonly now: Date },
): number | undefined {
  // Random, so that requests that failed together do not return together.
  const backOff = Math.round(500 * 2 ** (attempt - 1) * (1 + Math.random() / 2));
  if (!(outcome instanceof Response)) return reads ? backOff : undefined;
  const { status, headers } = outcome;
  const answer = { status, headers: Object.fromEntries(headers) };
  const limited = isRateLimited(answer);
  if (!limited && (!reads || status < 500)) return undefined;
  const asked = pauseAskedFor(answer, now);
  if (asked === undefined) return limited ? undefined : backOff;
  return asked <= MAX_RETRY_AFTER_MS ? Math.max(asked, backOff) : undefined;
}

interface OneTry {
  readonly url: URL;
  readonly method: string;
  readonly reads: boolean;
  readonly request: HostRequest;
}

/** Sends a request. @returns The answer, or the failed connection that is worth another attempt. @throws {HostFailure} */
async function tryOnce(
  options: HostFetchOptions,
  { url: start, method, reads, request }: OneTry,
): Promise<Response | HostFailure> {
  const { words } = options;
  const maybeDone = !reads;
  const deadline = performance.now() + options.requestTimeoutMs;
  try {
    let url = start;
    for (let redirects = 0; ; redirects += 1) {
      refuseForeignOrigin(options, url);
      const timeoutMs = Math.max(1, deadline - performance.now());
      const init: RequestInit = { method, headers: request.headers, body: request.body, redirect: "manual" };
      const limits = { timeoutMs, maxBytes: MAX_ANSWER_BYTES, signal: request.signal };
      const answer = await fetchText(url, init, limits);
      if (![301, 302, 303, 307, 308].includes(answer.status)) {
        proveJson(answer, words, maybeDone);
        return responseOf(answer);
      }
      const target = redirectTarget(answer, url);
      const follow = options.followsOwnRedirects && (method === "GET" || method === "HEAD");
      if (!follow || redirects === MAX_REDIRECTS || target?.origin !== options.origin) {
        throw redirected(words, answer.status, target);
      }
      url = target;
    }
  } catch (error) {
    if (error instanceof HostFailure) throw error;
    if (request.signal?.aborted) throw request.signal.reason;
    return unanswered(options, { method, url: start, maybeDone, error });
  }
}

/** Explains why no answer came. @throws {HostFailure} if another attempt would not help. */
function unanswered(
  { words, origin, requestTimeoutMs }: HostFetchOptions,
  { method, url, maybeDone, error }: { method: string; url: URL; maybeDone: boolean; error: unknown },
): HostFailure {
  if (error instanceof AnswerTooLarge) {
    const message = `${words.title} sent an answer of more than 32 MB; it was not read.`;
    throw new HostFailure("failed", message, { maybeDone });
  }
  const what = `${method} ${url.pathname}`;
  if (error instanceof AnswerTimedOut) {
    const message = `${words.title} did not answer within ${requestTimeoutMs / 1000} seconds (${what}).`;
    throw new HostFailure("unreachable", message, { cause: error, maybeDone });
  }
  const message = `${words.title} could not be reached at ${origin} (${what}): check ${words.addressKey} and the network${proxyHint()}.`;
  return new HostFailure("unreachable", message, { cause: error, maybeDone: maybeDone && !neverConnected(error) });
}

function neverConnected(error: unknown): boolean {
  for (let inner = error; inner instanceof Error; inner = inner.cause) {
    if ("code" in inner && ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN"].includes(String(inner.code))) return true;
  }
  return false;
}

/** Link headers and configuration mistakes must not send the credentials elsewhere. */
function refuseForeignOrigin(options: HostFetchOptions, url: URL): void {
  if (url.origin === options.origin) return;
  throw new HostFailure(
    "failed",
    `${options.words.title} pointed to another server, ${url.origin}; nothing was sent there.`,
  );
}

function redirectTarget({ headers }: Answer, base: URL): URL | undefined {
  const location = headers.get("location") ?? "";
  return URL.canParse(location, base.href) ? new URL(location, base) : undefined;
}

function redirected(words: FailureWords, status: number, target: URL | undefined): HostFailure {
  const where = target === undefined ? "" : ` to ${target.origin}`;
  return new HostFailure(
    "failed",
    `${words.title} answered with a redirect${where} (${status}), which is not followed: set ${words.addressKey} to the address that answers by itself.`,
  );
}

/**
 * Refuses a successful answer that is not JSON, such as a login page: client libraries return it as a string.
 * @param maybeDone Whether the request was a write, which may have taken effect.
 * @throws {HostFailure}
 */
function proveJson({ status, headers, text }: Answer, words: FailureWords, maybeDone: boolean): void {
  if (status < 200 || status > 299 || status === 204 || status === 205) return;
  const type = headers.get("content-type") ?? "";
  if (!/^application\/(?:[\w.-]+\+)?json\b/i.test(type)) {
    const kind = /html/i.test(type) ? "a web page" : "something other than JSON";
    throw new HostFailure(
      "failed",
      `${words.title} answered with ${kind}: check that ${words.addressKey} is the address of its API, not behind a login.`,
      { maybeDone },
    );
  }
  if (parseJson(text) === undefined) {
    throw new HostFailure("failed", `${words.title} answered with incomplete or invalid JSON. Try again later.`, {
      maybeDone,
    });
  }
}
