/**
 * Every text under which a secret may stand in a log: plain, as JSON writes it, URL-encoded, and in base64. Base64 is
 * given for all three places where it can begin inside a longer encoded text, such as `user:<secret>`.
 */
export function encodingsOf(secret: string): readonly string[] {
  const forms = [
    secret,
    JSON.stringify(secret).slice(1, -1),
    ...urlForms(secret),
    ...[0, 1, 2].flatMap((offset) => base64Forms(secret, offset)),
  ];
  return [...new Set(forms)];
}

function urlForms(secret: string): readonly string[] {
  // A lone half of a surrogate pair has no URL-encoded form.
  const component = encodeURIComponent(Buffer.from(secret).toString());
  const form = new URLSearchParams([["", secret]]).toString().slice(1);
  return [component, form].flatMap((text) => [text, text.replace(/%[0-9A-F]{2}/g, (byte) => byte.toLowerCase())]);
}

/** Only the characters that the bytes around the secret have no part in. */
function base64Forms(secret: string, offset: number): readonly string[] {
  const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(secret)]);
  const from = Math.ceil((offset * 8) / 6);
  const to = Math.floor((bytes.length * 8) / 6);
  return [bytes.toString("base64").slice(from, to), bytes.toString("base64url").slice(from, to)];
}
