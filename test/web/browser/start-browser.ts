import { existsSync } from "node:fs";
import { chromium, type Browser } from "playwright-core";

/** Where a Debian machine has the browser. */
const CHROMIUM = "/usr/bin/chromium";
const ARGUMENTS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Debian's Chromium, one for all tests of a file; `more` are arguments of its command line. */
export async function startBrowser(more: readonly string[] = []): Promise<Browser> {
  if (!existsSync(CHROMIUM)) {
    throw new Error(`${CHROMIUM} is missing: install it with \`apt-get install chromium\``);
  }
  return chromium.launch({ executablePath: CHROMIUM, args: [...ARGUMENTS, ...more] });
}
