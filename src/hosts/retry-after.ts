import { isRateLimited } from "./host-refusal.js";

/**
 * How long a host asks to be left alone, in milliseconds; undefined when it does not say. `Retry-After` holds seconds or
 * a date; GitHub tells the end of its hourly limit in `X-RateLimit-Reset`, in seconds since 1970.
 * https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api
 */
export function pauseAskedFor(status: number, headers: Headers, now: Date): number | undefined {
  const given = headers.get("retry-after")?.trim() ?? "";
  if (/^\d{1,9}$/.test(given)) return Number(given) * 1000;
  const date = /^[A-Z][a-z]{2}, /.test(given) ? Date.parse(given) : Number.NaN;
  if (!Number.isNaN(date)) return Math.max(0, date - now.getTime());
  const reset = headers.get("x-ratelimit-reset") ?? "";
  const usedUp =
    headers.get("x-ratelimit-remaining") === "0" &&
    isRateLimited({ status, headers: { "x-ratelimit-remaining": "0" } });
  return usedUp && /^\d{1,12}$/.test(reset) ? Math.max(0, Number(reset) * 1000 - now.getTime()) : undefined;
}
