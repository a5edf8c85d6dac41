import { afterAll, expect, test } from "@jest/globals";
import fc from "fast-check";
import { FULL_READING } from "../../src/core/detect/scan/manifests.js";
import { readResourcesTask } from "../../src/core/detect/scan/resources.js";
import { createWorkerPool } from "../../src/workers/worker-pool.js";
import { fuzzAsync } from "./fuzz.js";
import { pumped, YAML } from "./pumped-text.js";

const LONGEST = 1024 * 1024;
/** Each takes up to a second of a thread, and more on a busy machine: within its time at least one has to be tried. */
const SHARE = { runs: 0.1, seconds: 3 };

const pool = createWorkerPool();
afterAll(() => pool.close());

/** Files that took a parser of YAML minutes, and others like them; each may hold an Application. */
const file = fc
  .tuple(
    fc.constantFrom("kind: Application\napiVersion: argoproj.io/v1alpha1\nspec: ", '# "\\x41"\n'),
    pumped(YAML, LONGEST),
  )
  .map((parts) => parts.join("").slice(0, LONGEST));

test("a file of repeated parts is read or refused before its deadline, and the event loop answers meanwhile", async () => {
  let read = 0;
  await fuzzAsync(
    "pumped-files",
    file,
    async (text) => {
      let [last, silent] = [performance.now(), 0];
      const timer = setInterval(() => {
        silent = Math.max(silent, performance.now() - last);
        last = performance.now();
      }, 10);
      const limits = { owner: "fuzz", deadlineMs: FULL_READING.deadlineMs, signal: new AbortController().signal };
      const computed = await pool.run(readResourcesTask, [text], limits);
      read += 1;
      clearInterval(timer);
      if (computed.kind !== "done") throw new Error(`a file exceeded its limit of ${computed.limit}`);
      if (silent > FULL_READING.deadlineMs / 2) throw new Error(`the event loop was silent for ${silent} ms`);
    },
    SHARE,
  );
  expect(read).toBeGreaterThan(0);
});
