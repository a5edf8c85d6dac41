import { serveTasks } from "./worker-pool.js";

serveTasks();
