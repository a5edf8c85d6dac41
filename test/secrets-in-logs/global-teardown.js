import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

/** Fails the run when a secret that it used stands in a log of it. */
export default function searchLogFolder() {
  const program = fileURLToPath(new URL("main.ts", import.meta.url));
  const search = [process.execPath, "--import", "tsx", program, process.env.SVC_TEST_LOG_FOLDER];
  const { status } = spawnSync(search[0], search.slice(1), { stdio: "inherit" });
  if (status !== 0) throw new Error("the logs of this run were searched for its secrets, and something is wrong");
}
