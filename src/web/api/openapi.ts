import { readFileSync } from "node:fs";
import { parse } from "yaml";

/** The description of the HTTP API, from the file that ships beside the program. */
export function readOpenapi(): unknown {
  return parse(readFileSync(new URL("../../../openapi.yaml", import.meta.url), "utf8"));
}
