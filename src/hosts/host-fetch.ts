import { HostFailure } from "../core/model/errors.js";
import { parseJson } from "../core/model/json.js";
import type { Clock } from "../core/ports/clock.js";
import {
  type Answer,
  type AnswerHeaders,
  AnswerTimedOut,
  AnswerTooLarge,
  connectionsOfProcess,
  proxyHint,
  requestBytes,
} from "../http/fetch-text.js";
import { SERVICE } from "../names.js";
import { type FailureWords, HostRefusal, isFailure, isRateLimited, pauseAskedFor } from "./host-answer.js";
import { REPORTED_WAIT_MS, type ReportedWait } from "./limit-waits.js";

interface HostRequest {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
  readonly signal?: AbortSignal | null;
}

/** What client libraries read of a `Response`. Reading the text of a real one takes ten times as long as parsing it. */
class HostAnswer {
  readonly url = "";
  readonly statusText = "";

  constructor(
    readonly status: number,
    readonly headers: AnswerHeaders,
    private readonly content: string,
    /** The parsed JSON of a successful answer. Octokit returns it unchanged, since `parseSuccessResponseBody` is false. */
    readonly body?: unknown,
  ) {}

  get ok(): boolean {
    return this.status >= 200 && this.status <= 299;
  }

  text(): Promise<string> {
    return Promise.resolve(this.content);
  }

  arrayBuffer(): Promise<ArrayBuffer> {
    return Promise.resolve(new TextEncoder().encode(this.content).buffer);
  }

  /** The same answer with a `Retry-After`, unless the host sent one. */
  withPause(milliseconds: number): HostAnswer {
    const pause = ["retry-after", String(Math.ceil(milliseconds / 1000))] as const;
    return new HostAnswer(this.status, new Map([pause, ...this.headers]), this.content);
  }
}

export type HostFetch = (address: string | URL, request?: HostRequest) => Promise<HostAnswer>;

interface HostFetchOptions {
  readonly words: FailureWords;
  /** Sent with each request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The only origin that receives requests, and so the credentials. */
  readonly origin: string;
  readonly clock: Clock;
  /** Deadline of one attempt, in milliseconds of real time. */
  readonly requestTimeoutMs: number;
  /** Whether the request changes nothing. Writes are repeated only after the rate limit, when nothing was done. */
  readonly isRead: RequestTest;
  /** Whether the request rests on checks that a pause would outdate. It is neither held nor repeated: see `PastLimit`. */
  readonly isChecked?: RequestTest;
  /** GitHub answers 301 within its own origin for a renamed repository; reads follow that. */
  readonly followsOwnRedirects: boolean;
  /** Reports a wait of more than ten seconds for the host's limit. */
  readonly waits: (until: Date) => ReportedWait;
  /** The status of an answer by what its body says: a host may hide a refusal by its limit, or a failure, behind another one. */
  readonly statusOf?: (answer: Answer) => number;
  readonly onAnswer?: (headers: AnswerHeaders) => void;
}

type RequestTest = (method: string, url: URL, body: string | undefined) => boolean;

/** A comparison of two commits on GitHub may carry the patches of 300 files. */
const MAX_ANSWER_BYTES = 32 * 1024 * 1024;
const MAX_TRIES = 3;
const MAX_REDIRECTS = 3;
const FIRST_BACK_OFF_MS = 500;
const MAX_RETRY_AFTER_MS = 60_000;
/**
 * The first pause after a refusal that names none; each further one is twice as long.
 * https://docs.github.com/rest/using-the-rest-api/best-practices-for-using-the-rest-api#handle-rate-limit-errors-appropriately
 */
const UNNAMED_PAUSE_MS = 60_000;
const LONGEST_UNNAMED_PAUSE_MS = 60 * 60_000;

/**
 * A `fetch` for a code host's client library. It reads answers completely, limits their size and checks that successful
 * ones are JSON. It returns statuses of 400 and above, which the library turns into errors.
 * @returns A function that throws `HostFailure` (unreachable, or an unusable answer), or the signal's reason.
 */
export function createHostFetch(options: HostFetchOptions): HostFetch {
  const { clock, onAnswer } = options;
  const holds = createHolds(options);
  return async (address, request = {}) => {
    const url = new URL(address);
    const method = (request.method ?? "GET").toUpperCase();
    const signal = request.signal ?? undefined;
    const reads = options.isRead(method, url, request.body);
    const isChecked = options.isChecked?.(method, url, request.body) === true;
    const sender = { credentials: request.headers?.authorization ?? "", reads };
    for (let attempt = isChecked ? MAX_TRIES : 1; ; attempt += 1) {
      if (!reads && !isChecked) await holds.pass(sender.credentials, signal);
      const outcome = await tryOnce(options, { url, method, reads, request });
      if (outcome instanceof HostAnswer) onAnswer?.(outcome.headers);
      const answer = outcome instanceof HostAnswer ? judged(outcome, clock.now()) : undefined;
      const limit = answer?.limited === true ? holds.refused(sender, answer.pause) : undefined;
      if (answer?.limited === false && !isFailure(answer.status)) holds.passed(sender);
      const pause = attempt < MAX_TRIES ? pauseBeforeRetry(answer, { attempt, reads, limit }) : undefined;
      if (pause === undefined) {
        if (!(outcome instanceof HostAnswer)) throw outcome;
        return limit === undefined ? outcome : outcome.withPause(limit);
      }
      if (reads) await clock.sleep(pause, signal);
    }
  };
}

