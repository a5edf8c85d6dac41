/** The most comments of one plan. Diffs that do not fit are listed by name. */
export const MAX_PARTS = 8;

/** A piece of Markdown with every fence and collapsible closed. */
export interface Block {
  readonly text: string;
  /** Repeated with "(continued)" when a later part begins inside this block's section. */
  readonly section: string | undefined;
}

/** Cuts the last lines off lists that are longer than a whole comment, and says how many. */
export function cutBlocks(blocks: readonly Block[], limit: number): readonly Block[] {
  return blocks.map(({ text, section }) => ({ text: cut(text, limit), section }));
}

function cut(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const lines = text
    .slice(0, limit - 100)
    .split("\n")
    .slice(0, -1);
  return [...lines, `- and ${text.split("\n").length - lines.length} more lines`].join("\n");
}

/** Packs blocks into as few comments as fit; no block is ever cut, so none may be longer than the limit. */
export function pack(blocks: readonly Block[], limit: number): readonly string[] {
  const parts: string[] = [];
  let current = "";
  let section: string | undefined;
  for (const block of blocks) {
    const joined = current === "" ? block.text : `${current}\n\n${block.text}`;
    if (joined.length <= limit || current === "") {
      current = joined;
    } else {
      parts.push(current);
      const continued = `${block.section ?? ""} (continued)\n\n${block.text}`;
      const continues = block.section !== undefined && block.section === section && continued.length <= limit;
      current = continues ? continued : block.text;
    }
    section = block.section;
  }
  return current === "" ? parts : [...parts, current];
}
