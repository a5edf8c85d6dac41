import { looksOf } from "./looks.js";

looksOf(["light"], ["empty", "unguarded"]);
