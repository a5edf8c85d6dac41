import type { Compute } from "../../src/core/ports/compute.js";

/** Runs tasks at once, on clones as a thread would get them. */
export const inlineCompute: Compute = {
  async run(task, input, { signal }) {
    signal.throwIfAborted();
    return { kind: "done", output: structuredClone(await task.run(structuredClone(input))) };
  },
};
