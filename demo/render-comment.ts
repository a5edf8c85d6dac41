import MarkdownIt from "markdown-it";
import sanitizeHtml from "sanitize-html";

const LINE_CLASSES = ["diff-add", "diff-delete", "diff-place", "diff-note"];

const markdown = new MarkdownIt({
  html: true,
  highlight: (text, language) => (language === "diff" ? diffHtml(text) : ""),
});

/** Renders a comment's Markdown as the hosts do, as sanitised HTML without active content. */
export function renderComment(body: string): string {
  return sanitizeHtml(markdown.render(body), {
    allowedTags: [
      ...["h1", "h2", "h3", "h4", "h5", "h6", "p", "br", "hr", "blockquote", "ul", "ol", "li", "pre", "code", "span"],
      ...["strong", "em", "s", "del", "a", "details", "summary", "table", "thead", "tbody", "tr", "th", "td"],
    ],
    allowedAttributes: { a: ["href", "rel"], details: ["open"], span: ["class"], code: ["class"] },
    allowedClasses: { span: LINE_CLASSES, code: ["language-diff"] },
    allowedSchemes: ["http", "https"],
    allowProtocolRelative: false,
    transformTags: { a: sanitizeHtml.simpleTransform("a", { rel: "noopener noreferrer nofollow" }) },
    nestingLimit: 50,
  });
}

/** Renders a unified diff with one coloured line each. */
export function diffHtml(diff: string): string {
  const lines = diff.replace(/\n$/, "").split("\n");
  return lines
    .map((line) => {
      const kind = kindOf(line);
      const text = markdown.utils.escapeHtml(line);
      return kind === undefined ? `${text}\n` : `<span class="${kind}">${text}\n</span>`;
    })
    .join("");
}

function kindOf(line: string): string | undefined {
  if (line.startsWith("+")) return "diff-add";
  if (line.startsWith("-")) return "diff-delete";
  if (line.startsWith("@@")) return "diff-place";
  if (line.startsWith("#")) return "diff-note";
  return undefined;
}
