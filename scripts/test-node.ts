import { spawnSync } from "node:child_process";
import { delimiter } from "node:path";
import { ROOT } from "./generated-files.js";
import { installNode } from "./node-version.js";

const args = process.argv.slice(2);
const jest = ["--experimental-vm-modules", "--disable-warning=ExperimentalWarning", "node_modules/jest/bin/jest.js"];
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
