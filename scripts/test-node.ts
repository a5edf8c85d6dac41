import { spawnSync } from "node:child_process";
import { delimiter } from "node:path";
import { ROOT } from "./generated-files.js";
import { installNode } from "./node-version.js";

const [version = "24", ...args] = process.argv.slice(2);
const { node, folder } = installNode(version);
const jest = ["--experimental-vm-modules", "--disable-warning=ExperimentalWarning", "node_modules/jest/bin/jest.js"];
process.stdout.write(`Node.js ${spawnSync(node, ["--version"], { encoding: "utf8" }).stdout}`);
const { status } = spawnSync(node, [...jest, ...args], {
  cwd: ROOT,
  stdio: "inherit",
  // Programs that tests start must run on this version too.
  env: { ...process.env, PATH: `${folder}${delimiter}${process.env.PATH ?? ""}` },
});
process.exitCode = status ?? 1;
