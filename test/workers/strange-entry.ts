import { serveTasks, TASKS } from "../../src/workers/serve-tasks.js";
import { forgettingTask, strangeTask } from "./strange-tasks.js";

serveTasks({
  ...TASKS,
  "read-resources": () => Promise.resolve(strangeTask),
  "read-documents": () => Promise.resolve(forgettingTask),
});
