import { setPriority } from "node:os";
import { getHeapStatistics } from "node:v8";
import { parentPort } from "node:worker_threads";
import type { Task, TaskName } from "../core/ports/compute.js";

/** All tasks that a worker knows, each loaded when it is first asked for. */
type Tasks = Readonly<Record<TaskName, () => Promise<Task<never, unknown>>>>;

/** What a worker is asked to do; it answers `started`, and then how it ended. */
export interface Asked {
  readonly name: TaskName;
  input: unknown;
}

export type WorkerMessage =
  /** The modules of the task are loaded. */
  | { readonly kind: "started" }
  | { readonly kind: "done"; readonly output: unknown; readonly heapBytes: number }
  | { readonly kind: "failed"; readonly error: unknown };

/** Runs in the worker: does one task after the other. */
export function serveTasks(tasks: Tasks): void {
  const port = parentPort;
  if (port === null) throw new Error("tasks are served in a worker thread");
  lowerPriority();
  const answer = (message: WorkerMessage) => {
    port.postMessage(message);
  };
  port.on("message", (asked: Asked) => {
    void (async () => {
      try {
        const task: Task<never, unknown> = await tasks[asked.name]();
        answer({ kind: "started" });
        const work = begun(task, asked);
        const output = await work();
        answer({ kind: "done", output, heapBytes: getHeapStatistics().total_heap_size });
      } catch (error) {
        answer({ kind: "failed", error: error instanceof Error ? error : new Error(String(error)) });
      }
    })();
  });
}

/** Takes the input out of the message: it is this thread's own copy, and may be large. */
function begun(task: Task<never, unknown>, asked: Asked): () => unknown {
  const input = asked.input as never;
  if (task.begin === undefined) return () => task.run(input);
  asked.input = undefined;
  return task.begin(input);
}

/** Requests and leases come first. Only Linux gives a thread a priority of its own: see NOTES in setpriority(2). */
function lowerPriority(): void {
  if (process.platform === "linux") setPriority(0, 10);
}

/**
 * Every task that reads what strangers wrote and may take long. A thread loads only the modules of the tasks it does: loading
 * all of them takes longer than most tasks.
 */
export const TASKS: Tasks = {
  "may-hold-resource": async () => (await import("../core/detect/scan/manifests.js")).mayHoldResourceTask,
  "read-resources": async () => (await import("../core/detect/scan/resources.js")).readResourcesTask,
  "read-documents": async () => (await import("../core/detect/tree/yaml-documents.js")).readDocumentsTask,
  "other-words": async () => (await import("../core/detect/yaml/resolve-scalar.js")).otherWordsTask,
  "read-repository-file": async () => (await import("../core/survey/policy-files.js")).readRepositoryFileTask,
  "read-manifests": async () => (await import("../deployer/argocd/render.js")).readManifestsTask,
  "read-generated": async () => (await import("../deployer/argocd/create-argocd.js")).readGeneratedTask,
  "read-live": async () => (await import("../deployer/argocd/live-resources.js")).readLiveTask,
  "read-live-texts": async () => (await import("../deployer/argocd/live-resources.js")).readLiveTextsTask,
  "trial-order": async () => (await import("../core/diff/diff-task.js")).trialOrderTask,
  marks: async () => (await import("../core/diff/diff-task.js")).markTask,
  diff: async () => (await import("../core/diff/diff-task.js")).diffTask,
  removal: async () => (await import("../core/render/preview.js")).removalTask,
  "check-input": async () => (await import("../core/render/check-manifests.js")).checkInputTask,
  "render-digest": async () => (await import("../core/render/digest-render.js")).renderDigestTask,
  "definition-diff": async () => (await import("../core/diff/manifest-diff.js")).definitionDiffTask,
  "render-plan": async () => (await import("../comments/plan.js")).renderPlanTask,
};
