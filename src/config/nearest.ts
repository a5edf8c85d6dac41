const LONGEST_WORD = 40;

/** The known word that a mistyped one most likely means; undefined if none is similar. @param most Mistakes allowed. */
export function nearest(
  word: string,
  known: readonly string[],
  most = word.length <= 4 ? 1 : word.length <= 8 ? 2 : 3,
): string | undefined {
  if (word.length > LONGEST_WORD) return undefined;
  const [best] = known
    .filter((candidate) => Math.abs(plain(word).length - plain(candidate).length) <= most)
    .map((candidate) => ({ candidate, distance: editDistance(plain(word), plain(candidate)) }))
    .filter(({ distance }) => distance <= most)
    .sort((left, right) => left.distance - right.distance);
  return best?.candidate;
}

/** Ignores case, dashes and underscores: `baseUrl` means `base_url`. */
function plain(word: string): string {
  return word.toLowerCase().replace(/[-_]/g, "");
}

/** Levenshtein distance in which swapping two neighbours counts once. */
function editDistance(left: string, right: string): number {
  const rows = [Array.from({ length: right.length + 1 }, (_, index) => index)];
  const at = (row: number, column: number) => rows[row]?.[column] ?? Number.POSITIVE_INFINITY;
  for (let row = 1; row <= left.length; row++) {
    rows.push([row]);
    for (let column = 1; column <= right.length; column++) {
      const same = left[row - 1] === right[column - 1];
      const swapped = left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
      rows[row]?.push(
        Math.min(
          at(row - 1, column - 1) + (same ? 0 : 1),
          at(row - 1, column) + 1,
          at(row, column - 1) + 1,
          swapped ? at(row - 2, column - 2) + 1 : Number.POSITIVE_INFINITY,
        ),
      );
    }
  }
  return at(left.length, right.length);
}
