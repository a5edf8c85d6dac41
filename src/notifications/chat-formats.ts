import type { Message } from "./message.js";

/**
 * The body for an incoming webhook of Slack. Nothing but `text`: chats that take the same, such as Mattermost, read it too.
 * https://docs.slack.dev/messaging/formatting-message-text : `&`, `<` and `>` are escaped, so that no text can be a link or a
 * `<!channel>`; chats that find a plain `@all` do not, because a zero-width space follows the `@`.
 */
export function slackBody({ headline, lines, links }: Message): string {
  const linked = links.map(({ title, url }) => `<${escapeSlack(url.replaceAll("|", "%7C"))}|${slackText(title)}>`);
  const text = [
    slackText(headline),
    ...lines.map((line) => `• ${slackText(line)}`),
    ...(linked.length === 0 ? [] : [linked.join(" · ")]),
  ];
  return JSON.stringify({ text: text.join("\n"), unfurl_links: false, unfurl_media: false });
}

function slackText(text: string): string {
  return escapeSlack(text.replace(/[@#](?=[\w/])/g, (character) => `${character}\u200b`));
}

function escapeSlack(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/**
 * The body for a workflow of Teams that begins with "When a Teams webhook request is received": a message with one Adaptive Card.
 * https://learn.microsoft.com/en-us/microsoftteams/platform/webhooks-and-connectors/how-to/add-incoming-webhook : 28 KB at most.
 * A TextRun has no markup, unlike a TextBlock, which reads Markdown; only an `<at>` that the card declares mentions anybody.
 * https://learn.microsoft.com/en-us/adaptive-cards/authoring-cards/text-features
 */
export function teamsBody({ headline, lines, links }: Message): string {
  const card = {
    $schema: "http://adaptivecards.io/schemas/adaptive-card.json",
    type: "AdaptiveCard",
    version: "1.2",
    body: [paragraph(headline, { weight: "Bolder" }), ...lines.map((line) => paragraph(`• ${line}`))],
    actions: links.map(({ title, url }) => ({ type: "Action.OpenUrl", title, url })),
  };
  const attachment = { contentType: "application/vnd.microsoft.card.adaptive", contentUrl: null, content: card };
  return JSON.stringify({ type: "message", attachments: [attachment] });
}

function paragraph(text: string, style: { readonly weight?: "Bolder" } = {}): object {
  return { type: "RichTextBlock", inlines: [{ type: "TextRun", text, ...style }] };
}
