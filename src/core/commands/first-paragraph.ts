import MarkdownIt from "markdown-it";

/** The parts of a comment that may stand before its first paragraph; they are quoted or shown, not said. */
const BEFORE = new Set([
  "blockquote_open",
  "bullet_list_open",
  "ordered_list_open",
  "heading_open",
  "fence",
  "code_block",
]);

// Without definitions of links: one is shown as nothing by CommonMark and as a footnote by the hosts, so as a paragraph it
// ends the search.
const blocks = new MarkdownIt("commonmark").disable(["reference", "inline"]);
const whole = new MarkdownIt("commonmark").disable("reference");

/** One host's quote of several lines; to CommonMark an empty quote that ends at once. */
const FENCED_QUOTE = /^ {0,3}>{3,}[ \t]*(?:$|\[!)/;
/** Below a paragraph this makes it a row of a table, also without a `|` in it, or a term of a description list. */
const TABLE = /^[ \t|:-]+$/;
const DESCRIPTION = /^ {0,3}[:~][ \t]/;

/** The first line of a comment's first paragraph, as it was written. */
export interface FirstLine {
  readonly line: string;
  /** The paragraph may go on behind the part of the comment that was read, and be something else there. */
  readonly open: boolean;
}

/**
 * The first line of the first top-level paragraph of a comment, as CommonMark reads it and both hosts show it. Undefined if
 * there is none, or if something before it can hide it from a reader: HTML, a line across, or the underline of a heading,
 * which is also how mails begin a signature. `complete` says whether the text is all of the comment.
 */
export function firstLine(text: string, complete: boolean): FirstLine | undefined {
  const lines = text.split(/\r\n?|\n/);
  for (const { level, nesting, type, map, markup } of blocks.parse(text, {})) {
    if (level > 0 || nesting < 0) continue;
    if (type === "paragraph_open" && map !== null) {
      const [start, end] = map;
      if (isHidden(lines.slice(0, start)) || isTaken(lines.slice(start + 1))) return undefined;
      return { line: lines[start] ?? "", open: !complete && end >= lines.length - 1 };
    }
    if (!BEFORE.has(type) || (type === "heading_open" && !markup.startsWith("#"))) return undefined;
  }
  return undefined;
}

/** Whether something before the paragraph can hide it: an element that is open, even in a quote that ends, or such a quote. */
function isHidden(before: readonly string[]): boolean {
  if (before.some((line) => FENCED_QUOTE.test(line))) return true;
  return whole
    .parse(before.join("\n"), {})
    .some(({ type, children }) => type === "html_block" || children?.some((child) => child.type === "html_inline"));
}

function isTaken([next = "", ...others]: readonly string[]): boolean {
  if (TABLE.test(next) && next.includes("-")) return true;
  return DESCRIPTION.test([next, ...others].find((line) => !/^[ \t]*$/.test(line)) ?? "");
}
