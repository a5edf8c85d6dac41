import MarkdownIt from "markdown-it";

/** Reads a comment as both hosts do: GitHub-flavoured Markdown with HTML, and addresses made to links. */
const markdown = new MarkdownIt({ html: true, linkify: true });

/** HTML that our own comments are made of; everything else came from outside. */
const OUR_HTML = /<!-- svc:[^>]*-->|<details(?: open)?>|<\/details>|<\/?summary>|<br ?\/?>/g;

/** Controls, and characters that turn text around. */
const DECEIVING = /[\u200E\u200F\u202A-\u202E\u2066-\u2069\u0000-\u0008\u001B]/;

/** A command, with names that Kubernetes allows. */
const TO_COPY = /^svc [a-z]+(?: -a [a-z0-9](?:[a-z0-9./-]*[a-z0-9])?| --[a-z-]+)*\n$/;

/**
 * What of a comment would act on the people and the change request of a code host: HTML, links and pictures of
 * strangers, mentions, references, quick actions, commands, and characters that turn text around. Empty when harmless.
 * @param allowed Addresses that our own links may lead to begin with one of these.
 */
export function harmIn(comment: string, allowed: readonly string[] = []): readonly string[] {
  const found: string[] = [];
  const tokens = markdown.parse(comment, {}).flatMap((token) => [token, ...(token.children ?? [])]);
  for (const { type, content, attrs } of tokens) {
    if (type === "html_block" || type === "html_inline") {
      const rest = content.replace(OUR_HTML, "");
      if (/<[a-z/!?]/i.test(rest)) found.push(`HTML: ${rest.trim()}`);
      found.push(...harmInText(rest.replace(/<[^>]*>/g, "")));
    }
    for (const [name, value] of attrs ?? []) {
      if (name !== "href" && name !== "src") continue;
      const target = String(value);
      if (!allowed.some((start) => target.startsWith(start))) found.push(`link: ${target}`);
    }
    if (type === "text") found.push(...harmInText(content));
  }
  const lines = comment.split(/\r\n|[\r\n\u2028\u2029]/);
  // GitLab reads them at the very beginning of a line, and in a fence too when it takes the fence's end for nearer than it is.
  found.push(...lines.filter((line) => /^\/[a-z]/i.test(line)).map((line) => `quick action: ${line}`));
  // One alone in a fence is for people to copy; a text of strangers would stand in it with a space before each line.
  const copied = tokens.filter(({ type, content }) => type === "fence" && TO_COPY.test(content)).length;
  const commands = lines.filter((line) => /^svc\b/i.test(line));
  if (commands.length !== copied) found.push(...commands.map((line) => `command: ${line}`));
  if (DECEIVING.test(comment)) found.push("characters that deceive");
  return found;
}

/** A mention, a reference or a closing word where a host would act on it, or what it would show as a formula. */
function harmInText(text: string): readonly string[] {
  return [
    ...[...text.matchAll(/(?:^|[^\w`/])(@[a-z][\w/-]*|[#!]\d+|GH-\d+)/gi)].map(([, match]) => `reference: ${match}`),
    ...[...text.matchAll(/\$[^$]+\$/g)].map(([match]) => `formula: ${match}`),
  ];
}
