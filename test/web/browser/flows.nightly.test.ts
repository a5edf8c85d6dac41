import { flowsOver } from "./flows.js";

flowsOver("memory");
