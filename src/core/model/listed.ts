/** Names the first `most` texts and counts the rest: `a, b and 3 more`. */
export function listed(texts: readonly string[], most: number): string {
  const more = texts.length - most;
  const first = texts.slice(0, most).join(", ");
  return more > 0 ? `${first} and ${more} more` : first;
}
