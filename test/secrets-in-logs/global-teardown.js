import { spawnSync } from "node:child_process";
import { rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { removeMemoryFolder } from "../memory-folder.js";

/** Fails the run if one of its logs contains a secret that it used. */
export default async function searchLogFolder() {
  const program = fileURLToPath(new URL("main.ts", import.meta.url));
  const search = [process.execPath, "--import", "tsx", program, process.env.SVC_TEST_LOG_FOLDER];
  const { status } = spawnSync(search[0], search.slice(1), { stdio: "inherit" });
  await rm(process.env.SVC_TEST_COMPILED, { recursive: true, force: true });
  await removeMemoryFolder();
  if (status !== 0) throw new Error("the search of this run's logs for its secrets failed; see above");
}
