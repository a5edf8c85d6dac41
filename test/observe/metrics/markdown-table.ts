/** Rows of the first table below a heading of a Markdown text; code marks are taken off. */
export function tableUnder(text: string, heading: string): readonly (readonly string[])[] {
  const start = text.indexOf(`\n## ${heading}\n`);
  if (start < 0) throw new Error(`there is no heading ${heading}`);
  const lines = text.slice(start).split("\n");
  const first = lines.findIndex((line) => line.startsWith("|"));
  const rest = lines.slice(first);
  const end = rest.findIndex((line) => !line.startsWith("|"));
  // A head and a ruler stand above the rows.
  return rest.slice(2, end < 0 ? undefined : end).map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}
