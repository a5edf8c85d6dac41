import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * Installs a Node.js of this version line (`26`, `20.19`) from npm's `node` package into a folder outside the repository,
 * where the next call finds it again. Returns the folder of the program. @throws {Error} if npm fails.
 */
export function installNode(version: string): { readonly node: string; readonly folder: string } {
  if (!/^\d+(?:\.\d+){0,2}$/.test(version)) {
    throw new Error(`not a version of Node.js: ${version}; give one such as 26`);
  }
  const prefix = join(tmpdir(), `node-${version}`);
  mkdirSync(prefix, { recursive: true });
  const options = ["--no-save", "--no-audit", "--no-fund", "--ignore-scripts=false"];
  execFileSync("npm", ["install", "--prefix", prefix, ...options, `node@${version}`], {
    cwd: prefix,
    stdio: ["ignore", "ignore", "inherit"],
  });
  const folder = join(prefix, "node_modules", "node", "bin");
  return { node: join(folder, "node"), folder };
}
