import type { Forge } from "../../sandbox/forge.js";
import { appKeys, GITHUB_APP, GITLAB_TOKEN, startSandbox, type SandboxWorld } from "../../sandbox/world.js";
import { HOST_IDS, type HostId } from "../../src/names.js";
import { HookReceiver } from "../scenarios/hook-receiver.js";
import { apart, type ApplicationOptions, applicationResource, repositoryOf } from "../scenarios/resources.js";
import { REPOSITORY } from "./observer.js";
import type { Peers } from "./replica.js";

/** Applications whose definitions stand in the repository of each host. */
export const APPLICATIONS: Readonly<Record<HostId, readonly string[]>> = {
  hosta: ["web", "api", "jobs"],
  hostb: ["shop", "cart", "mail"],
};
/** One of each stage, and one that Argo CD deploys at the merge. */
export interface StagedApplications {
  readonly dev: string;
  readonly prod: string;
  readonly auto: string;
}

export const STAGED: Readonly<Record<HostId, StagedApplications>> = {
  hosta: { dev: "dev-bank", prod: "prod-bank", auto: "auto-bank" },
  hostb: { dev: "dev-park", prod: "prod-park", auto: "auto-park" },
};
/** How long the first stage has to stand. */
export const SOAK_MS = 3_000;
const RULES = `stages: [{name: dev, applications: "dev-*"}, {name: prod, applications: "prod-*", soak: ${SOAK_MS}ms}]\n`;
const RECORDS_SECRET = `whsec_${Buffer.alloc(32, "chaos").toString("base64")}`;
/** Of every webhook. */
export const SECRET = "chaos-webhook-secret";
/** Long enough to be cut off in. */
const OPERATION_MS = 300;

/** Both code hosts, an Argo CD that has deployed what their repositories hold, and a receiver of notifications. */
export interface Outside {
  readonly world: SandboxWorld;
  readonly receiver: HookReceiver;
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
    const { dev, prod, auto } = STAGED[host];
    const own: Readonly<Record<string, Partial<ApplicationOptions>>> = {
      // The last stage need not get healthy; in the namespace of the first it would have to.
      ...apart(dev, prod),
      [auto]: { spec: { syncPolicy: { automated: { prune: true } } } },
    };
    const names = [...APPLICATIONS[host], dev, prod, auto];
    await forge.createRepository(REPOSITORY, { ".svc.yaml": RULES, ...repositoryOf(names, repoURL, own) });
    for (const login of ["ana", "bo"]) forge.setAccess(REPOSITORY, login, "write");
    for (const name of names) {
      argocd.addApplication(applicationResource(name, { repoURL, ...own[name] }));
      await argocd.deploy(name);
    }
  }
  return { world, forges, receiver: await HookReceiver.start() };
}

/** The service's configuration, for a replica that reaches the world through these ports. */
export function sectionsOf({ world: { argocdToken }, receiver }: Outside, ports: Peers): object {
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
    notifications: [
      {
        name: "records",
        url: receiver.url,
        format: "json",
        secret: RECORDS_SECRET,
        events: ["rolled_out", "rollout_failed"],
      },
    ],
    // A head without a comment counts as lost.
    comments: { nothing_affected: "comment" },
  };
}
