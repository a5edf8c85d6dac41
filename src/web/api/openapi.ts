import { readFileSync } from "node:fs";
import { parse } from "yaml";

let read: unknown;

/** The description of the HTTP API, from the file that ships beside the program; parsed when first asked for. */
export function readOpenapi(): unknown {
  read ??= parse(readFileSync(new URL("../../../openapi.yaml", import.meta.url), "utf8"));
  return read;
}
