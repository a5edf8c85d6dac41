/** Major and minor number of a version, as `3.2`; undefined if the text begins with none. */
export function shortVersion(version: string): string | undefined {
  return /^v?(\d{1,4}\.\d{1,4})/.exec(version)?.[1];
}

/** Whether a version comes before `oldest`, by major and minor number; undefined if it is no version. */
export function isOlder(version: string, oldest: string): boolean | undefined {
  const [major, minor] = shortVersion(version)?.split(".").map(Number) ?? [];
  const [leastMajor, leastMinor] = oldest.split(".").map(Number);
  if (major === undefined || minor === undefined || leastMajor === undefined || leastMinor === undefined)
    return undefined;
  return major === leastMajor ? minor < leastMinor : major < leastMajor;
}
