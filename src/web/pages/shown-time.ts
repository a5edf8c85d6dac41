/** A point in time as a page shows it. */
export interface ShownTime {
  /** ISO 8601, for programs. */
  readonly iso: string;
  /** To the minute, for people. */
  readonly text: string;
  /** `5 min`, `3 h`, `2 days`. */
  readonly age: string;
}

export function shownTime(iso: string, now: Date): ShownTime {
  return { iso, text: `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`, age: ageOf(now.getTime() - Date.parse(iso)) };
}

function ageOf(ms: number): string {
  const minutes = Math.max(0, Math.floor(ms / 60_000));
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} days`;
}
