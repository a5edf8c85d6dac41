import type { SeenDeployments } from "../forge.js";
import type { World } from "./world.js";

export function seenDeployments(world: World): SeenDeployments {
  return {
    seen: (name) =>
      world.repository(name).deployments.map(({ environment, sha, ref, statuses }) => ({
        environment,
        revision: sha,
        ref,
        states: statuses.map(({ state }) => state),
        link: statuses.findLast(({ environmentUrl }) => environmentUrl !== "")?.environmentUrl,
        output: statuses.findLast(({ logUrl }) => logUrl !== "")?.logUrl,
      })),
    /** Tokens that were handed out keep the permission. */
    forbid() {
      const left = Object.entries(world.app.permissions).filter(([name]) => name !== "deployments");
      world.app.permissions = Object.fromEntries(left);
    },
  };
}
