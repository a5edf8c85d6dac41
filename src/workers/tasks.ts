import { renderPlanTask } from "../comments/plan.js";
import { mayHoldResourceTask } from "../core/detect/scan/read-files.js";
import { readResourcesTask } from "../core/detect/scan/resources.js";
import { readDocumentsTask } from "../core/detect/tree/foreign-text.js";
import { definitionDiffTask } from "../core/diff/definition-diff.js";
import { diffTask } from "../core/diff/diff-task.js";
import { removalTask } from "../core/diff/removal.js";
import { checkInputTask } from "../core/render/check-input.js";
import { readRepositoryFileTask } from "../core/survey/repository-file.js";
import { readGeneratedTask } from "../deployer/argocd/application-sets.js";
import { readLiveTask } from "../deployer/argocd/live-resources.js";
import { readLiveTextsTask } from "../deployer/argocd/live-texts.js";
import { readManifestsTask } from "../deployer/argocd/normalise-manifests.js";
import type { Tasks } from "./serve-tasks.js";

/** Everything that reads what strangers wrote and may take long. */
export const TASKS: Tasks = {
  "may-hold-resource": mayHoldResourceTask,
  "read-resources": readResourcesTask,
  "read-documents": readDocumentsTask,
  "read-repository-file": readRepositoryFileTask,
  "read-manifests": readManifestsTask,
  "read-generated": readGeneratedTask,
  "read-live": readLiveTask,
  "read-live-texts": readLiveTextsTask,
  diff: diffTask,
  removal: removalTask,
  "check-input": checkInputTask,
  "definition-diff": definitionDiffTask,
  "render-plan": renderPlanTask,
};
