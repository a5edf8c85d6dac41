import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { diffTask, type DiffInput } from "../../src/core/diff/diff-task.js";
import { readIgnoreRules } from "../../src/core/diff/live/live-objects.js";
import type { Manifest } from "../../src/core/model/application.js";
import { revision } from "../../src/core/model/brand.js";
import { type Json, jsonText } from "../../src/core/model/json.js";
import type { LiveState } from "../../src/core/ports/deployer.js";
import { shareOf } from "../share-of.js";
import { sharedPool } from "./shared-pool.js";

const limits = { owner: "tests", deadlineMs: 60_000, signal: new AbortController().signal };

function inputOf(base: readonly Manifest[], head: readonly Manifest[], mode: "branch" | "live" | "both"): DiffInput {
  const resources = base.map((live, index) => {
    const identity = { group: "", kind: "ConfigMap", namespace: "shop", name: `c${index}` };
    return { ...identity, live, whole: live, lastApplied: live, hook: false, copied: false };
  });
  const state = jsonText<LiveState>({ resources, stale: undefined });
  return {
    base: jsonText(base),
    head: jsonText(head),
    destinationNamespace: "shop",
    baseNamespace: "shop",
    syncOptions: [],
    placeholders: { base: revision("a".repeat(40)), head: revision("b".repeat(40)) },
    redact: [],
    secretsInGit: { changed: [], files: [] },
    sensitiveKinds: [],
    ignored: readIgnoreRules({}, {}),
    answers: {},
    live: mode === "branch" ? undefined : { mode, state },
  };
}

function configMap(data: Json, index = 0): Manifest {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name: `c${index}` }, data };
}

const manifests = fc.array(
  fc.jsonValue({ maxDepth: 4 }).map((data) => data as Json),
  { maxLength: 3 },
);

test("a worker finds the same differences as the main thread", async () => {
  await fc.assert(
    fc.asyncProperty(manifests, manifests, fc.constantFrom("branch", "live", "both"), async (base, head, mode) => {
      const input = inputOf(base.map(configMap), head.map(configMap), mode);
      const inWorker = await sharedPool().run(diffTask, input, limits);
      expect(inWorker).toEqual({ kind: "done", output: await diffTask.run(input) });
    }),
    { numRuns: shareOf(80) },
  );
});

/** Contents that are slow for one of the algorithms, both sides. */
const PUMPED: Readonly<Record<string, (side: string) => Json>> = {
  "lines that all differ": (side) => ({ text: many(shareOf(40_000), (line) => `${side}${line}`).join("\n") }),
  "lines of few kinds in another order": (side) => ({
    text: many(shareOf(60_000), (line) => String((line * (side === "a" ? 7 : 5)) % 3)).join("\n"),
  }),
  "one long line": (side) => ({ text: side.repeat(shareOf(400_000)) }),
  "keys that all stay": (side) => Object.fromEntries(many(shareOf(20_000), (key) => [`key${key}`, `${side}${key}`])),
  "keys that all go": (side) => Object.fromEntries(many(shareOf(20_000), (key) => [`${side}${key}`, "x"])),
  "a list in reverse": (side) => {
    const list = many(shareOf(30_000), (index) => ({ name: `n${index}` }));
    return { list: side === "a" ? list : list.reverse() };
  },
  "runs of backticks": (side) => ({ text: many(shareOf(50_000), (run) => "`".repeat(run % 5) + side).join(" ") }),
  "deep objects": (side) => JSON.parse(`${'{"a":'.repeat(190)}"${side}"${"}".repeat(190)}`) as Json,
};

function many<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

describe.each(Object.entries(PUMPED))("%s", (_name, data) => {
  test.each(["branch", "live"] as const)(
    "are reported as a change within the deadline, compared in mode %s",
    async (mode) => {
      const input = inputOf([configMap(data("a"))], [configMap(data("b"))], mode);
      const computed = await sharedPool().run(diffTask, input, limits);
      expect(computed).toMatchObject({
        kind: "done",
        output: { diff: { updated: 1, resources: [{ action: "update" }] } },
      });
    },
  );
});
