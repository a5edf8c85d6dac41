import type { Tasks } from "./serve-tasks.js";

/**
 * Every task that reads what strangers wrote and may take long. A thread loads only the modules of the tasks it does: loading
 * all of them takes longer than most tasks.
 */
export const TASKS: Tasks = {
  "may-hold-resource": async () => (await import("../core/detect/scan/manifests.js")).mayHoldResourceTask,
  "read-resources": async () => (await import("../core/detect/scan/resources.js")).readResourcesTask,
  "read-documents": async () => (await import("../core/detect/tree/yaml-documents.js")).readDocumentsTask,
  "other-words": async () => (await import("../core/detect/yaml/other-words.js")).otherWordsTask,
  "read-repository-file": async () => (await import("../core/survey/policy-files.js")).readRepositoryFileTask,
  "read-manifests": async () => (await import("../deployer/argocd/render.js")).readManifestsTask,
  "read-generated": async () => (await import("../deployer/argocd/application-sets.js")).readGeneratedTask,
  "read-live": async () => (await import("../deployer/argocd/live-resources.js")).readLiveTask,
  "read-live-texts": async () => (await import("../deployer/argocd/live-resources.js")).readLiveTextsTask,
  diff: async () => (await import("../core/diff/diff-task.js")).diffTask,
  removal: async () => (await import("../core/diff/live/removal.js")).removalTask,
  "check-input": async () => (await import("../core/render/check-manifests.js")).checkInputTask,
  "definition-diff": async () => (await import("../core/diff/manifest-diff.js")).definitionDiffTask,
  "render-plan": async () => (await import("../comments/plan.js")).renderPlanTask,
};
