import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { ROOT } from "./generated-files.js";
import { installNode } from "./node-version.js";

const args = process.argv.slice(2);
const manifest = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { scripts: { test: string } };
// The flags of `npm test` too: a version may refuse one.
const jest = manifest.scripts.test.split(" ").slice(1);
const versions: string[] = [];
while (/^\d+(?:\.\d+){0,2}$/.test(args[0] ?? "")) versions.push(...args.splice(0, 1));
for (const version of versions.length === 0 ? ["26"] : versions) {
  const { node, folder } = installNode(version);
  process.stdout.write(`Node.js ${spawnSync(node, ["--version"], { encoding: "utf8" }).stdout}`);
  const { status } = spawnSync(node, [...jest, ...args], {
    cwd: ROOT,
    stdio: "inherit",
    // Programs that tests start must run on this version too.
    env: { ...process.env, PATH: `${folder}${delimiter}${process.env.PATH ?? ""}` },
  });
  if (status !== 0) process.exitCode = status ?? 1;
}
