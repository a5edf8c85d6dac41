import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The folder in which this run's services leave their logs; every process that runs tests inherits the variable. */
export default async function makeLogFolder() {
  process.env.SVC_TEST_LOG_FOLDER = await mkdtemp(join(tmpdir(), "svc-test-logs-"));
}