/** Repeats work that a rate limit refused, with all its checks, after the pause that the host asks for, a minute at most. */
export type PastLimit = <T>(work: () => Promise<T>) => Promise<T>;

/** The pause counts among the waits for the host's limit, as that of a held write does. */
export function createPastLimit({ clock, waits }: Pick<HostFetchOptions, "clock" | "waits">): PastLimit {
  return async (work) => {
    for (let tries = 1; ; tries += 1) {
      try {
        return await work();
      } catch (error) {
        const pause = error instanceof HostRefusal && error.reason === "rate-limited" ? error.retryAfterMs : undefined;
        if (pause === undefined || pause > MAX_RETRY_AFTER_MS || tries === MAX_TRIES) throw error;
        await sleepUntil(clock.now().getTime() + pause, { clock, waits });
      }
    }
  };
}

/** Sleeps, and reports it if that takes long. @param until Milliseconds since 1970. */
async function sleepUntil(
  until: number,
  { clock, waits }: Pick<HostFetchOptions, "clock" | "waits">,
  signal?: AbortSignal,
): Promise<void> {
  const pause = until - clock.now().getTime();
  const reported = pause > REPORTED_WAIT_MS ? waits(new Date(until)) : undefined;
  await clock.sleep(pause, signal).finally(() => reported?.end());
}

/** Who sent a request, and whether it changes nothing. */
interface Sender {
  readonly credentials: string;
  readonly reads: boolean;
}

interface Hold {
  /** Milliseconds since 1970. */
  readonly until: number;
  readonly pauseMs: number;
  /** Whether a read was refused. Some limits are for writes alone, so that a read that passes does not end them. */
  readonly reads: boolean;
}

/** Holds writes with the same credentials while at most a minute of a limit's pause is left; with more left, their callers decide. */
function createHolds({ clock, waits }: HostFetchOptions) {
  const held = new Map<string, Hold>();
  const now = () => clock.now().getTime();
  const endOf = (credentials: string) => {
    const until = held.get(credentials)?.until ?? 0;
    return until - now() > MAX_RETRY_AFTER_MS ? 0 : until;
  };
  return {
    /** Notes a refusal. @returns The pause in milliseconds. */
    refused({ credentials, reads }: Sender, asked: number | undefined): number {
      for (const [one, { until }] of held) if (until <= now() - LONGEST_UNNAMED_PAUSE_MS) held.delete(one);
      const last = held.get(credentials);
      const pauseMs = asked === undefined ? unnamedPause(last, now()) : Math.max(asked, FIRST_BACK_OFF_MS);
      held.set(credentials, { until: Math.max(last?.until ?? 0, now() + pauseMs), pauseMs, reads });
      return pauseMs;
    },
    passed({ credentials, reads }: Sender): void {
      const last = held.get(credentials);
      if (last !== undefined && last.until <= now() && (last.reads || !reads)) held.delete(credentials);
    },
    async pass(credentials: string, signal: AbortSignal | undefined): Promise<void> {
      for (let until = endOf(credentials); until > now(); until = endOf(credentials)) {
        await sleepUntil(until, { clock, waits }, signal);
      }
    },
  };
}

/** Requests that were refused during the same pause are one refusal. */
function unnamedPause(last: Hold | undefined, now: number): number {
  if (last === undefined) return UNNAMED_PAUSE_MS;
  if (last.until > now) return last.until - now;
  return Math.min(Math.max(last.pauseMs * 2, UNNAMED_PAUSE_MS), LONGEST_UNNAMED_PAUSE_MS);
}

interface Judged {
  readonly status: number;
  /** Whether the host's limit refused the request. */
  readonly limited: boolean;
  /** The pause that the host asks for, in milliseconds. */
  readonly pause: number | undefined;
}

function judged({ status, headers }: HostAnswer, now: Date): Judged {
  const answer = { status, headers: Object.fromEntries(headers) };
  return { status, limited: isRateLimited(answer), pause: pauseAskedFor(answer, now) };
}

interface Try {
  /** 1 is the first. */
  readonly attempt: number;
  readonly reads: boolean;
  /** The pause after a refusal by the host's limit, in milliseconds. */
  readonly limit: number | undefined;
}

