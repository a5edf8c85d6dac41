/** A point in time as people read it, to the minute: `2026-03-01 18:00 UTC`. @param iso ISO 8601, in UTC. */
export function minuteText(iso: string): string {
  return `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`;
}

/** The first full minute at which a moment is over, for "wait until". */
export function fullMinuteText(at: Date): string {
  return minuteText(new Date(at.getTime() + 59_999).toISOString());
}

/** A length of time as the settings write it: `10m`, `1h30m`. */
export function durationText(milliseconds: number): string {
  const units = [
    ["h", 3_600_000],
    ["m", 60_000],
    ["s", 1000],
  ] as const;
  let left = milliseconds;
  const parts = units.map(([unit, length]) => {
    const count = Math.floor(left / length);
    left -= count * length;
    return count === 0 ? "" : `${count}${unit}`;
  });
  return parts.join("") || `${milliseconds}ms`;
}
