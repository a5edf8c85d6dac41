/** The same JSON with the members of every object in the order of their names, or backwards. */
export function sortedJson(value: unknown, order: 1 | -1 = 1): unknown {
  if (Array.isArray(value)) return value.map((one) => sortedJson(one, order));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([left], [right]) => (left < right ? -order : order));
  return Object.fromEntries(entries.map(([name, one]) => [name, sortedJson(one, order)]));
}
