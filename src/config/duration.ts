const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: SECOND, m: MINUTE, h: HOUR, d: DAY, w: 7 * DAY };

/** The longest duration that any setting accepts, in milliseconds. */
export const LONGEST_DURATION = 365 * DAY;

/** Reads `30s`, `10m` or `1h30m` (units ms, s, m, h, d, w) as milliseconds; undefined for zero and more than a year. */
export function parseDuration(text: string): number | undefined {
  if (text.length > 64 || !/^(?:\d+(?:ms|s|m|h|d|w))+$/.test(text)) return undefined;
  let total = 0;
  for (const [, count, unit] of text.matchAll(/(\d+)(ms|s|m|h|d|w)/g)) {
    total += Number(count) * (UNITS[unit ?? ""] ?? Number.NaN);
  }
  return total > 0 && total <= LONGEST_DURATION ? total : undefined;
}
