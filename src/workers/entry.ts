import { serveTasks, TASKS } from "./serve-tasks.js";

serveTasks(TASKS);
