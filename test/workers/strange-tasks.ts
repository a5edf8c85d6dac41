import { setImmediate } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { readFirst, type Task } from "../../src/core/ports/compute.js";

/** What a task of the tests does. */
export type Strange =
  | { readonly do: "echo"; readonly value: unknown }
  /** Never returns, and never lets another message in. */
  | { readonly do: "spin" }
  /** Takes memory in pieces, as parsers do, until there is none left. */
  | { readonly do: "grow" }
  /** Holds this many million numbers while it works. */
  | { readonly do: "hold"; readonly millions: number }
  /** Sets the second number, and lets no other message in until the first one is set. */
  | { readonly do: "wait"; readonly until: Int32Array }
  | { readonly do: "throw" }
  | { readonly do: "exit" }
  /** The worker's thread id: who worked. */
  | { readonly do: "who" };

/** Stands in the table of a pool's worker under the name of a real task. */
export const strangeTask: Task<Strange, unknown> = { name: "read-resources", run };

async function run(input: Strange): Promise<unknown> {
  switch (input.do) {
    case "echo":
      return input.value;
    case "spin":
      for (;;);
    case "grow": {
      const kept: unknown[] = [];
      for (;;) kept.push("a,b,c,d".repeat(10_000).split(","));
    }
    case "hold":
      return Array.from({ length: input.millions * 1_000_000 }, (_, index) => index).length;
    case "wait":
      Atomics.store(input.until, 1, 1);
      return Atomics.wait(input.until, 0, 0);
    case "throw":
      throw new TypeError("a bug in a task");
    case "exit":
      return process.exit(3);
    case "who":
      return (await import("node:worker_threads")).threadId;
  }
}

/** Tells whether its input was still in memory after it was read. */
export const forgettingTask = readFirst(
  "read-documents",
  (input: { readonly text: string }) => new WeakRef(input),
  async (input) => {
    await setImmediate();
    setFlagsFromString("--expose-gc");
    (runInNewContext("gc") as () => void)();
    return input.deref() !== undefined;
  },
);
