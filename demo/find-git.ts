import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

/** The sandbox merges with `git merge-tree --write-tree`, which git 2.38 introduced. */
const OLDEST: readonly [number, number] = [2, 38];

/** Lines that explain what is wrong with this machine's git and how to fix it; undefined if git is usable. */
export async function gitProblem(): Promise<readonly string[] | undefined> {
  let answer: string;
  try {
    answer = (await run("git", ["--version"], { timeout: 10_000 })).stdout;
  } catch {
    return ["The demo needs git, and there is none on the PATH.", ...INSTALL];
  }
  const [, major = "0", minor = "0"] = /(\d+)\.(\d+)/.exec(answer) ?? [];
  const isOld = Number(major) < OLDEST[0] || (Number(major) === OLDEST[0] && Number(minor) < OLDEST[1]);
  return isOld
    ? [`The demo needs git ${OLDEST.join(".")} or newer; this machine has: ${answer.trim()}`, ...INSTALL]
    : undefined;
}

const INSTALL = [
  "Install it, then run npm run demo again:",
  "  Debian, Ubuntu   sudo apt-get update && sudo apt-get install -y git",
  "  macOS            xcode-select --install   (or: brew install git)",
  "  others           https://git-scm.com/downloads",
];