/** Milliseconds until the next attempt; undefined if there is none. Writes wait for their hold instead. */
function pauseBeforeRetry(answer: Judged | undefined, { attempt, reads, limit }: Try): number | undefined {
  // Random, so that requests that failed together do not return together.
  const backOff = Math.round(FIRST_BACK_OFF_MS * 2 ** (attempt - 1) * (1 + Math.random() / 2));
  const failed = answer === undefined || isFailure(answer.status);
  if (limit === undefined && (!reads || !failed)) return undefined;
  const asked = limit ?? answer?.pause ?? backOff;
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
): Promise<HostAnswer | HostFailure> {
  const { words } = options;
  const maybeDone = !reads;
  const deadline = performance.now() + options.requestTimeoutMs;
  try {
    let url = start;
    for (let redirects = 0; ; redirects += 1) {
      refuseForeignOrigin(options, url);
      const timeoutMs = Math.max(1, deadline - performance.now());
      const usual = { accept: "*/*", "user-agent": SERVICE, ...options.headers };
      const headers = { ...usual, ...request.headers, "accept-encoding": "gzip" };
      const limits = { timeoutMs, maxBytes: MAX_ANSWER_BYTES, signal: request.signal };
      const sent = { url, method, headers, body: request.body };
      const { status, bytes, ...given } = await requestBytes(connectionsOfProcess(), sent, limits);
      const answer = { status, headers: given.headers, text: new TextDecoder().decode(bytes) };
      const told = options.statusOf?.(answer) ?? status;
      if (told !== status) return new HostAnswer(told, answer.headers, answer.text);
      if (![301, 302, 303, 307, 308].includes(answer.status)) {
        return new HostAnswer(status, answer.headers, answer.text, jsonOf(answer, words, maybeDone));
      }
      const target = redirectTarget(answer, url);
      const follow = options.followsOwnRedirects && (method === "GET" || method === "HEAD");
      if (!follow || redirects === MAX_REDIRECTS || target?.origin !== options.origin) {
        throw redirected(options, answer.status, target);
      }
      url = target;
    }
  } catch (error) {
    if (error instanceof HostFailure) throw error;
    if (request.signal?.aborted) throw request.signal.reason;
    return unanswered(options, { method, url: start, maybeDone, error });
  }
}

/** Whether a read failed because its answer is too large, as the next one would be: it has to ask for less. */
export function isTooLarge(error: unknown): boolean {
  return error instanceof HostFailure && error.cause instanceof AnswerTooLarge;
}

/** Explains why no answer came. @throws {HostFailure} if another attempt would not help. */
function unanswered(
  { words, origin, requestTimeoutMs }: HostFetchOptions,
  { method, url, maybeDone, error }: { method: string; url: URL; maybeDone: boolean; error: unknown },
): HostFailure {
  if (error instanceof AnswerTooLarge) {
    const message = `${words.title} sent an answer of more than 32 MB; it was not read.`;
    throw new HostFailure("failed", message, { cause: error, maybeDone });
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

/** A lasting one within a host means that nothing is there any more: GitLab leads from a project's old name to its id. */
function redirected(
  { words, origin }: Pick<HostFetchOptions, "words" | "origin">,
  status: number,
  target: URL | undefined,
): HostFailure {
  const where = target === undefined ? "" : ` to ${target.origin}`;
  const renamed = target?.origin === origin ? "if the repository was renamed, try again; if not, " : "";
  return new HostFailure(
    status === 301 && target?.origin === origin ? "not-found" : "failed",
    `${words.title} answered with a redirect${where} (${status}), which is not followed: ${renamed}set ${words.addressKey} to the address that answers by itself.`,
  );
}

/**
 * Parses the JSON of a successful answer. Returns undefined for other answers, and for 204 and 205, which have no body.
 * @param maybeDone Whether the request was a write, which may have taken effect.
 * @throws {HostFailure} if it is not JSON, such as a login page: client libraries return that as a string.
 */
function jsonOf({ status, headers, text }: Answer, words: FailureWords, maybeDone: boolean): unknown {
  if (status < 200 || status > 299 || status === 204 || status === 205) return undefined;
  const type = headers.get("content-type") ?? "";
  if (!/^application\/(?:[\w.-]+\+)?json\b/i.test(type)) {
    const kind = /html/i.test(type) ? "a web page" : "something other than JSON";
    throw new HostFailure(
      "failed",
      `${words.title} answered with ${kind}: check that ${words.addressKey} is the address of its API, not behind a login.`,
      { maybeDone },
    );
  }
  const value = parseJson(text);
  if (value !== undefined) return value;
  throw new HostFailure("failed", `${words.title} answered with incomplete or invalid JSON. Try again later.`, {
    maybeDone,
  });
}
