const holder = globalThis as typeof globalThis & { keptPerProcess?: Map<string, unknown> };
const kept = (holder.keptPerProcess ??= new Map<string, unknown>());

/**
 * Makes a value once per process, even if a test runner reloads all modules for each file. For values that are slow to
 * make and never change.
 */
export function perProcess<T>(name: string, make: () => T): T {
  if (!kept.has(name)) kept.set(name, make());
  return kept.get(name) as T;
}
