import type { Forge } from "../../sandbox/forge.js";
import { appKeys, GITHUB_APP, GITLAB_TOKEN, startSandbox, type SandboxWorld } from "../../sandbox/world.js";
import { HOST_IDS, type HostId } from "../../src/names.js";
import { applicationResource, repositoryOf } from "../scenarios/resources.js";
import { REPOSITORY } from "./observer.js";
import type { Peers } from "./replica.js";

/** Applications whose definitions stand in the repository of each host. */
export const APPLICATIONS: Readonly<Record<HostId, readonly string[]>> = {
  hosta: ["web", "api", "jobs"],
  hostb: ["shop", "cart", "mail"],
};
/** Of every webhook. */
export const SECRET = "chaos-webhook-secret";
/** Long enough to be cut off in. */
const OPERATION_MS = 300;

/** Both code hosts, and an Argo CD that has deployed what their repositories hold. */
export interface Outside {
  readonly world: SandboxWorld;
  readonly forges: Readonly<Record<HostId, Forge>>;
}

export async function startOutside(): Promise<Outside> {
  const world = await startSandbox({ github: true, gitlab: true, argocd: { operationTime: { ms: OPERATION_MS } } });
  const { github, gitlab, argocd } = world;
  if (github === undefined || gitlab === undefined) throw new Error("the sandbox has not both hosts");
  const forges = { hosta: github, hostb: gitlab };
  for (const host of HOST_IDS) {
    const forge = forges[host];
    const repoURL = `${forge.url}/${REPOSITORY}.git`;
    await forge.createRepository(REPOSITORY, repositoryOf(APPLICATIONS[host], repoURL));
    for (const login of ["ana", "bo"]) forge.setAccess(REPOSITORY, login, "write");
    for (const name of APPLICATIONS[host]) {
      argocd.addApplication(applicationResource(name, { repoURL }));
      await argocd.deploy(name);
    }
  }
  return { world, forges };
}

/** The service's configuration, for a replica that reaches the world through these ports. */
export function sectionsOf({ argocdToken }: SandboxWorld, ports: Peers): object {
  const at = (port: number): string => `http://127.0.0.1:${port}`;
  return {
    server: {
      host: "127.0.0.1",
      port: 0,
      base_url: "http://svc.example.com",
      log_level: "debug",
      shutdown_grace: "5s",
    },
    kvstore: { address: `127.0.0.1:${ports.redis}` },
    deployer: {
      server_url: at(ports.argocd),
      token: argocdToken,
      poll_interval: "100ms",
      request_timeout: "3s",
      render_timeout: "3s",
      sync_timeout: "20s",
    },
    hosta: {
      app_id: GITHUB_APP.id,
      private_key: appKeys().privateKey,
      webhook_secret: SECRET,
      api_url: `${at(ports.github)}/api/v3`,
      web_url: at(ports.github),
    },
    hostb: { url: at(ports.gitlab), token: GITLAB_TOKEN, webhook_secret: SECRET },
    defaults: { require_approval: true, auto_merge: true },
    // A head without a comment counts as lost.
    comments: { nothing_affected: "comment" },
  };
}
