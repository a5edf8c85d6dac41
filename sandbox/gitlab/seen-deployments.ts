import type { SeenDeployments } from "../forge.js";
import type { Instance } from "./model/instance.js";
import { accessLevels } from "./model/project.js";

export interface GitLabDeployments extends SeenDeployments {
  /** States of a project's environments by their names. */
  environments(repository: string): Readonly<Record<string, string>>;
  /** What the token may do from now on. */
  setScopes(...scopes: readonly string[]): void;
}

export function seenDeployments(instance: Instance): GitLabDeployments {
  return {
    seen: (name) =>
      instance.project(name).deployments.map(({ environment, sha, ref, statuses }) => ({
        environment: environment.name,
        revision: sha,
        ref,
        states: [...statuses],
        link: environment.externalUrl ?? undefined,
        output: undefined,
      })),
    forbid: (name) => void instance.project(name).members.set(instance.bot.id, accessLevels.read),
    environments: (name) => Object.fromEntries(instance.project(name).environments.map((one) => [one.name, one.state])),
    setScopes: (...scopes) => {
      instance.scopes = scopes;
    },
  };
}
