import { adapterOperations } from "./adapter-operations.js";
import type { Checked, Violation } from "./check-exchange.js";

const UNKNOWN = "(unknown operation)";

export interface ReplayReport {
  readonly lines: readonly string[];
  readonly passed: boolean;
}

/**
 * Sums up a replay: exchanges by operation, what the adapter did not call, and each kind of violation once.
 * `whole`: all scenarios ran, so that an operation of the adapter which nobody called is a gap.
 */
export function reportReplay(checked: readonly Checked[], { whole }: { readonly whole: boolean }): ReplayReport {
  const operations = counted(checked.map(({ operation }) => operation ?? UNKNOWN));
  const unseen = adapterOperations.filter((operation) => !operations.has(operation));
  const strange = [...operations.keys()].filter((operation) => ![UNKNOWN, ...adapterOperations].includes(operation));
  const kinds = kindsOf(checked);
  const passed = checked.length > 0 && kinds.length === 0 && (unseen.length === 0 || !whole);
  return {
    passed,
    lines: [
      `${checked.length} exchanges with Argo CD checked:`,
      ...[...operations].sort().map(([operation, count]) => `${String(count).padStart(7)}  ${operation}`),
      `${adapterOperations.length - unseen.length} of the adapter's ${adapterOperations.length} operations exercised`,
      ...unseen.map((operation) => `  not exercised: ${operation}`),
      ...strange.map((operation) => `  exercised, but not listed as the adapter's: ${operation}`),
      kinds.length === 0 ? "No violations" : `${kinds.length} kinds of violations, each with its first example:`,
      ...kinds.map(({ first, count }) => `${String(count).padStart(7)}  ${sentenceOf(first)}`),
      passed ? "The contract holds" : checked.length === 0 ? "FAILED: nothing was recorded" : "FAILED",
    ],
  };
}

function counted(values: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}

function kindsOf(checked: readonly Checked[]): { readonly first: Violation; readonly count: number }[] {
  const kinds = new Map<string, { first: Violation; count: number }>();
  for (const { operation, violations } of checked) {
    for (const violation of violations) {
      const { method, path, where, pointer, problem } = violation;
      // The same mistake in another item of a list is no other kind.
      const place = pointer.replace(/\/\d+(?=\/|$)/g, "/0");
      const kind = [operation ?? `${method} ${path}`, where, place, problem].join(" ");
      const known = kinds.get(kind);
      if (known === undefined) kinds.set(kind, { first: violation, count: 1 });
      else known.count += 1;
    }
  }
  return [...kinds.values()];
}

function sentenceOf({ method, path, where, pointer, problem }: Violation): string {
  return `${method} ${path}: ${where}${pointer === "" ? "" : ` ${pointer}`}: ${problem}`;
}
