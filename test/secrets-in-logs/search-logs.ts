import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { ByteSearch } from "./byte-search.js";
import { encodingsOf } from "./encodings.js";
import { LOG_ENDING, SECRETS_ENDING, type KnownSecret } from "./kept-logs.js";

/** What the search of a folder looked at, and where a secret stood: a sentence each, without the secret. */
export interface SearchReport {
  readonly logs: number;
  readonly bytes: number;
  readonly secrets: number;
  readonly found: readonly string[];
}

const knownSecret = z.object({ name: z.string(), value: z.string() });

/**
 * Looks in every log of a folder for every secret of the folder, whichever process used it.
 * @throws {Error} when the search does not find a secret that is planted for it: then it proves nothing.
 */
export function searchLogs(folder: string): SearchReport {
  const names = readdirSync(folder);
  const secrets = knownSecrets(folder, names);
  const forms = [...secrets, PLANTED].flatMap(({ name, value }) => encodingsOf(value).map((text) => ({ name, text })));
  const search = new ByteSearch(forms.map(({ text }) => text));
  expectPlanted(search, forms);
  const found: string[] = [];
  let bytes = 0;
  const logs = names.filter((name) => name.endsWith(LOG_ENDING));
  for (const log of logs) {
    const content = readFileSync(join(folder, log));
    bytes += content.length;
    for (const { index, at } of search.find(content)) {
      found.push(`${forms[index]?.name ?? ""} in ${log}: ${around(content, at, forms[index]?.text.length ?? 0)}`);
    }
  }
  return { logs: logs.length, bytes, secrets: secrets.length, found: [...new Set(found)] };
}

function knownSecrets(folder: string, names: readonly string[]): readonly KnownSecret[] {
  const lines = names
    .filter((name) => name.endsWith(SECRETS_ENDING))
    .flatMap((name) => readFileSync(join(folder, name), "utf8").split("\n"))
    .filter((line) => line !== "")
    .map((line) => knownSecret.parse(JSON.parse(line)));
  return [...new Map(lines.map((secret) => [secret.value, secret])).values()];
}

const PLANTED: KnownSecret = { name: "planted", value: "planted/secret+of the search" };

function expectPlanted(search: ByteSearch, forms: readonly { readonly name: string; readonly text: string }[]): void {
  const lines = [
    PLANTED.value,
    encodeURIComponent(PLANTED.value),
    ...["", "x", "user:"].map((before) => Buffer.from(`${before}${PLANTED.value}`).toString("base64")),
  ];
  for (const line of lines) {
    const hits = search.find(Buffer.from(`{"msg":"request","header":"${line}"}\n`));
    if (!hits.some(({ index }) => forms[index]?.name === PLANTED.name)) {
      throw new Error(`the search of the logs is blind: it does not see ${line}`);
    }
  }
}

/** The beginning of the log line up to the secret: it tells which message it was. */
function around(content: Buffer, at: number, length: number): string {
  const start = content.lastIndexOf("\n", at) + 1;
  const end = content.indexOf("\n", at + length);
  const before = content.subarray(Math.max(start, at - 300), at).toString();
  const after = content
    .subarray(at + length, Math.min(end === -1 ? content.length : end, at + length + 200))
    .toString();
  return `${before}«secret»${after}`;
}
