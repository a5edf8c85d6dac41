import type { Reading } from "../../src/core/detect/tree/yaml-documents.js";
import type { Compute } from "../../src/core/ports/compute.js";

/** Runs tasks at once, on clones as a thread would get them. */
export const inlineCompute: Compute = {
  async run(task, input, { signal }) {
    signal.throwIfAborted();
    return { kind: "done", output: structuredClone(await task.run(structuredClone(input))) };
  },
};

/** Stops every task for as long as it is busy. */
export class BusyMachine implements Compute {
  busy = true;
  tasks = 0;

  run: Compute["run"] = async (task, input, limits) => {
    this.tasks += 1;
    return this.busy ? { kind: "exceeded", limit: "time" } : inlineCompute.run(task, input, limits);
  };
}

/** For texts that are read outside of any change request. */
export const INLINE_READING: Reading = { compute: inlineCompute, owner: "test", signal: new AbortController().signal };

/** What a scan is asked for beside its commit. */
export const TRUSTED_SCAN = { owner: INLINE_READING.owner, trusted: true, signal: INLINE_READING.signal };
