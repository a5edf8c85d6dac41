import type { HostId } from "../names.js";

/**
 * Longest comment that we post, in UTF-16 code units. GitHub refuses more than 65,536 characters; GitLab takes about a
 * million, which nobody reads.
 */
export const COMMENT_LIMITS: Readonly<Record<HostId, number>> = { hosta: 60_000, hostb: 200_000 };

/** No plan posts more comments than this; what does not fit is named instead of shown. */
export const MAX_PARTS = 8;

/** A piece of Markdown with every fence and collapsible closed. */
export interface Block {
  readonly text: string;
  /** Repeated with "(continued)" when a later part begins inside this block's section. */
  readonly section: string | undefined;
}

/** Packs blocks into as few comments as fit; no block is ever cut. */
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
      const continues = block.section !== undefined && block.section === section;
      current = continues ? `${block.section} (continued)\n\n${block.text}` : block.text;
    }
    section = block.section;
  }
  return current === "" ? parts : [...parts, current];
}
