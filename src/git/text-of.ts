/** A file's content as text; undefined when it is binary or not UTF-8. A byte order mark is left out. */
export function textOf(content: Buffer): string | undefined {
  if (content.includes(0)) return undefined;
  try {
    return DECODER.decode(content);
  } catch {
    return undefined;
  }
}

const DECODER = new TextDecoder("utf-8", { fatal: true });
