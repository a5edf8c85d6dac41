import { looksOf } from "./looks.js";

looksOf(["dark", "phone"], []);
