const MAXIMUM_LENGTH = 4000;

/** Credentials inside a URL, as git prints them. Lengths are limited so that no text makes the match slow. */
const USERINFO = /\b([a-z][a-z0-9+.-]{0,15}:\/\/)[^\s/@'"]{1,512}@/gi;

/** Argo CD embeds the errors of its own parts with this in front; it means nothing to people. */
const RPC_PREFIX = /rpc error: code = \w{1,40} desc = /g;

/** Argo CD's text as people may see it: no gRPC prefixes, no credentials, at most about 4 KB. */
export function readableText(text: string, limit = MAXIMUM_LENGTH): string {
  const cleaned = text
    .slice(0, limit * 4)
    .replace(RPC_PREFIX, "")
    .replace(USERINFO, "$1")
    .trim();
  if (cleaned.length <= limit) return cleaned;
  return `${cleaned.slice(0, limit).replace(/[\uD800-\uDBFF]$/, "")}…`;
}
