const QUOTING = /((?:Invalid|Unsupported|Duplicate) value: )/;

/**
 * An error of Kubernetes without the values that it quotes: they may be as long as the template of a Pod, and nobody's
 * business. `spec.selector: Invalid value: {…}: field is immutable` becomes `spec.selector: field is immutable`.
 */
export function withoutValues(text: string): string {
  const [first = "", ...rest] = text.split(QUOTING);
  const kept = rest.map((part, index) => {
    if (index % 2 === 1) return "";
    const behind = behindValue(rest[index + 1] ?? "");
    // `field is immutable` says all; what is duplicate or unsupported would be a riddle without the word.
    return part.startsWith("Invalid") ? behind.replace(/^: /, "") : part.replace(/: $/, "") + behind;
  });
  return [first, ...kept].join("").trim();
}

/** What follows a value as Go prints it: a string, a number, JSON, or a struct. Nothing follows one that was cut off. */
function behindValue(text: string): string {
  return text.slice(endOfValue(text));
}

function endOfValue(text: string): number {
  const string = /^"(?:[^"\\]|\\[^]?)*(?:"|$)/.exec(text);
  if (string !== null) return string[0].length;
  const opening = /^[&*\w.[\]]{0,200}[{[]/.exec(text);
  if (opening === null) return /^[^:,\]\n]*/.exec(text)?.[0].length ?? 0;
  let depth = 0;
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\[^]?)*(?:"|$)|[[{]|[\]}]/g)) {
    if (token === "{" || token === "[") depth += 1;
    if (token !== "}" && token !== "]") continue;
    depth -= 1;
    // A type such as `[]string{…}` closes a bracket before its braces open.
    if (depth <= 0 && !/^[\w.*]{0,100}\{/.test(text.slice(index + 1, index + 102))) return index + 1;
  }
  return text.length;
}
