const holder = globalThis as typeof globalThis & { keptPerProcess?: Map<string, unknown> };
const kept = (holder.keptPerProcess ??= new Map<string, unknown>());

/**
 * Made once per process, also where a test runner loads all modules anew for each file: for what is slow to make and
 * never changes.
 */
export function perProcess<T>(name: string, make: () => T): T {
  if (!kept.has(name)) kept.set(name, make());
  return kept.get(name) as T;
}
