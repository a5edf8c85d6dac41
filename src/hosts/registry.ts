import type { AllHostWords } from "../core/model/host-words.js";
import type { HostId } from "../names.js";
import { github } from "./github/module.js";
import { GITHUB } from "./github/words.js";
import { gitlab } from "./gitlab/module.js";
import { GITLAB } from "./gitlab/words.js";
import type { HostModule } from "./host-module.js";

/** Every code host. An id in `names.ts` does not compile until its module is listed here. */
export const HOSTS: Readonly<Record<HostId, HostModule>> = { hosta: github, hostb: gitlab };

/** The words of every code host, with the command word of this service. */
export function hostWords(command: string): AllHostWords {
  return { hosta: { ...GITHUB, command }, hostb: { ...GITLAB, command } };
}
