import { serveTasks, TASKS } from "../../src/workers/serve-tasks.js";
import { strangeTask } from "./strange-tasks.js";

serveTasks({ ...TASKS, "read-resources": () => Promise.resolve(strangeTask) });
