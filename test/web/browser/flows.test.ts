import { flowsOver } from "./flows.js";

flowsOver("redis");
