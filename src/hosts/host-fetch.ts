import type { Clock } from "../core/clock.js";
import { HostFailure } from "../core/errors.js";
import { isRateLimited, type HostWords } from "./host-refusal.js";
import { readJsonAnswer } from "./json-answer.js";

/** What a client library hands to `fetch`. */
export interface HostRequest {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
  readonly signal?: AbortSignal | null;
}

export type HostFetch = (address: string | URL, request?: HostRequest) => Promise<Response>;

export interface HostFetchOptions {
  readonly words: HostWords;
  /** The only origin that is ever asked, and so the only one that sees the credentials. */
  readonly origin: string;
  readonly clock: Clock;
  /** Deadline of one try, in milliseconds of real time. */
  readonly requestTimeoutMs: number;
  /** Whether asking twice is as good as asking once. Everything else is sent once, whatever comes back. */
  readonly mayRepeat: (method: string, url: URL, body: string | undefined) => boolean;
  /** GitHub answers 301 within its own origin for a renamed repository; reads follow that. */
  readonly followsOwnRedirects: boolean;
}

const MAX_TRIES = 3;
const MAX_REDIRECTS = 3;
const MAX_RETRY_AFTER_MS = 60_000;

/**
 * A `fetch` for the client library of a code host. Its answers are read to the end, limited in size and, when
 * successful, proven to be JSON. Statuses from 400 on are returned, for the library to make its error of.
 * @returns A function that throws `HostFailure` (unreachable, or an answer that is none), or the signal's reason.
 */
export function createHostFetch(options: HostFetchOptions): HostFetch {
  return async (address, request = {}) => {
    const url = new URL(address);
    const method = (request.method ?? "GET").toUpperCase();
    const tries = options.mayRepeat(method, url, request.body) ? MAX_TRIES : 1;
    for (let attempt = 1; ; attempt += 1) {
      const outcome = await tryOnce(options, url, method, request);
      const pause = attempt < tries ? pauseBeforeRetry(outcome, attempt) : undefined;
      if (pause === undefined) {
        if (outcome instanceof Response) return outcome;
        throw outcome.failure;
      }
      await options.clock.sleep(pause, request.signal ?? undefined);
    }
  };
}

/** A connection that failed and may work the next time. */
interface Broken {
  readonly failure: HostFailure;
}

function pauseBeforeRetry(outcome: Response | Broken, attempt: number): number | undefined {
  const backOff = 500 * 2 ** (attempt - 1);
  if (!(outcome instanceof Response)) return backOff;
  const { status } = outcome;
  const limited = isRateLimited({ status, headers: Object.fromEntries(outcome.headers) });
  if (status < 500 && !limited) return undefined;
  const asked = Number(outcome.headers.get("retry-after") ?? Number.NaN) * 1000;
  if (Number.isNaN(asked)) return limited ? undefined : backOff;
  return asked <= MAX_RETRY_AFTER_MS ? Math.max(asked, backOff) : undefined;
}

async function tryOnce(
  options: HostFetchOptions,
  start: URL,
  method: string,
  request: HostRequest,
): Promise<Response | Broken> {
  const { words } = options;
  const deadline = AbortSignal.timeout(options.requestTimeoutMs);
  const signal = request.signal ? AbortSignal.any([request.signal, deadline]) : deadline;
  try {
    let url = start;
    for (let redirects = 0; ; redirects += 1) {
      refuseForeignOrigin(options, url);
      const response = await fetch(url, {
        method,
        headers: request.headers,
        body: request.body,
        redirect: "manual",
        signal,
      });
      if (![301, 302, 303, 307, 308].includes(response.status)) return await readJsonAnswer(response, words);
      await response.body?.cancel();
      const target = redirectTarget(response, url);
      const follow = options.followsOwnRedirects && (method === "GET" || method === "HEAD");
      if (!follow || redirects === MAX_REDIRECTS || target?.origin !== options.origin) {
        throw redirected(words, response.status, target);
      }
      url = target;
    }
  } catch (error) {
    if (error instanceof HostFailure) throw error;
    if (request.signal?.aborted) throw request.signal.reason;
    const what = `${method} ${start.pathname}`;
    if (deadline.aborted) {
      const seconds = options.requestTimeoutMs / 1000;
      throw new HostFailure("unreachable", `${words.title} did not answer within ${seconds} seconds (${what}).`, {
        cause: error,
      });
    }
    const message = `${words.title} could not be reached at ${options.origin} (${what}): check ${words.addressKey} and the network.`;
    return { failure: new HostFailure("unreachable", message, { cause: error }) };
  }
}

/** Link headers and configuration mistakes must not carry the credentials elsewhere. */
function refuseForeignOrigin(options: HostFetchOptions, url: URL): void {
  if (url.origin === options.origin) return;
  throw new HostFailure(
    "failed",
    `${options.words.title} pointed to another server, ${url.origin}; nothing was sent there.`,
  );
}

function redirectTarget(response: Response, base: URL): URL | undefined {
  const location = response.headers.get("location") ?? "";
  return URL.canParse(location, base.href) ? new URL(location, base) : undefined;
}

function redirected(words: HostWords, status: number, target: URL | undefined): HostFailure {
  const where = target === undefined ? "" : ` to ${target.origin}`;
  return new HostFailure(
    "failed",
    `${words.title} answered with a redirect${where} (${status}), which is not followed: set ${words.addressKey} to the address that answers by itself.`,
  );
}
