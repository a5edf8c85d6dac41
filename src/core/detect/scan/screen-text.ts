/** Escapes of double-quoted YAML and of JSON that stand for a letter, a dot or a slash, and an escaped end of a line. */
const ESCAPES =
  /\\(?:x([\dA-Fa-f]{2})|u([\dA-Fa-f]{4})|U([\dA-Fa-f]{8})|(\/)|(?:\r+\n?|[\n\u0085\u2028\u2029])[ \t]*)/g;
/** A tag, however it is spelled, that makes Argo CD's parser decode Base64. */
const ENCODED = /![!<\w:.,/-]{0,40}(?:binary|%)|(?:^|[\x85\ufeff])%TAG/m;

/**
 * Whether a text can hold an Application or ApplicationSet. Cheap, and never wrong when it says no: the words stand there
 * as they are, come out when escapes are read, or may be encoded.
 */
export function mayHoldResource(text: string): boolean {
  return hasWords(text) || (text.includes("\\") && hasWords(unescaped(text))) || ENCODED.test(text);
}

function hasWords(text: string): boolean {
  return text.includes("argoproj.io/") && text.includes("Application");
}

/** Reads escapes everywhere: a word that is spelled with them begins behind its quote, so what precedes it changes nothing. */
function unescaped(text: string): string {
  return text.replace(ESCAPES, (_, byte?: string, short?: string, long?: string, slash?: string) => {
    if (slash !== undefined) return slash;
    const code = byte ?? short ?? long;
    const point = code === undefined ? undefined : Number.parseInt(code, 16);
    return point === undefined || point > 0x10ffff ? "" : String.fromCodePoint(point);
  });
}

/** Whether a text can hold a Secret. Cheap, and never wrong when it says no. */
export function mayHoldSecret(text: string): boolean {
  return /secret/i.test(text) || (text.includes("\\") && /secret/i.test(unescaped(text))) || ENCODED.test(text);
}
