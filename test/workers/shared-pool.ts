import { createWorkerPool, type WorkerPool } from "../../src/workers/worker-pool.js";
import { compiled } from "../compiled/compiled.js";

const KEY = Symbol.for("svc.test.worker-pool");

/** One pool for all services under test of this process, since threads take long to start from sources. */
export function sharedPool(): WorkerPool {
  const realm = globalThis as { [KEY]?: WorkerPool };
  const entry = compiled("workers/entry.js");
  // The flags of the tests give threads larger heaps, and the default would end each after its first task.
  return (realm[KEY] ??= createWorkerPool({ keptMb: 128, ...(entry && { entry }) }));
}
