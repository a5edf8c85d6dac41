import type { AllHostWords, HostWords } from "../core/model/host-words.js";
import type { HostId } from "../names.js";
import { github } from "./github/module.js";
import { gitlab } from "./gitlab/module.js";
import type { HostModule } from "./host-module.js";

/** Every code host. An id in `names.ts` does not compile until its module is listed here. */
export const HOSTS: Readonly<Record<HostId, HostModule>> = { hosta: github, hostb: gitlab };

/** The words of every code host, with the command word of this service. */
export function hostWords(command: string): AllHostWords {
  const words = Object.entries(HOSTS).map(([id, module]): [string, HostWords] => {
    const { title, changeRequest, short, sigil, maxComment, maxStatusDescription, maxStatuses } = module;
    const { keepsPendingText, signs } = module;
    return [
      id,
      {
        command,
        title,
        changeRequest,
        short,
        sigil,
        maxComment,
        maxStatusDescription,
        maxStatuses,
        keepsPendingText,
        signs,
      },
    ];
  });
  return Object.fromEntries(words) as AllHostWords;
}
