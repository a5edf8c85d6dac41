import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compileSources } from "../compiled/compile-sources.js";
import { useMemoryFolder } from "../memory-folder.js";

/** Services under test write their logs into this folder. Every process that runs tests inherits the variable. */
export default async function makeLogFolder() {
  await useMemoryFolder();
  await compileSources();
  process.env.SVC_TEST_LOG_FOLDER = await mkdtemp(join(tmpdir(), "svc-test-logs-"));
}
