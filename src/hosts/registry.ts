import type { HostId } from "../names.js";
import { github } from "./github/module.js";
import { gitlab } from "./gitlab/module.js";
import type { HostModule } from "./host-module.js";

/** Every code host. An id in `names.ts` does not compile until its module is listed here. */
export const HOSTS: Readonly<Record<HostId, HostModule>> = { hosta: github, hostb: gitlab };
