import { rmSync } from "node:fs";
import { searchLogs } from "./search-logs.js";

const MOST_SHOWN = 20;

/** Searches the logs of a test run for its secrets. They are removed when they are clean, and kept to look at otherwise. */
function main(folder: string): number {
  const { logs, bytes, secrets, found } = searchLogs(folder);
  const what = `${logs} logs (${(bytes / 1e6).toFixed(1)} MB) for ${secrets} secrets, plain, in base64 and URL-encoded`;
  if (found.length === 0) {
    if (secrets > 0) process.stdout.write(`Searched ${what}: none found\n`);
    rmSync(folder, { recursive: true, force: true });
    return 0;
  }
  const shown = found.slice(0, MOST_SHOWN).map((one) => `  ${one}\n`);
  process.stderr.write(`Searched ${what}: ${found.length} found in ${folder}\n${shown.join("")}`);
  return 1;
}

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error("name the folder with the logs");
process.exitCode = main(folder);
