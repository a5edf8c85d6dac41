import { appendFileSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { ArgoCd } from "../../sandbox/argocd/argocd.js";
import { recordedExchange, type RecordedExchange } from "./recorded-exchange.js";

/** Names the folder in which scenarios leave what went over the wire to Argo CD; nothing is kept when it is unset. */
export const RECORDING_FOLDER = "SVC_TEST_RECORD_ARGOCD";

/** Writes each exchange down at once, one line each, into a file of this process: scenarios run in several. */
export function recordExchanges(argocd: ArgoCd): void {
  const folder = process.env[RECORDING_FOLDER];
  if (folder === undefined || folder === "") return;
  const file = join(folder, `${process.pid}.jsonl`);
  argocd.onExchange(({ method, path, query, requestHeaders, requestBody, status, answer }) => {
    const contentType = requestHeaders["content-type"];
    const exchange: RecordedExchange = { method, path, query, contentType, requestBody, status, answer };
    appendFileSync(file, `${JSON.stringify(exchange)}\n`);
  });
}

/** @throws {Error} for a line that is no exchange, so that half a recording never passes for a whole one. */
export function readRecording(folder: string): RecordedExchange[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith(".jsonl"))
    .flatMap((name) => readFileSync(join(folder, name), "utf8").split("\n"))
    .filter((line) => line !== "")
    .map((line) => recordedExchange.parse(JSON.parse(line)));
}
