import { serveTasks, TASKS } from "../../src/workers/worker-pool.js";
import { forgettingTask, strangeTask } from "./strange-tasks.js";

serveTasks({
  ...TASKS,
  "read-resources": () => Promise.resolve(strangeTask),
  "read-documents": () => Promise.resolve(forgettingTask),
});
