import { parseRetryAfter } from "../http/retry-after.js";

/** Status and headers of an answer; header names in lower case. */
export interface LimitedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
}

/**
 * A 403 without these headers is a missing permission:
 * https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api
 */
export function isRateLimited({ status, headers }: LimitedAnswer): boolean {
  if (status === 429) return true;
  return status === 403 && (headers["retry-after"] !== undefined || headers["x-ratelimit-remaining"] === "0");
}

/**
 * How long the host asks us to wait, in milliseconds; undefined if it does not say. Without `Retry-After`, GitHub gives
 * the end of its hourly limit in `X-RateLimit-Reset`, in seconds since 1970.
 */
export function pauseAskedFor({ status, headers }: LimitedAnswer, now: Date): number | undefined {
  const read = (name: string): string => {
    const value = headers[name];
    return typeof value === "string" || typeof value === "number" ? String(value) : "";
  };
  const pause = parseRetryAfter(read("retry-after"), now);
  if (pause !== undefined) return pause;
  const [remaining, reset] = [read("x-ratelimit-remaining"), read("x-ratelimit-reset")];
  if (remaining !== "0" || !/^\d{1,12}$/.test(reset)) return undefined;
  return isRateLimited({ status, headers }) ? Math.max(0, Number(reset) * 1000 - now.getTime()) : undefined;
}
