/**
 * Reads a `Retry-After` header: seconds, or an HTTP date.
 * @returns Milliseconds from `now`, 0 for a date in the past; undefined if the header is absent or unreadable.
 */
export function parseRetryAfter(header: string | null, now: Date): number | undefined {
  const text = header?.trim() ?? "";
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000;
  // `Date.parse` alone would read "-5" as a date.
  const date = /^[A-Z][a-z]{2}, /.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now.getTime());
}
