/** Major and minor number of a version, as `3.2`; undefined if the text begins with none. */
export function shortVersion(version: string): string | undefined {
  return /^v?(\d{1,4}\.\d{1,4})/.exec(version)?.[1];
}

/** Whether a version comes before `oldest`, by major and minor number; undefined if it is no version. */
export function isOlder(version: string, oldest: string): boolean | undefined {
  const short = shortVersion(version);
  if (short === undefined) return undefined;
  const [[major = 0, minor = 0], [leastMajor = 0, leastMinor = 0]] = [numbersOf(short), numbersOf(oldest)];
  return major === leastMajor ? minor < leastMinor : major < leastMajor;
}

function numbersOf(short: string): readonly number[] {
  return short.split(".").map(Number);
}
