import { serveTasks, TASKS } from "./worker-pool.js";

serveTasks(TASKS);
