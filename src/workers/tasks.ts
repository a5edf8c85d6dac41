import { readResourcesTask } from "../core/detect/scan/resources.js";
import type { Tasks } from "./serve-tasks.js";

/** Everything that reads what strangers wrote and may take long. */
export const TASKS: Tasks = { "read-resources": readResourcesTask };
