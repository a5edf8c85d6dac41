import { serveTasks } from "../../src/workers/serve-tasks.js";
import { TASKS } from "../../src/workers/tasks.js";
import { strangeTask } from "./strange-tasks.js";

serveTasks({ ...TASKS, "read-resources": () => Promise.resolve(strangeTask) });
